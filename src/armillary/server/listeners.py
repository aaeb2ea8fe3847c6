"""Listening sockets, and HTTP and HTTPS on one port.

The parent opens the sockets; workers accept on them. The first byte of a connection tells TLS (22, a handshake record)
from HTTP, and it must be seen before the socket is given to the loop: it is peeked at, with a deadline, and stays where
it is. After that a plain connection costs nothing more.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from armillary.errors import Kind, Refusal
from armillary.server.connection import Connection
from armillary.server.log import LOG
from armillary.server.service import Service
from armillary.wire.http import ProtocolFault, answer_fault, encode_response

__all__ = ["Acceptor", "open_listeners"]

_BACKLOG: Final = 1024
_TLS_HANDSHAKE: Final = b"\x16"
_PORT_TRIES: Final = 20
_FULL: Final = ProtocolFault(503, "The server has as many connections as it may have")
_EXHAUSTED: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


def open_listeners(host: str | None, port: int) -> list[socket.socket]:
    """Sockets on one address, or on 127.0.0.1 and, where the machine has it, ::1; port 0 takes one free for all."""
    if host is not None:
        return [_open(host, port)]
    tries = 1 if port else _PORT_TRIES
    while True:
        first = _open("127.0.0.1", port)
        try:
            return [first, _open("::1", first.getsockname()[1])]
        except Refusal:
            tries -= 1
            if not _has_loopback_6():
                return [first]
            first.close()
            if not tries:
                raise


def _open(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # `::` stands for every address of this machine, those of IPv4 too.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(host != "::"))
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise Refusal(Kind.ADDRESS_UNUSABLE, address=shown, reason=_explain(error)) from None
    listener.setblocking(False)
    return listener


def _explain(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program listens there; stop it, or choose another port (0 takes any free one)"
    if error.errno == errno.EACCES:
        return "ports below 1024 need a right this process does not have; choose a higher one"
    return (error.strerror or str(error)).lower()


def _has_loopback_6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


class Acceptor:
    """Accepts on the listeners and gives each socket to the loop, with or without TLS."""

    def __init__(
        self,
        service: Service,
        listeners: Sequence[socket.socket],
        find_context: Callable[[], Awaitable[ssl.SSLContext]],
    ) -> None:
        self._service = service
        self._listeners = listeners
        self._find_context = find_context
        self._loop = asyncio.get_running_loop()
        self._greetings: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        for listener in self._listeners:
            self._loop.add_reader(listener.fileno(), self._accept, listener)

    def stop(self) -> None:
        """Accept no more; who has said nothing yet is let go."""
        for listener in self._listeners:
            self._loop.remove_reader(listener.fileno())
            listener.close()
        for greeting in self._greetings:
            greeting.cancel()

    def _accept(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError, InterruptedError):
            return
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            self._rest(listener, error)
            return
        client.setblocking(False)
        if len(self._service.members) + len(self._greetings) >= self._service.limits.connections:
            self._turn_away(client)
            return
        greeting = self._loop.create_task(self._greet(client))
        self._greetings.add(greeting)
        greeting.add_done_callback(self._greetings.discard)

    def _rest(self, listener: socket.socket, error: OSError) -> None:
        """Nothing can be accepted now; the listener stays readable, so look away for a second."""
        LOG.warning("no connection can be accepted: %s", error.strerror)
        self._loop.remove_reader(listener.fileno())

        def look_again() -> None:
            if not self._service.stopping:
                self._loop.add_reader(listener.fileno(), self._accept, listener)

        self._loop.call_later(1.0, look_again)

    def _turn_away(self, client: socket.socket) -> None:
        with client:
            try:
                client.send(encode_response(answer_fault(_FULL), self._service.date, False, False))
            except OSError:
                LOG.debug("a connection over the limit left before it was turned away")

    async def _greet(self, client: socket.socket) -> None:
        try:
            first = await asyncio.wait_for(self._peek(client), self._service.limits.header_timeout)
            if first:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                context = await self._find_context() if first == _TLS_HANDSHAKE else None
                await self._loop.connect_accepted_socket(lambda: Connection(self._service), client, ssl=context)
                return
        except OSError as error:  # a time-out and what goes wrong in a handshake are of this kind too
            LOG.debug("a connection ended before its first request: %s", error)
        except asyncio.CancelledError:
            client.close()
            raise
        client.close()

    async def _peek(self, client: socket.socket) -> bytes:
        """The first byte, left in the socket; empty when the client has closed."""
        while True:
            try:
                return client.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                readable: asyncio.Future[None] = self._loop.create_future()
                self._loop.add_reader(client.fileno(), _set, readable)
                try:
                    await readable
                finally:
                    self._loop.remove_reader(client.fileno())


def _set(readable: "asyncio.Future[None]") -> None:
    if not readable.done():
        readable.set_result(None)
