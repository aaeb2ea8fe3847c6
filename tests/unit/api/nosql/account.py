"""One server process without its network: requests in, answers out, over an engine that others may share.

`python -m tests.unit.api.nosql.account FOLDER` is a family of two such processes over one folder. A line of JSON on
stdin is a request to one of them, [process, method, path, body, headers]; its answer comes as a line on stdout.
"""

import json
import os
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from armillary.admission import Admission
from armillary.api.nosql.access import Access
from armillary.api.nosql.app import NosqlApp
from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.database import Database
from armillary.json import dump, load
from armillary.kv.engine import Engine
from armillary.kv.lmdb import LmdbEngine
from armillary.kv.steps import Result, Steps, drive
from armillary.wire.http import Request, Response, format_date
from armillary.wire.signature import make_token, read_resource

KEY = "c2VjcmV0"
READ_KEY = "cmVhZGVy"
NOW = 1_800_000_000
STILL = Clock(ticks=lambda: NOW * TICKS_PER_SECOND)


class Account:
    """A database and its document API."""

    def __init__(self, engine: Engine, clock: Clock | None = None, admission: Admission | None = None) -> None:
        self.engine = engine
        self.clock = clock or STILL
        self.database = Database(engine, self.clock, admission=admission)
        secrets = (b"secret", b"other", b"reader", b"reader2")
        self.app = NosqlApp(self.database, Access(secrets, self.seconds), "Session")

    def seconds(self) -> float:
        return self.clock.ticks() / TICKS_PER_SECOND

    def send(
        self, method: str, path: str, body: object = b"", headers: dict[str, str] | None = None, key: str = KEY
    ) -> Response:
        answer = self.app.handle(make_request(method, path, body, headers, key, self.seconds()))
        return answer if isinstance(answer, Response) else self.drive(answer)

    def drive(self, steps: Steps[Result]) -> Result:
        """How what waits is waited for."""
        return drive(self.engine, steps)


def make_request(
    method: str, path: str, body: object, headers: dict[str, str] | None, key: str = KEY, now: float = NOW
) -> Request:
    """A signed request."""
    request = Request()
    request.method, request.path, request.query = method.encode(), path.encode(), b""
    date = (headers or {}).get("x-ms-date") or format_date(now).decode()
    resource = read_resource(request.path)
    token = make_token(key, method, resource.kind, resource.link, date)
    every = {"authorization": token, "x-ms-date": date, "x-ms-version": "2020-07-15", **(headers or {})}
    request.headers = {name.encode(): value.encode() for name, value in every.items() if value}
    request.body = body if isinstance(body, bytes) else dump(body)
    request.keep_alive, request.secure = True, False
    return request


class Told(NamedTuple):
    """An answer as a client has it."""

    status: int
    headers: dict[str, str]
    json: Any

    @property
    def substatus(self) -> int:
        return int(self.headers.get("x-ms-substatus", "0"))


def tell(response: Response) -> Told:
    lines = (line.partition(": ") for line in response.head.decode("latin-1").split("\r\n") if line)
    headers = {name: value for name, _, value in lines}
    return Told(response.status, headers, load(response.body) if response.body else None)


def fork(run: Callable[[], object]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        run()
        code = 0
    finally:
        os._exit(code)


def live(engine: Engine, door: socket.socket, others: tuple[socket.socket, ...]) -> None:
    """The life of a child: who keeps the other end of a door open never hears that it was closed."""
    for other in others:
        other.close()
    serve(engine, door)


def serve(engine: Engine, door: socket.socket) -> None:
    """One process: a request a line, an answer a line."""
    account = Account(engine)
    with door, door.makefile("rw") as lines:
        for line in lines:
            method, path, body, headers = json.loads(line)
            lines.write(json.dumps(tell(account.send(method, path, body or b"", headers))) + "\n")
            lines.flush()


def main(folder: Path) -> NoReturn:
    engine = LmdbEngine(folder)
    prepared = fork(lambda: drive(engine, Database(engine, Clock()).recover()))
    assert os.waitstatus_to_exitcode(os.waitpid(prepared, 0)[1]) == 0
    children, ends = [], []
    for _ in range(2):
        ours, theirs = socket.socketpair()
        ends.append(ours)
        children.append(fork(partial(live, engine, theirs, tuple(ends))))
        theirs.close()
    doors = [end.makefile("rw") for end in ends]
    for line in sys.stdin:
        process, *request = json.loads(line)
        doors[process].write(json.dumps(request) + "\n")
        doors[process].flush()
        sys.stdout.write(doors[process].readline())
        sys.stdout.flush()
    for end, door in zip(ends, doors, strict=True):
        door.close()
        end.close()
    sys.exit(sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
