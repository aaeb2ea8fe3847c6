"""The small client, against a scripted peer: what is sent again, what is given up, what is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from armillary.cli.client import Account, Client, ServerError, name_path
from armillary.cli.exits import CommandError
from armillary.server.keys import WELL_KNOWN_KEY
from armillary.wire.signature import make_token


class Scripted(BaseHTTPRequestHandler):
    """Answers with the next line of its script; a status of 0 hangs up instead."""

    protocol_version = "HTTP/1.1"
    script: ClassVar[list[tuple[int, dict[str, str], bytes]]] = []
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

    do_GET = do_POST = answer  # noqa: N815 - the names the class asks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name the class has
        """A scripted peer is silent."""


@contextmanager
def scripted(*script: tuple[int, dict[str, str], bytes]) -> Iterator[Account]:
    Scripted.script, Scripted.seen = list(script), []
    with HTTPServer(("127.0.0.1", 0), Scripted) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield Account(f"http://127.0.0.1:{server.server_port}/", WELL_KNOWN_KEY)
        finally:
            server.shutdown()
            thread.join()


def test_a_request_is_signed_for_what_it_addresses() -> None:
    with scripted((200, {"x-ms-request-charge": "1.5"}, b"{}")) as account:
        client = Client(account)
        answer = client.send("GET", name_path("dbs", "my shop", "colls", "c/d") + "/docs?x=1")
        client.close()
    ((method, path, headers, _),) = Scripted.seen
    assert (method, path) == ("GET", "/dbs/my%20shop/colls/c%2Fd/docs?x=1")
    date = headers["x-ms-date"]
    assert headers["authorization"] == make_token(WELL_KNOWN_KEY, "GET", "docs", "dbs/my shop/colls/c/d", date)
    assert (answer.status, answer.charge) == (200, 1.5)


@pytest.mark.parametrize("status", [429, 449, 503, 0])
def test_patience_is_answered_by_sending_again(status: int) -> None:
    busy = (status, {"x-ms-retry-after-ms": "1"}, b'{"message":"later"}')
    with scripted(busy, busy, (201, {}, b"{}")) as account:
        client = Client(account)
        assert client.send("POST", "/dbs", body=b'{"id":"d"}').status == 201
        client.close()
    assert [body for _, _, _, body in Scripted.seen] == [b'{"id":"d"}'] * 3


def test_what_is_needed_and_refused_is_told_in_the_words_of_the_server() -> None:
    with scripted((404, {}, b'{"code":"NotFound","message":"no such\\r\\nthing"}')) as account:
        client = Client(account)
        with pytest.raises(ServerError, match=r"^GET /dbs/x answered 404: no such thing$"):
            client.must_send("GET", "/dbs/x")
        client.close()


def test_nobody_listening_is_told_with_the_way_out() -> None:
    with scripted() as account:
        pass
    with pytest.raises(ServerError, match=r"no server listens at .*armillary serve"):
        Client(account).send("GET", "/")


@pytest.mark.parametrize("endpoint", ["127.0.0.1:8081", "ftp://x/", "https://", "http://x:y/"])
def test_an_endpoint_that_is_none_is_a_usage_error(endpoint: str) -> None:
    with pytest.raises(CommandError, match="is not an address like"):
        Client(Account(endpoint, WELL_KNOWN_KEY))
