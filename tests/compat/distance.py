"""A network between the client and the server: every answer takes a few milliseconds more.

Some of the client's tests set timeouts of next to nothing and expect them to pass. The smallest timeout of a socket is
one millisecond, and a server on the same machine answers faster than that. The tests were written for an account that
is some way off, so that is where the server is put: behind a relay that holds back what the server says, and changes
nothing.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

HOSTS: Final = ("127.0.0.1", "::1")
_PIECE: Final = 1 << 16


@contextmanager
def put_at_distance(port: int, server: int, seconds: float) -> Iterator[None]:
    """Relay everything on a port of this machine to another one while the block lasts; answers come so much later."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", server)
        await asyncio.gather(_pump(reader, back, 0), _pump(there, writer, seconds))

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(relay, HOSTS, port)

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    thread.start()
    try:
        listener: asyncio.Server = run(listen())
        yield
        loop.call_soon_threadsafe(listener.close)
    finally:
        run(_end_all())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Hand on what comes until it ends; a side that breaks off ends the other."""
    with suppress(OSError):
        while data := await reader.read(_PIECE):
            await asyncio.sleep(seconds)
            writer.write(data)
            await writer.drain()
    writer.close()


async def _end_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
