"""What all connections of a worker share: the application, the ways to wait, limits, and the second of the clock.

An application answers a request at once, or with steps (`kv.steps`) that a `_Course` takes one by one: commits go to
the writer threads, blocking calls to a small pool. Where the engine is not local, every call of it may take
milliseconds, so the whole request runs on a pool of threads.

Law: a request gets exactly one answer, whatever its handler does; a fault of ours is logged with its place and answered
with 500, and harms no other request.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, Protocol
from uuid import uuid4

from armillary.errors import Fault, Kind, Refusal
from armillary.json import dump
from armillary.kv.engine import Engine
from armillary.kv.steps import Commit, Pause, Step, Steps, Turn, drive
from armillary.server.health import Health
from armillary.server.log import LOG, log_failure
from armillary.server.writers import Writers
from armillary.wire.http import HttpLimits, Request, Response, format_date

__all__ = ["Application", "Asker", "Limits", "Member", "Service"]

_BLOCKING_THREADS: Final = 4
_REMOTE_THREADS: Final = 32
_STATUSES: Final = {Fault.CALLER: 400, Fault.STATE: 409, Fault.SERVER: 503}


class Application(Protocol):
    """Answers requests; never raises for a caller's fault."""

    def handle(self, request: Request) -> Response | Steps[Response]: ...


class Asker(Protocol):
    """Whoever asked; is told the answer if it did not come at once."""

    def finish(self, response: Response) -> None: ...


class Member(Protocol):
    """A connection, as the service sees it."""

    def check(self, now: float) -> None:
        """End what has lasted too long."""

    def stop(self) -> None:
        """Close as soon as nothing is owed."""


class Limits(NamedTuple):
    """What a connection may take: sizes in `http`, times in seconds."""

    http: HttpLimits = HttpLimits()
    header_timeout: float = 10.0
    body_timeout: float = 30.0
    idle_timeout: float = 300.0
    connections: int = 10_000
    write_queue: int = 1_000


class Service:
    """Everything shared; lives on one loop."""

    def __init__(self, application: Application, engine: Engine, limits: Limits, health: Health) -> None:
        self.limits = limits
        self.members: set[Member] = set()
        self.stopping = False
        self.now = time.monotonic()
        self.date = format_date(time.time())
        self.writers: Writers | None = None
        self._handle = application.handle
        self._engine = engine
        self._health = health
        self._loop = asyncio.get_running_loop()
        self.call_soon = self._loop.call_soon
        if engine.local:
            self._pool = ThreadPoolExecutor(_BLOCKING_THREADS, "block")
            self.writers = Writers(engine, self._loop, bound=limits.write_queue, health=health)
        else:
            self._pool = ThreadPoolExecutor(_REMOTE_THREADS, "remote")
        self._tick_every = min(1.0, limits.header_timeout / 4, limits.body_timeout / 4, limits.idle_timeout / 4)
        self._ticking = self._loop.call_later(self._tick_every, self._tick)

    def answer(self, request: Request, asker: Asker) -> Response | None:
        """The answer, if it comes at once; else the asker is told later."""
        writers = self.writers
        if writers is None:
            self._answer_remotely(request, asker)
            return None
        try:
            answer = self._handle(request)
        except Exception as error:  # noqa: BLE001 - answered: every request gets one answer
            return answer_error(request, error)
        if isinstance(answer, Response):
            return answer
        return _Course(request, answer, asker, writers, self).advance(answer.send, None)

    def run_blocking(self, call: Callable[[], object], done: Callable[["asyncio.Future[Any]"], None]) -> None:
        """Call where waiting harms nobody; `done` gets the finished future on the loop."""
        self._loop.run_in_executor(self._pool, call).add_done_callback(done)

    def run_later(self, seconds: float, call: Callable[[], None]) -> None:
        self._loop.call_later(seconds, call)

    def _answer_remotely(self, request: Request, asker: Asker) -> None:
        def answer() -> Response:
            try:
                answer = self._handle(request)
                return answer if isinstance(answer, Response) else drive(self._engine, answer)
            except Exception as error:  # noqa: BLE001 - answered: every request gets one answer
                return answer_error(request, error)

        self.run_blocking(answer, lambda done: asker.finish(done.result()))

    def _tick(self) -> None:
        self.now = time.monotonic()
        self.date = format_date(time.time())
        for member in list(self.members):
            member.check(self.now)
        self._ticking = self._loop.call_later(self._tick_every, self._tick)

    async def stop(self, patience: float) -> None:
        """Let every member answer what it owes and close; those that cannot in this time are left."""
        self.stopping = True
        until = time.monotonic() + patience
        # What clients have sent already is still in the sockets: read it before idle connections are closed.
        await asyncio.sleep(0.05)
        for member in list(self.members):
            member.stop()
        while self.members and time.monotonic() < until:
            await asyncio.sleep(0.01)
        if self.members:
            LOG.warning("%d connections were closed unanswered", len(self.members))
        self._ticking.cancel()

    def close(self) -> None:
        """End the threads, after the last accepted commit; not on the loop."""
        if self.writers is not None:
            self.writers.close()
        self._pool.shutdown()


class _Course:
    """One operation on its way: its steps, taken one by one."""

    __slots__ = ("_asker", "_request", "_service", "_steps", "_writers")

    def __init__(
        self, request: Request, steps: Steps[Response], asker: Asker, writers: Writers, service: Service
    ) -> None:
        self._request = request
        self._steps = steps
        self._asker = asker
        self._writers = writers
        self._service = service

    def advance(self, resume: Callable[[Any], Step], value: object) -> Response | None:
        """Take steps until one must be waited for; the answer, if there are no more."""
        try:
            step = resume(value)
            while isinstance(step, Commit):
                if self._writers.submit(step.partition, step.work, len(self._request.body), self):
                    return None
                step = self._steps.throw(Refusal(Kind.BUSY, partition=step.partition.hex()))
            if isinstance(step, Turn):
                self._service.call_soon(self.settle)
            elif isinstance(step, Pause):
                self._service.run_later(step.seconds, self.settle)
            else:
                self._service.run_blocking(step.call, self._unblock)
        except StopIteration as end:
            response: Response = end.value
            return response
        except Exception as error:  # noqa: BLE001 - answered: every request gets one answer
            return answer_error(self._request, error)
        return None

    def settle(self, outcome: object = None) -> None:
        self._go_on(self._steps.send, outcome)

    def fail(self, error: BaseException) -> None:
        self._go_on(self._steps.throw, error)

    def _unblock(self, done: "asyncio.Future[Any]") -> None:
        error = done.exception()
        if error is None:
            self.settle(done.result())
        else:
            self.fail(error)

    def _go_on(self, resume: Callable[[Any], Step], value: object) -> None:
        response = self.advance(resume, value)
        if response is not None:
            self._asker.finish(response)


def answer_error(request: Request, error: Exception) -> Response:
    """The answer where a handler raised: a refusal in words, or 500 with the id its log line has."""
    activity = str(uuid4())
    if isinstance(error, Refusal):
        status, code, message = _STATUSES[error.fault], error.kind.name, str(error)
    else:
        log_failure(request, activity, error)
        status, code, message = 500, "InternalServerError", f"The server failed. ActivityId: {activity}"
    head = b"content-type: application/json\r\nx-ms-activity-id: %b\r\n" % activity.encode()
    return Response(status, head, dump({"code": code, "message": message}))
