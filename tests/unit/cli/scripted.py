"""A peer that answers with the next line of its script: what no server of ours can be made to say when it is wanted."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar, Final

from armillary.cli.client import Account
from armillary.server.keys import WELL_KNOWN_KEY

CASES: Final = Path(__file__).parents[2] / "cases" / "cli"
Line = tuple[int, dict[str, str], bytes]


def say(status: int, body: object, **headers: str) -> Line:
    """A line of a script: JSON, and headers with their dashes as underscores."""
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode()


class Scripted(BaseHTTPRequestHandler):
    """Answers with the next line of its script; a status of 0 hangs up instead."""

    protocol_version = "HTTP/1.1"
    script: ClassVar[list[Line]] = []
    seen: ClassVar[list[tuple[str, str, dict[str, str], bytes]]] = []

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.seen.append((self.command, self.path, headers, body))
        status, extra, content = self.script.pop(0)
        if status == 0:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in (extra | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - the names the class asks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name the class has
        """A scripted peer is silent."""


@contextmanager
def scripted(*script: Line) -> Iterator[Account]:
    Scripted.script, Scripted.seen = list(script), []
    with HTTPServer(("127.0.0.1", 0), Scripted) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Account(f"http://127.0.0.1:{server.server_port}/", WELL_KNOWN_KEY)
        finally:
            server.shutdown()
            thread.join()
