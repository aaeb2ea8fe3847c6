"""HTTP/1.1 as a pure machine: bytes in, requests out; responses in, bytes out.

Its law: whatever arrives, in whatever pieces, becomes whole requests in their order, or one fault that says what to
answer and ends the connection. Nothing is guessed: two lengths, a length beside a transfer coding, a folded header, a
bare line feed or a chunk that does not end where it said are refused, because whoever stands before us may have read
them differently. Trailers are read over. A wish to change the protocol (`Upgrade`) is answered as if it were not there.

    receive(data) -> [Request | Continue | ProtocolFault, ...]      a fault is always the last

Left out: compression, ranges, multipart. `httptools` (llhttp) finds the tokens; only this module knows it.
"""

from enum import Enum
from time import gmtime, strftime
from typing import Final, NamedTuple, TypeAlias

import httptools

__all__ = [
    "Continue",
    "Event",
    "HttpLimits",
    "ProtocolFault",
    "Request",
    "RequestReader",
    "Response",
    "Stage",
    "answer_fault",
    "encode_response",
    "format_date",
]


class Request:
    """One whole request. Header names are lower case; a repeated header is joined with `, `."""

    __slots__ = ("body", "headers", "keep_alive", "method", "path", "query", "secure")

    method: bytes
    path: bytes  # as sent, without the query; still percent-encoded
    query: bytes  # without the question mark
    headers: dict[bytes, bytes]
    body: bytes
    keep_alive: bool
    secure: bool  # came over TLS


class Response(NamedTuple):
    """One answer; `head` is whole header lines, each with its line end. The server adds length, date and connection."""

    status: int
    head: bytes
    body: bytes = b""


class Continue(NamedTuple):
    """The sender waits for a word before it sends the body; `data` is that word."""

    data: bytes = b"HTTP/1.1 100 Continue\r\n\r\n"


class ProtocolFault(NamedTuple):
    """What arrived is no acceptable HTTP: answer this and close."""

    status: int
    message: str


Event: TypeAlias = Request | Continue | ProtocolFault


class HttpLimits(NamedTuple):
    """How much of everything one request may have."""

    header_bytes: int = 64 * 2**10
    header_count: int = 200
    body_bytes: int = 2_200_000
    url_bytes: int = 16 * 2**10


class Stage(Enum):
    """Where the reader stands: between requests, inside a head, inside a body, or past its last request."""

    IDLE = "idle"
    HEAD = "head"
    BODY = "body"
    ENDED = "ended"


_IDLE: Final = Stage.IDLE
_HEAD: Final = Stage.HEAD
_BODY: Final = Stage.BODY
_ENDED: Final = Stage.ENDED

_REASONS: Final = {
    200: "OK",
    201: "Created",
    202: "Accepted",
    204: "No Content",
    207: "Multi-Status",
    304: "Not Modified",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    410: "Gone",
    412: "Precondition Failed",
    413: "Content Too Large",
    414: "URI Too Long",
    417: "Expectation Failed",
    423: "Locked",
    424: "Failed Dependency",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    449: "Retry With",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
    507: "Insufficient Storage",
}
_LINES: Final = {status: f"HTTP/1.1 {status} {reason}\r\n".encode() for status, reason in _REASONS.items()}
_BODYLESS: Final = frozenset((204, 304))

# The `code` of the error document for what is refused before any API sees it.
_CODES: Final = {
    400: "BadRequest",
    408: "RequestTimeout",
    413: "RequestEntityTooLarge",
    414: "RequestUriTooLong",
    417: "ExpectationFailed",
    431: "RequestHeaderFieldsTooLarge",
    501: "NotImplemented",
    503: "ServiceUnavailable",
    505: "HttpVersionNotSupported",
}

_URL_TOO_LONG: Final = ProtocolFault(414, "The request target is too long")
_HEAD_TOO_LARGE: Final = ProtocolFault(431, "The request head is too large")
_TOO_MANY_HEADERS: Final = ProtocolFault(431, "The request has too many headers")
_BODY_TOO_LARGE: Final = ProtocolFault(413, "The request body is too large")
_WASTEFUL_CHUNKS: Final = ProtocolFault(400, "The chunks of the request body are mostly not body")
_BAD_TARGET: Final = ProtocolFault(400, "The request target is not acceptable: a path that begins with / is expected")
_BAD_HOST: Final = ProtocolFault(400, "The request needs exactly one host header")
_BAD_EXPECTATION: Final = ProtocolFault(417, "The only expectation known here is 100-continue")
_BAD_VERSION: Final = ProtocolFault(505, "Only HTTP/1.1 and HTTP/1.0 are spoken here")
_UNKNOWN_CODING: Final = ProtocolFault(501, "The only transfer encoding known here is chunked")
_OLD_CODING: Final = ProtocolFault(400, "HTTP/1.0 has no transfer encodings")

