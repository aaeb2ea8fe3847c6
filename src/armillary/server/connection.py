"""One client's connection: its requests in their order, its answers in the same.

A request is handled when the one before it was answered, so pipelined requests see each other's effects. While one is
under way, or the client does not take its answers, at most one read's worth of requests waits here and the socket is
not read further. Time limits count from the first byte of a head, from the end of a head, and from the last request;
a trickle of bytes moves none of them.

    reading --fault, `connection: close`, stopping--> closing (what is owed is written)
            --fault while the client still sends--> lingering (its bytes are read over for a moment: closing at once
                                                    would make the client's system throw the answer away)
"""

import asyncio
import time
from collections import deque
from typing import Final, cast

from armillary.server.log import log_request
from armillary.server.service import Service
from armillary.wire.http import (
    Continue,
    Event,
    ProtocolFault,
    Request,
    RequestReader,
    Response,
    Stage,
    answer_fault,
    encode_response,
)

__all__ = ["Connection"]

_LINGER: Final = 2.0
_TURNS: Final = 16  # requests of one client in a row, before others have their turn
_IDLE: Final = Stage.IDLE
_HEAD: Final = Stage.HEAD
_BODY: Final = Stage.BODY
_HEAD_TOO_SLOW: Final = ProtocolFault(408, "The head of the request did not come in time")
_BODY_TOO_SLOW: Final = ProtocolFault(408, "The body of the request did not come in time")


class Connection(asyncio.Protocol):
    """The protocol of one accepted socket."""

    __slots__ = (
        "_ended",
        "_full",
        "_held",
        "_lingering",
        "_reader",
        "_request",
        "_service",
        "_since",
        "_stage",
        "_started",
        "_transport",
        "_waiting",
    )

    _transport: asyncio.Transport
    _reader: RequestReader

    def __init__(self, service: Service) -> None:
        self._service = service
        self._request: Request | None = None  # the one being handled
        self._waiting: deque[Event] = deque()  # what came behind it
        self._held = False  # the socket is not read
        self._full = False  # the client does not take its answers
        self._ended = False  # the client will send no more
        self._lingering = False
        self._stage = _IDLE
        self._since = service.now
        self._started = 0.0

    # Called by the loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's have its methods and not its class
        secure = transport.get_extra_info("sslcontext") is not None
        self._reader = RequestReader(self._service.limits.http, secure=secure)
        self._service.members.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._service.members.discard(self)
        self._waiting.clear()
        self._ended = True

    def data_received(self, data: bytes) -> None:
        if self._lingering:
            return
        reader = self._reader
        events = reader.receive(data)
        if events or reader.stage is not self._stage:
            self._since = self._service.now
            self._stage = reader.stage
        if self._request is None and not self._waiting and not self._full and len(events) == 1:
            self._take(events[0])
        elif events:
            self._waiting.extend(events)
            self._take_waiting()

    def eof_received(self) -> bool:
        """Half closed: what is owed is still answered, where the transport can (TLS cannot)."""
        self._ended = True
        owed = self._request is not None or bool(self._waiting)
        return owed and not self._lingering and self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._full = True
        self._since = self._service.now

    def resume_writing(self) -> None:
        self._full = False
        self._since = self._service.now
        self._take_waiting()

    # Called by the service.

    def finish(self, response: Response) -> None:
        """The answer to the request being handled."""
        self._reply(response)
        self._take_waiting()

    def check(self, now: float) -> None:
        age = now - self._since
        limits = self._service.limits
        if self._lingering:
            if age > _LINGER:
                self._transport.abort()
        elif self._full:
            if age > limits.body_timeout:
                self._transport.abort()
        elif self._request is not None or self._waiting:
            return
        elif self._stage is _IDLE:
            if age > limits.idle_timeout:
                self._transport.close()
        elif self._stage is _HEAD:
            if age > limits.header_timeout:
                self._refuse(_HEAD_TOO_SLOW)
        elif self._stage is _BODY and age > limits.body_timeout:
            self._refuse(_BODY_TOO_SLOW)

    def stop(self) -> None:
        if self._is_quiet():
            self._transport.close()

    def _is_quiet(self) -> bool:
        return self._request is None and not self._waiting and self._stage is _IDLE

    # One event after the other.

    def _take_waiting(self) -> None:
        waiting = self._waiting
        turns = _TURNS
        while waiting and self._request is None and not self._full:
            if not turns:
                self._service.call_soon(self._take_waiting)
                break
            turns -= 1
            self._take(waiting.popleft())
        if bool(waiting) is not self._held and not self._transport.is_closing():
            self._held = bool(waiting)
            if self._held:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()
        if self._ended and not waiting and self._request is None:
            self._transport.close()

    def _take(self, event: Event) -> None:
        if isinstance(event, Request):
            self._request = event
            self._started = time.perf_counter()
            response = self._service.answer(event, self)
            if response is not None:
                self._reply(response)
        elif isinstance(event, Continue):
            self._transport.write(event.data)
        else:
            self._refuse(event)

    def _reply(self, response: Response) -> None:
        request = self._request
        self._request = None
        assert request is not None
        service = self._service
        keep = request.keep_alive and not (service.stopping and self._is_quiet())
        if response.status >= 400:
            log_request(request, response, time.perf_counter() - self._started)
        if self._transport.is_closing():
            return
        self._transport.write(encode_response(response, service.date, keep, request.method == b"HEAD"))
        if not keep:
            self._waiting.clear()
            self._transport.close()

    def _refuse(self, fault: ProtocolFault) -> None:
        """Answer what is no acceptable HTTP and part."""
        transport = self._transport
        if transport.is_closing():
            return
        transport.write(encode_response(answer_fault(fault), self._service.date, False, False))
        self._waiting.clear()
        self._lingering = True
        self._since = self._service.now
        if self._ended:
            transport.close()
        elif transport.can_write_eof():
            transport.write_eof()
