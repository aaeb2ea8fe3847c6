"""A worker in a thread of the test process, an application that does what it is told, and a raw client."""

import contextlib
import gc
import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, Self

from armillary.config import Settings
from armillary.kv.engine import Changes, Engine, View
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import Block, Commit, Steps
from armillary.meter import MeterMap
from armillary.server.certificate import Certificate
from armillary.server.heatlog import HeatLog
from armillary.server.keeper import Wake
from armillary.server.keys import Keys, find_keys
from armillary.server.listeners import open_listeners
from armillary.server.plan import Plan, Traffic
from armillary.server.roll import Roll
from armillary.server.service import Limits
from armillary.server.worker import run_worker
from armillary.wire.http import Request, Response

DEADLINE = 10.0
PARTITION = b"p" * 16
HEAD = b"content-type: text/plain\r\nx-ms-activity-id: the-activity\r\n"


def await_condition(condition: Callable[[], object], what: str) -> None:
    """Wait until something is true; the deadline is for failing tests only."""
    until = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < until, f"not in time: {what}"
        time.sleep(0.005)


class TestApp:
    """Answers by path; `gate` holds what `/gated` and `/write` do until it is opened."""

    __test__ = False

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.seen: list[bytes] = []
        self.admin = {b"/_armillary/check": lambda _: Response(200, HEAD, b"checked")}

    def handle(self, request: Request) -> Response | Steps[Response]:
        self.seen.append(request.path)
        if request.path.startswith(b"/echo"):
            return Response(200, HEAD, request.path + b"|" + request.body)
        if request.path == b"/secure":
            return Response(200, HEAD, b"secure" if request.secure else b"plain")
        if request.path == b"/big":
            return Response(200, HEAD, b"b" * 2**20)
        if request.path == b"/gated":
            return self._wait()
        if request.path == b"/write":
            return self._write(request.body)
        if request.path == b"/broken-steps":
            return self._break()
        if request.path == b"/broken":
            raise LookupError("this handler is broken")
        return Response(404, HEAD, b"nothing here")

    def _wait(self) -> Steps[Response]:
        opened = yield Block(lambda: self.gate.wait(DEADLINE))
        return Response(200, HEAD, b"gate %d" % opened)

    def _write(self, body: bytes) -> Steps[Response]:
        def work(view: View) -> Changes:
            return Changes({body: b"%d" % view.lsn})

        outcome = yield Commit(PARTITION, work)
        return Response(201, HEAD, type(outcome).__name__.encode() + b" %d" % outcome.lsn)

    def _break(self) -> Steps[Response]:
        yield Block(lambda: None)
        raise LookupError("these steps are broken")


class Answer(NamedTuple):
    """One answer as it was read."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, object]:
        document: dict[str, object] = json.loads(self.body)
        return document


class Client:
    """A socket that speaks bytes."""

    def __init__(self, port: int, *, context: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection((host, port), timeout=DEADLINE)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self._stream = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, path: str, body: bytes = b"", method: str = "") -> Answer:
        verb = method or ("POST" if body else "GET")
        head = f"{verb} {path} HTTP/1.1\r\nHost: here\r\nContent-Length: {len(body)}\r\n\r\n"
        self.send(head.encode() + body)
        return self.read(head_only=verb == "HEAD")

    def read(self, *, head_only: bool = False) -> Answer:
        status = int(self._stream.readline().split()[1])
        headers = {}
        while line := self._stream.readline().strip():
            name, _, value = line.decode().partition(": ")
            assert name not in headers
            headers[name] = value
        body = b"" if head_only else self._stream.read(int(headers.get("content-length", 0)))
        return Answer(status, headers, body)

    def read_end(self) -> bytes:
        """Everything until the other side closes."""
        return self._stream.read()

    def close(self) -> None:
        self._stream.close()
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Rig:
    """A running worker."""

    def __init__(self, app: TestApp, port: int, certificate: Certificate, stop: Callable[[], object]) -> None:
        self.app = app
        self.port = port
        self.certificate = certificate
        self.stop = stop

    def connect(self) -> Client:
        return Client(self.port)

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.certificate.find_pair().certificate.decode())


@contextlib.contextmanager
def run_rig(limits: Limits | None = None, engine: Engine | None = None) -> Iterator[Rig]:
    """A worker with its own loop, in a thread, stopped at the end."""
    engine = engine or MemoryEngine()
    settings = Settings(memory=True, port=0)
    apps: list[TestApp] = []

    def make_app(_: Engine, __: Settings, ___: Keys, ____: Traffic) -> TestApp:
        apps.append(TestApp())
        return apps[0]

    engine.create(PARTITION, b"header")

    plan = Plan(
        settings=settings,
        keys=find_keys(settings),
        certificate=Certificate(None),
        listeners=open_listeners("127.0.0.1", 0),
        limits=limits or Limits(),
        prepare=lambda _engine: None,
        make_app=make_app,
        make_jobs=lambda _engine, _settings, _keys, _traffic: (),
        wake=Wake(),
        roll=Roll(["worker", "keeper"]),
        traffic=Traffic(MeterMap(), HeatLog()),
    )
    ours, theirs = socket.socketpair()
    port = plan.listeners[0].getsockname()[1]
    ready = threading.Event()
    thread = threading.Thread(target=run_worker, args=(plan, engine, theirs, ready.set))
    before = sys.getswitchinterval(), gc.get_threshold()
    thread.start()
    try:
        assert ready.wait(DEADLINE)
        yield Rig(apps[0], port, plan.certificate, lambda: ours.send(b"!"))
    finally:
        apps[0].gate.set()
        ours.close()
        thread.join(DEADLINE)
        theirs.close()
        plan.wake.close()
        engine.close()
        sys.setswitchinterval(before[0])
        gc.set_threshold(*before[1])
        gc.unfreeze()
        assert not thread.is_alive()
