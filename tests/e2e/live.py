"""A server that runs, and raw signed requests to it: every header and byte is the test's own choice."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from email.utils import formatdate
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from armillary.cli.child import Server, start_server
from armillary.wire.signature import make_token, read_resource

ARMILLARY: Final = (sys.executable, "-P", "-m", "armillary.cli")
SECONDARY: Final = "c2Vjb25kYXJ5" * 6
READONLY: Final = "cmVhZC1vbmx5" * 6
SECONDARY_READONLY: Final = "c2Vjb25kLXJv" * 6
KEY_OPTIONS: Final = (
    *("--secondary-key", SECONDARY),
    *("--readonly-key", READONLY),
    *("--secondary-readonly-key", SECONDARY_READONLY),
)
VERSION: Final = "2020-07-15"
UPSERT: Final = {"x-ms-documentdb-is-upsert": "True"}


class Answer(NamedTuple):
    """One answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def charge(self) -> float:
        return float(self.headers["x-ms-request-charge"])

    @property
    def substatus(self) -> int:
        return int(self.headers.get("x-ms-substatus", "0"))

    @property
    def etag(self) -> str:
        return self.headers["etag"]


class Caller:
    """Sends signed requests over one connection, or each over one of its own."""

    def __init__(self, url: str, key: str, *, keep: bool = True) -> None:
        address = urlsplit(url)
        assert address.hostname
        self.key = key
        self._keep = keep
        self._connection = HTTPConnection(address.hostname, address.port, timeout=60)

    def close(self) -> None:
        self._connection.close()

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        key: str = "",
        date: str = "",
    ) -> Answer:
        """The answer to a request; a body that is no bytes is sent as JSON, a header that is empty is left out."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        date = date or formatdate(usegmt=True).lower()
        resource = read_resource(path.partition("?")[0].encode())
        sent = {
            "x-ms-date": date,
            "x-ms-version": VERSION,
            "authorization": make_token(key or self.key, method, resource.kind, resource.link, date),
            **(headers or {}),
        }
        sent = {name: value for name, value in sent.items() if value}
        try:
            self._connection.request(method, path, data or None, sent)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, HTTPException):
            self._connection.close()
            raise
        if not self._keep:
            self._connection.close()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def must(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Answer:
        """The same for what must succeed."""
        answer = self.ask(method, path, body, headers)
        assert answer.status < 300, (method, path, answer.status, answer.body)
        return answer

    def create(self, database: str, container: str = "", paths: str = "/pk", **policies: object) -> str:
        """A database or one of its containers, whose path is returned."""
        if not container:
            self.must("POST", "/dbs", {"id": database})
            return f"/dbs/{database}"
        key = {"paths": paths.split(","), "kind": "MultiHash" if "," in paths else "Hash", "version": 2}
        self.must("POST", f"/dbs/{database}/colls", {"id": container, "partitionKey": key, **policies})
        return f"/dbs/{database}/colls/{container}"


@contextmanager
def meet_workers(http: str, key: str, workers: int) -> Iterator[dict[int, Caller]]:
    """A connection to each worker, by its number. Whoever is free accepts, so some are made for nothing."""
    with ExitStack() as stack:
        met: dict[int, Caller] = {}
        for _ in range(1000):
            caller = Caller(http, key)
            stack.callback(caller.close)
            met.setdefault(caller.must("GET", "/_armillary/health").json["worker"], caller)
            if len(met) == workers:
                yield met
                return
        raise AssertionError(f"only the workers {sorted(met)} of {workers} accept")


class Live(NamedTuple):
    """A server with a data folder of its own."""

    server: Server
    folder: Path
    workers: int

    @property
    def http(self) -> str:
        return self.server.http

    @property
    def https(self) -> str:
        return self.server.endpoint

    @property
    def key(self) -> str:
        return self.server.key

    @contextmanager
    def caller(self) -> Iterator[Caller]:
        """Where there are several workers, each request may meet another one."""
        with closing(Caller(self.http, self.key, keep=self.workers == 1)) as caller:
            yield caller

    def must_be_sound(self) -> None:
        """Let the server check everything it keeps."""
        with self.caller() as caller:
            report = caller.must("GET", "/_armillary/check").json
        assert report["complaints"] == []


@contextmanager
def run_live(folder: Path, *options: str, workers: int = 1) -> Iterator[Live]:
    """A server on this folder; when it has stopped, the folder is checked."""
    usual = ["--data", str(folder), "--port", "0", "--log-level", "error", "--workers", str(workers)]
    with start_server([*usual, *options]) as server:
        yield Live(server, folder, workers)
    checked = run_armillary("check", "--data", str(folder))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def run_armillary(*arguments: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """The command, as a user runs it."""
    return subprocess.run([*ARMILLARY, *arguments], input=given, capture_output=True, timeout=60, check=False)


def key_header(*values: object) -> dict[str, str]:
    """The header that names a partition key."""
    return {"x-ms-documentdb-partitionkey": json.dumps(values)}
