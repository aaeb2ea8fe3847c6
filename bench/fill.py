"""Items before the first block: the same ones, over sixty-four connections, every answer looked at."""

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

import httptools
import uvloop

from bench import requests

CONNECTIONS: Final = 64
CREATED: Final = (201, 409)  # 409: made by an earlier fill of the same container


class Filler(asyncio.Protocol):
    """One connection that sends the next request when the last one is answered. Where the server closes it after an
    answer, another one goes on.
    """

    def __init__(self, port: int, pending: Iterator[bytes], ended: "asyncio.Future[None]") -> None:
        self.port = port
        self.pending = pending
        self.ended = ended
        self.status = 0
        self.parted = False
        self.parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.WriteTransport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.parted:
            self.going_on = asyncio.get_running_loop().create_task(_connect(self.port, self.pending, self.ended))
        elif not self.ended.done():
            self.ended.set_exception(exc or ConnectionError("the server closed the connection"))

    def on_status(self, status: bytes) -> None:
        self.text = status

    def on_message_complete(self) -> None:
        self.status = self.parser.get_status_code()
        if self.status not in CREATED and not self.ended.done():
            self.ended.set_exception(RuntimeError(f"a create was answered {self.status} {self.text!r}"))
        self.parted = not self.parser.should_keep_alive()
        self.parser = httptools.HttpResponseParser(self)
        if self.parted:
            self.transport.close()
        else:
            self._send()

    def _send(self) -> None:
        request = next(self.pending, None)
        if request is not None and not self.ended.done():
            self.transport.write(request)
            return
        if not self.ended.done():
            self.ended.set_result(None)
        self.transport.close()


async def _send_all(port: int, pending: Iterator[bytes], connections: int) -> None:
    loop = asyncio.get_running_loop()
    ends = [loop.create_future() for _ in range(connections)]
    for ended in ends:
        await _connect(port, pending, ended)
    await asyncio.gather(*ends)


async def _connect(port: int, pending: Iterator[bytes], ended: "asyncio.Future[None]") -> None:
    await asyncio.get_running_loop().create_connection(lambda: Filler(port, pending, ended), "127.0.0.1", port)


class Answer(NamedTuple):
    """What one request, sent by itself, came back as."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def ask(port: int, request: bytes) -> Answer:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        response = http.client.HTTPResponse(connection)
        response.begin()
        return Answer(response.status, dict(response.getheaders()), response.read())


def make_container(port: int, name: str) -> None:
    for request in (requests.build_database(), requests.build_container(name)):
        answer = ask(port, request)
        if answer.status not in CREATED:
            raise RuntimeError(f"{request.split(maxsplit=2)[:2]} was answered {answer.status}: {answer.body!r}")


def check_read(port: int, container: str, number: int) -> Answer:
    """Read one item by itself; a server that answers with something else is not measured."""
    answer = ask(port, requests.build_read(container, number))
    if answer.status != 200 or json.loads(answer.body)["id"] != requests.item_id(number):
        raise RuntimeError(f"item {number} of {container} was answered {answer.status}: {answer.body[:200]!r}")
    return answer


def fill(port: int, container: str, first: int, count: int, seed: int) -> None:
    """Create `count` items, numbered from `first`."""
    # Signatures hold for a quarter of an hour: a new one for every ten thousand items.
    for start in range(first, first + count, 10_000):
        template = requests.build_template(container, seed)
        numbers = range(start, min(start + 10_000, first + count))
        pending = (requests.build_create(template, number) for number in numbers)
        uvloop.run(_send_all(port, pending, CONNECTIONS))
