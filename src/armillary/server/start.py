"""Starting a server: settings and an application become a family of processes, or one process where all is in memory.

    serve(settings, make_app, on_ready) -> exit code

Everything that can be refused is refused before `on_ready` is called: the address, the folder, the keys. What belongs
to the process alone is done here and nowhere else: the limit of open files, signals, the log.
"""

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Final, NamedTuple

from armillary.config import Settings
from armillary.kv.engine import Engine
from armillary.kv.memory import MemoryEngine
from armillary.limits import limits_of
from armillary.meter import MeterMap
from armillary.server.certificate import Certificate
from armillary.server.family import Role, run_family
from armillary.server.heatlog import HeatLog
from armillary.server.keeper import Job, Wake, keep
from armillary.server.keys import Keys, find_keys
from armillary.server.listeners import open_listeners
from armillary.server.log import set_up
from armillary.server.plan import MakeApp, MakeJobs, Plan, Prepare, Traffic, choose_limits, choose_workers
from armillary.server.roll import Roll
from armillary.server.service import Limits
from armillary.server.worker import run_worker

__all__ = ["Ready", "serve"]

_WANTED_DESCRIPTORS: Final = 65_536
_READER_CHECK: Final = 10.0


class Ready(NamedTuple):
    """What a client needs to know."""

    endpoint: str  # HTTPS
    http: str
    key: str
    pid: int
    data: Path | None

    @property
    def connection_string(self) -> str:
        return f"AccountEndpoint={self.endpoint};AccountKey={self.key};"


def serve(
    settings: Settings,
    make_app: MakeApp,
    on_ready: Callable[[Ready], None],
    make_jobs: MakeJobs | None = None,
    prepare: Prepare | None = None,
) -> int:
    """Serve until a signal; returns the exit code.

    `prepare` is called once, before anything else uses the store; `make_app` in each process that serves, `make_jobs`
    in the keeper: all of them after the fork.
    """
    workers = choose_workers(settings)
    set_up(settings.log_level, settings.log_format)
    descriptors = _raise_descriptor_limit()
    listeners = open_listeners(settings.host, settings.port)
    try:
        engine = _open_engine(settings)
        try:
            limits = choose_limits(settings, descriptors)
            calls = (prepare or _prepare_nothing, make_app, make_jobs or _make_no_jobs)
            plan = _make_plan(settings, listeners, limits, calls, workers)
            ready = _describe(plan)
            run = _run_alone if settings.memory or sys.platform != "linux" else _run_forked
            with contextlib.closing(plan.wake):
                return run(plan, engine, lambda: on_ready(ready))
        finally:
            engine.close()
    finally:
        _close(listeners)


def _open_engine(settings: Settings) -> Engine:
    if settings.memory:
        return MemoryEngine()
    from armillary.kv.lmdb import LmdbEngine  # late: in memory the driver is not needed

    return LmdbEngine(settings.data, storage_limit=limits_of(settings).partition_storage)


def _make_plan(
    settings: Settings,
    listeners: list[socket.socket],
    limits: Limits,
    calls: tuple[Prepare, MakeApp, MakeJobs],
    workers: int,
) -> Plan:
    given = (settings.certificate, settings.private_key)
    names = ["worker"] if workers == 1 else [f"worker {number + 1}" for number in range(workers)]
    return Plan(
        settings,
        find_keys(settings),
        Certificate(
            None if settings.memory else settings.data,
            (given[0], given[1]) if given[0] is not None and given[1] is not None else None,
        ),
        listeners,
        limits,
        *calls,
        wake=Wake(),
        roll=Roll([*names, "keeper"]),
        traffic=Traffic(MeterMap(workers), HeatLog(None if settings.memory else settings.data)),
    )


def _prepare_nothing(_: Engine) -> None:
    """For a store that is always in order."""


def _make_no_jobs(_engine: Engine, _settings: Settings, _keys: Keys, _traffic: Traffic) -> Sequence[Job]:
    return ()


def _describe(plan: Plan) -> Ready:
    host, port = plan.listeners[0].getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    data = None if plan.settings.memory else plan.settings.data
    return Ready(f"https://{shown}:{port}/", f"http://{shown}:{port}/", plan.keys.primary, os.getpid(), data)


def _list_jobs(plan: Plan, engine: Engine) -> list[Job]:
    jobs = list(plan.make_jobs(engine, plan.settings, plan.keys, plan.traffic))
    check_readers = getattr(engine, "check_readers", None)  # only an engine with readers in other processes has it
    if check_readers is not None:

        def check() -> None:
            check_readers()  # how many it found is no time to wait

        jobs.append(Job("reader check", _READER_CHECK, check))
    return jobs


def _run_forked(plan: Plan, engine: Engine, on_ready: Callable[[], None]) -> int:
    def prepare(_: socket.socket, say_ready: Callable[[], None]) -> None:
        _close(plan.listeners)
        try:
            plan.prepare(engine)
            say_ready()
        finally:
            engine.close()

    def work(number: int, control: socket.socket, say_ready: Callable[[], None]) -> None:
        try:
            run_worker(plan, engine, control, say_ready, number)
        finally:
            engine.close()

    def tend(control: socket.socket, say_ready: Callable[[], None]) -> None:
        _close(plan.listeners)
        say_ready()
        try:
            keep(_list_jobs(plan, engine), plan.wake, control)
        finally:
            engine.close()

    *workers, keeper = plan.roll.names
    roles = [Role(name, partial(work, at + 1)) for at, name in enumerate(workers)]
    first = Role("preparation", prepare)
    return run_family(first, [*roles, Role(keeper, tend)], plan.roll, on_ready, lambda: _close(plan.listeners))


def _run_alone(plan: Plan, engine: Engine, on_ready: Callable[[], None]) -> int:
    """Worker and keeper in one process: the keeper is a thread, signals say stop over the control sockets."""
    worker, worker_end = socket.socketpair()
    keeper, keeper_end = socket.socketpair()
    thread = Thread(target=keep, args=(_list_jobs(plan, engine), plan.wake, keeper_end), name="keeper", daemon=True)

    def begin() -> None:
        thread.start()
        for part in range(len(plan.roll.names)):
            plan.roll.enter(part, os.getpid())
        on_ready()

    with worker, worker_end, keeper, keeper_end, _signals_to(worker):
        try:
            plan.prepare(engine)
            run_worker(plan, engine, worker_end, begin)
        finally:
            keeper.shutdown(socket.SHUT_WR)
            if thread.is_alive():
                thread.join()
    return 0


@contextlib.contextmanager
def _signals_to(control: socket.socket) -> Iterator[None]:
    """The first signal is written to `control`, the second ends the process at once."""
    seen: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        seen.append(number)
        if len(seen) > 1:
            os._exit(128 + number)
        control.send(b"!")

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _close(listeners: list[socket.socket]) -> None:
    for listener in listeners:
        listener.close()


def _raise_descriptor_limit() -> int:
    """As many open files as this user may have, within reason; how many that is."""
    if sys.platform == "win32":
        return 8192
    import resource  # late: Windows has none

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _WANTED_DESCRIPTORS)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)
