"""A worker: one event loop that serves the listeners until it is told to stop.

It says when it is ready, and ends when its control socket says so: by a byte, or by its end, which is how it learns
that its parent has died. When another process of the family has died, it lets its engine clear up after that.
"""

import asyncio
import gc
import socket
import ssl
import sys
from collections.abc import Callable
from typing import Final

from armillary.kv.engine import Engine
from armillary.server.health import Health
from armillary.server.listeners import Acceptor
from armillary.server.log import LOG
from armillary.server.plan import Plan
from armillary.server.roll import Roll
from armillary.server.routes import Routes
from armillary.server.service import Service

if sys.platform != "win32":
    from uvloop import new_event_loop
else:
    from asyncio import new_event_loop

__all__ = ["run_worker"]

_PATIENCE: Final = 10.0
# Threads hand the interpreter over this often: writers must not hold up the loop for the usual 5 ms.
_SWITCH_INTERVAL: Final = 0.0005
_LOOK_EVERY: Final = 1.0


def run_worker(
    plan: Plan, engine: Engine, control: socket.socket, on_ready: Callable[[], None], number: int = 1
) -> None:
    """Serve until `control` is readable."""
    sys.setswitchinterval(_SWITCH_INTERVAL)
    application = plan.make_app(engine, plan.settings, plan.keys, plan.traffic._replace(worker=number - 1))
    # What lives as long as the process is never looked at again; the rest is mostly freed by counting.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        health = Health(number, plan.roll)
        routes = Routes(application, getattr(application, "admin", {}), health, plan.certificate)
        service = Service(routes, engine, plan.limits, health)

        async def find_context() -> ssl.SSLContext:
            return await asyncio.to_thread(plan.certificate.find_context)

        acceptor = Acceptor(service, plan.listeners, find_context)
        acceptor.start()
        stopping = asyncio.Event()
        loop.add_reader(control.fileno(), stopping.set)
        _look_for_deaths(plan.roll, service, engine, plan.roll.deaths)
        on_ready()
        await stopping.wait()
        loop.remove_reader(control.fileno())
        acceptor.stop()
        await service.stop(_PATIENCE)
        await asyncio.to_thread(service.close)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve())


def _look_for_deaths(roll: Roll, service: Service, engine: Engine, known: int) -> None:
    """Once a second: whoever died had readers that pin pages, and may have committed what is not seen here yet."""
    clear_up = getattr(engine, "clear_up", None)  # only an engine that several processes share has it
    if clear_up is None or service.stopping:
        return
    found = roll.deaths
    if found != known:
        service.run_blocking(clear_up, _note_failure)
    service.run_later(_LOOK_EVERY, lambda: _look_for_deaths(roll, service, engine, found))


def _note_failure(done: "asyncio.Future[None]") -> None:
    error = done.exception()
    if error is not None:
        LOG.error("clearing up after a process that died failed", exc_info=error)