# llhttp's own words for what deserves another status than 400.
_FAULTS_BY_TEXT: Final = {
    "Invalid HTTP version": _BAD_VERSION,
    "Pause on PRI/Upgrade": _BAD_VERSION,
    "Request has invalid `Transfer-Encoding`": _UNKNOWN_CODING,
}
# Chunked bodies may spend 8 bytes for each byte of body (one-byte chunks spend 6), and this much more.
_CHUNK_WASTE: Final = 2**20


class _RefusedError(Exception):
    """Leaves the parser from inside one of its calls."""


class RequestReader:
    """One connection's requests. `stage` tells what it is in the middle of, for whoever watches the clock."""

    __slots__ = (
        "_body",
        "_carried",
        "_events",
        "_exact",
        "_fault",
        "_headers",
        "_limits",
        "_owed",
        "_parser",
        "_repeats",
        "_request",
        "_secure",
        "_size",
        "_url",
        "stage",
    )

    def __init__(self, limits: HttpLimits, *, secure: bool = False) -> None:
        self._limits = limits
        self._secure = secure
        self._events: list[Event] = []
        self._fault: ProtocolFault | None = None
        self._exact = False
        self._carried = 0
        self._owed = b""
        self._size = 0
        self._body: list[bytes] = []
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._repeats = 0
        self._request = Request()
        self._parser = httptools.HttpRequestParser(self)
        self.stage = _IDLE

    def receive(self, data: bytes) -> list[Event]:
        """What these bytes complete, in order."""
        events: list[Event] = []
        if self.stage is _ENDED:
            return events
        self._events = events
        # The exact size of a head is counted only where it can be too large: in pieces, or in a very long one.
        self._exact = self.stage is _HEAD or len(data) > self._limits.header_bytes
        try:
            self._feed(data)
        except httptools.HttpParserError as error:
            self._end(error)
        if self.stage is not _IDLE:
            self._count_partial(len(data))
        return events

    def _feed(self, data: bytes) -> None:
        while True:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                if self._owed:
                    self._read_owed_body()
            else:
                return

    def _read_owed_body(self) -> None:
        """The parser takes no body where a change of protocol is asked for: another one takes it, told how it ends."""
        request, ends = self._request, self._owed
        self._owed = b""
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(b"POST / HTTP/1.1\r\nhost: a\r\n%b\r\n\r\n" % ends)
        self._request = request

    def _end(self, error: httptools.HttpParserError) -> None:
        """The parser gave up: after the last request it was asked for, or with a fault."""
        if self.stage is _ENDED:
            return
        fault = self._fault or _FAULTS_BY_TEXT.get(str(error))
        if fault is None:
            if isinstance(error, httptools.HttpParserCallbackError):
                raise error
            fault = ProtocolFault(400, f"The request is not acceptable HTTP: {str(error).replace('`', '')}")
        self._fail(fault)

    def _fail(self, fault: ProtocolFault) -> None:
        self._events.append(fault)
        self.stage = _ENDED

    def _count_partial(self, received: int) -> None:
        """What is unfinished after a piece may not grow without end."""
        if self.stage is _HEAD:
            if not self._events:
                self._carried += received
            if self._carried > self._limits.header_bytes:
                self._fail(_HEAD_TOO_LARGE)
        elif self.stage is _BODY:
            self._carried += received
            if self._carried > 8 * self._size + _CHUNK_WASTE:
                self._fail(_WASTEFUL_CHUNKS)

    def _refuse(self, fault: ProtocolFault) -> _RefusedError:
        self._fault = fault
        return _RefusedError()

    # What follows is called by the parser.

    def on_message_begin(self) -> None:
        self.stage = _HEAD
        self._carried = 0
        self._url = b""
        self._headers = {}

    def on_url(self, piece: bytes) -> None:
        self._url += piece
        if len(self._url) > self._limits.url_bytes:
            raise self._refuse(_URL_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        headers = self._headers
        if name in headers:
            self._join_header(name, value)
        else:
            headers[name] = value.rstrip()

    def _join_header(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            raise self._refuse(_BAD_HOST)
        self._repeats += 1
        if self._repeats > self._limits.header_count:
            raise self._refuse(_TOO_MANY_HEADERS)
        self._headers[name] += b", " + value.rstrip()

    def on_headers_complete(self) -> None:
        self.stage = _BODY
        headers = self._headers
        request = self._request = Request()
        request.method = self._parser.get_method()
        request.headers = headers
        request.secure = self._secure
        request.keep_alive = self._parser.should_keep_alive()
        # llhttp keeps a connection without being told to only under HTTP/1.1.
        if not request.keep_alive or b"connection" in headers:
            self._check_version(request)
        self._split_target(request)
        if b"host" not in headers and request.keep_alive:
            raise self._refuse(_BAD_HOST)
        if self._exact or len(headers) > self._limits.header_count:
            self._check_head()
        if b"content-length" in headers and int(headers[b"content-length"]) > self._limits.body_bytes:
            raise self._refuse(_BODY_TOO_LARGE)
        if b"expect" in headers:
            self._check_expectation()
        if b"transfer-encoding" in headers:
            self._check_coding()
        if b"upgrade" in headers and self._parser.should_upgrade():
            self._owed = _find_framing(headers)

    def _check_version(self, request: Request) -> None:
        version = self._parser.get_http_version()
        if version == "1.0":
            # Keeping such a connection needs a word in the answer; nobody who still speaks 1.0 needs it.
            request.keep_alive = False
            if b"transfer-encoding" in self._headers:
                raise self._refuse(_OLD_CODING)
        elif version != "1.1":
            raise self._refuse(_BAD_VERSION)
        elif b"host" not in self._headers:
            raise self._refuse(_BAD_HOST)

    def _split_target(self, request: Request) -> None:
        url = self._url
        if not url.startswith(b"/"):
            url = self._cut_origin(url)
        mark = url.find(b"?")
        if mark < 0:
            request.path, request.query = url, b""
        else:
            request.path, request.query = url[:mark], url[mark + 1 :]
        if b"#" in url:
            raise self._refuse(_BAD_TARGET)

    def _cut_origin(self, url: bytes) -> bytes:
        """The path of an absolute target, as a proxy would send it."""
        scheme, found, rest = url.partition(b"://")
        if not found or scheme.lower() not in (b"http", b"https"):
            raise self._refuse(_BAD_TARGET)
        slash = min(at if at >= 0 else len(rest) for at in (rest.find(b"/"), rest.find(b"?")))
        return rest[slash:] if rest[slash : slash + 1] == b"/" else b"/" + rest[slash:]

    def _check_head(self) -> None:
        headers = self._headers
        if len(headers) + self._repeats > self._limits.header_count:
            raise self._refuse(_TOO_MANY_HEADERS)
        size = len(self._url) + sum(len(name) + len(value) + 4 for name, value in headers.items())
        if size > self._limits.header_bytes:
            raise self._refuse(_HEAD_TOO_LARGE)

    def _check_coding(self) -> None:
        if self._headers[b"transfer-encoding"].lower() != b"chunked":
            raise self._refuse(_UNKNOWN_CODING)
        self._headers = {}  # trailers go here; the request has the other one

    def _check_expectation(self) -> None:
        if self._headers[b"expect"].lower() != b"100-continue":
            raise self._refuse(_BAD_EXPECTATION)
        if b"transfer-encoding" in self._headers or self._headers.get(b"content-length", b"0") != b"0":
            self._events.append(Continue())

    def on_body(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limits.body_bytes:
            raise self._refuse(_BODY_TOO_LARGE)
        self._body.append(piece)

    def on_message_complete(self) -> None:
        if self._owed:
            return
        request = self._request
        body = self._body
        if body:
            request.body = body[0] if len(body) == 1 else b"".join(body)
            self._body = []
            self._size = 0
        else:
            request.body = b""
        events = self._events
        if events and isinstance(events[-1], Continue):  # the body came without waiting for the word
            events.pop()
        events.append(request)
        self._repeats = 0
        if request.keep_alive:
            self.stage = _IDLE
        else:
            self.stage = _ENDED
            raise _RefusedError  # whatever follows was not asked for


def _find_framing(headers: dict[bytes, bytes]) -> bytes:
    """The header that says how the body ends; empty where there is none."""
    if b"transfer-encoding" in headers:
        return b"transfer-encoding: chunked"
    length = headers.get(b"content-length", b"0")
    return b"content-length: " + length if int(length) else b""


def encode_response(response: Response, date: bytes, keep_alive: bool, head_only: bool) -> bytes:
    """The bytes of one answer; the length is that of the body even where only the head is asked for."""
    status, head, body = response
    line = _LINES.get(status) or b"HTTP/1.1 %d Status\r\n" % status
    end = b"\r\n\r\n" if keep_alive else b"\r\nconnection: close\r\n\r\n"
    if status in _BODYLESS:
        return b"%b%bdate: %b%b" % (line, head, date, end)
    return b"%b%bcontent-length: %d\r\ndate: %b%b%b" % (line, head, len(body), date, end, b"" if head_only else body)


def answer_fault(fault: ProtocolFault) -> Response:
    """The answer to what is no acceptable HTTP: the error document every API understands."""
    message = fault.message.replace("\\", "\\\\").replace('"', '\\"')
    body = f'{{"code":"{_CODES[fault.status]}","message":"{message}"}}'
    return Response(fault.status, b"content-type: application/json\r\n", body.encode())


def format_date(seconds: float) -> bytes:
    """A moment as the `date` header has it."""
    moment = gmtime(seconds)
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.tm_wday]
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[moment.tm_mon - 1]
    return strftime(f"{day}, %d {month} %Y %H:%M:%S GMT", moment).encode()
