"""The HTTP machine: what each stream of bytes becomes, whole, byte by byte, and with more bytes behind it."""

import json
from typing import NamedTuple

import pytest

from armillary.wire.http import (
    Continue,
    Event,
    HttpLimits,
    ProtocolFault,
    Request,
    RequestReader,
    Response,
    Stage,
    answer_fault,
    encode_response,
    format_date,
)

LIMITS = HttpLimits(header_bytes=1000, header_count=10, body_bytes=100, url_bytes=200)


class Good(NamedTuple):
    """A stream and the requests in it, as (method, path, query, body, keep_alive)."""

    stream: bytes
    requests: list[tuple[bytes, bytes, bytes, bytes, bool]]


GOOD = {
    "simple": Good(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", [(b"GET", b"/", b"", b"", True)]),
    "query": Good(b"GET /a%20b?x=%3F&y HTTP/1.1\r\nHost: a\r\n\r\n", [(b"GET", b"/a%20b", b"x=%3F&y", b"", True)]),
    "absolute": Good(b"GET http://a:1/b?c HTTP/1.1\r\nHost: a\r\n\r\n", [(b"GET", b"/b", b"c", b"", True)]),
    "absolute, no path": Good(b"GET http://a?c=/d HTTP/1.1\r\nHost: a\r\n\r\n", [(b"GET", b"/", b"c=/d", b"", True)]),
    "length": Good(
        b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", [(b"POST", b"/a", b"", b"abc", True)]
    ),
    "chunks": Good(
        b"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n02\r\nde\r\n0\r\n\r\n",
        [(b"POST", b"/a", b"", b"abcde", True)],
    ),
    "trailers": Good(
        b"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nX-New: 1\r\nHost: b\r\n\r\n",
        [(b"POST", b"/a", b"", b"a", True)],
    ),
    "pipelined": Good(
        b"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
        b"GET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
        b"DELETE /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        [
            (b"POST", b"/1", b"", b"x", True),
            (b"GET", b"/2", b"", b"", True),
            (b"DELETE", b"/3", b"", b"", False),
        ],
    ),
    "empty lines before": Good(b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", [(b"GET", b"/", b"", b"", True)]),
    "1.0": Good(b"GET / HTTP/1.0\r\n\r\n", [(b"GET", b"/", b"", b"", False)]),
    "1.0 that would stay": Good(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", [(b"GET", b"/", b"", b"", False)]),
    "upgrade not taken": Good(
        b"POST /1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nab"
        b"GET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
        [(b"POST", b"/1", b"", b"ab", True), (b"GET", b"/2", b"", b"", True)],
    ),
    "upgrade not taken, chunks": Good(
        b"POST /1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2\r\nab\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
        [(b"POST", b"/1", b"", b"ab", True), (b"GET", b"/2", b"", b"", True)],
    ),
    "upgrade not taken, no body": Good(
        b"GET /1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
        [(b"GET", b"/1", b"", b"", True), (b"GET", b"/2", b"", b"", True)],
    ),
}

HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"
BAD = {
    "two lengths": (400, HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    "the same length twice": (400, HEAD + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\na"),
    "list of lengths": (400, HEAD + b"Content-Length: 1, 1\r\n\r\na"),
    "signed length": (400, HEAD + b"Content-Length: +1\r\n\r\na"),
    "negative length": (400, HEAD + b"Content-Length: -1\r\n\r\na"),
    "endless length": (400, HEAD + b"Content-Length: 99999999999999999999999\r\n\r\na"),
    "length before coding": (400, HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "coding before length": (400, HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    "two codings": (400, HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "unknown coding": (501, HEAD + b"Transfer-Encoding: gzip\r\n\r\n"),
    "unknown coding in chunks": (501, HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "almost chunked": (501, HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    "coding in 1.0": (400, b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "no chunk size": (400, HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n"),
    "hexadecimal mark": (400, HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n"),
    "chunk too long": (400, HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"),
    "endless chunk": (400, HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"),
    "bare line feeds": (400, b"GET / HTTP/1.1\nHost: a\n\n"),
    "folded header": (400, HEAD + b"X: 1\r\n 2\r\n\r\n"),
    "folded coding": (400, HEAD + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    "space before colon": (400, HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    "no colon": (400, HEAD + b"oops\r\n\r\n"),
    "zero byte in a value": (400, HEAD + b"X: \0\r\n\r\n"),
    "carriage return in a value": (400, HEAD + b"X: a\rb: c\r\n\r\n"),
    "zero byte in the target": (400, b"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"),
    "fragment": (400, b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
    "star": (400, b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
    "tunnel": (400, b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"),
    "no host": (400, b"GET / HTTP/1.1\r\n\r\n"),
    "no host, closing": (400, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"),
    "two hosts": (400, HEAD + b"Host: b\r\n\r\n"),
    "unknown method": (400, b"FETCH / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00"),
    "HTTP/2 preface": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/2 as text": (505, b"GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
    "HTTP/1.2": (505, b"GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
    "HTTP/0.9": (505, b"GET /\r\n\r\n"),
    "unknown expectation": (417, HEAD + b"Expect: gold\r\nContent-Length: 1\r\n\r\na"),
    "long target": (414, b"GET /" + b"a" * 201 + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
    "long target, never ending": (414, b"GET /" + b"a" * 300),
    "long header": (431, HEAD + b"X: " + b"a" * 1000 + b"\r\n\r\n"),
    "long header, never ending": (431, HEAD + b"X: " + b"a" * 5000),
    "many headers": (431, HEAD + b"".join(b"X-%d: 1\r\n" % number for number in range(10)) + b"\r\n"),
    "one header many times": (431, HEAD + b"X: 1\r\n" * 12 + b"\r\n"),
    "long body": (413, HEAD + b"Content-Length: 101\r\n\r\n"),
    "long body in chunks": (413, HEAD + b"Transfer-Encoding: chunked\r\n\r\n60\r\n%b\r\n6\r\nabcdef" % (b"a" * 96)),
}  # fmt: skip


def read(*pieces: bytes, limits: HttpLimits = LIMITS) -> list[Event]:
    reader = RequestReader(limits)
    return [event for piece in pieces for event in reader.receive(piece)]


def split(stream: bytes) -> list[bytes]:
    return [stream[at : at + 1] for at in range(len(stream))]


def show(events: list[Event]) -> list[object]:
    return [
        (event.method, event.path, event.query, event.body, event.keep_alive) if isinstance(event, Request) else event
        for event in events
    ]


@pytest.mark.parametrize("name", GOOD)
def test_requests_come_out_whole(name: str) -> None:
    case = GOOD[name]
    assert show(read(case.stream)) == case.requests
    assert show(read(*split(case.stream))) == case.requests


@pytest.mark.parametrize("name", GOOD)
def test_requests_split_anywhere_are_the_same(name: str) -> None:
    case = GOOD[name]
    for at in range(1, len(case.stream)):
        assert show(read(case.stream[:at], case.stream[at:])) == case.requests


@pytest.mark.parametrize("name", GOOD)
def test_the_next_request_is_not_touched(name: str) -> None:
    case = GOOD[name]
    behind = b"GET /behind HTTP/1.1\r\nHost: a\r\n\r\n"
    ended = not case.requests[-1][4]
    expected = case.requests if ended else [*case.requests, (b"GET", b"/behind", b"", b"", True)]
    assert show(read(case.stream + behind)) == expected
    assert show(read(case.stream, behind)) == expected


@pytest.mark.parametrize("name", BAD)
def test_faults_have_their_status(name: str) -> None:
    status, stream = BAD[name]
    for pieces in ([stream], split(stream)):
        events = read(*pieces)
        assert [type(event) for event in events] == [ProtocolFault], pieces
        assert isinstance(events[0], ProtocolFault)
        assert events[0].status == status


@pytest.mark.parametrize("name", BAD)
def test_nothing_comes_after_a_fault(name: str) -> None:
    reader = RequestReader(LIMITS)
    reader.receive(BAD[name][1])
    assert reader.receive(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n") == []
    assert reader.stage is Stage.ENDED


def test_a_fault_behind_good_requests_comes_after_them() -> None:
    good = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
    events = read(good + BAD["two lengths"][1])
    assert [type(event) for event in events] == [Request, ProtocolFault]


def test_headers_are_lower_case_joined_and_without_space_around() -> None:
    (event,) = read(b"GET / HTTP/1.1\r\nHOST:a\r\nX-One: 1 \t\r\nx-one:2\r\nEmpty:\r\n\r\n")
    assert isinstance(event, Request)
    assert event.headers == {b"host": b"a", b"x-one": b"1, 2", b"empty": b""}


def test_trailers_do_not_become_headers() -> None:
    (event,) = read(GOOD["trailers"].stream)
    assert isinstance(event, Request)
    assert event.headers == {b"host": b"a", b"transfer-encoding": b"Chunked"}


def test_limits_are_exact() -> None:
    assert show(read(HEAD + b"Content-Length: 100\r\n\r\n" + b"a" * 100))[0] == (b"POST", b"/", b"", b"a" * 100, True)
    assert isinstance(read(b"GET /" + b"a" * 199 + b" HTTP/1.1\r\nHost: a\r\n\r\n")[0], Request)
    assert isinstance(read(HEAD + b"".join(b"X%d: 1\r\n" % number for number in range(9)) + b"\r\n")[0], Request)
    # 1 for the target, 9 for the host with its line, 1 + 4 for the name of the header and its line
    assert isinstance(read(HEAD + b"X: " + b"a" * 985 + b"\r\n\r\n")[0], Request)
    assert isinstance(read(HEAD + b"X: " + b"a" * 986 + b"\r\n\r\n")[0], ProtocolFault)


def test_many_small_requests_at_once_are_no_large_head() -> None:
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    events = read(request * 100 + request[:-1], request[-1:])
    assert len(events) == 101
    assert {type(event) for event in events} == {Request}


def test_chunks_that_are_mostly_not_body_are_refused() -> None:
    reader = RequestReader(HttpLimits())
    reader.receive(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    events: list[Event] = []
    for _ in range(100):
        events += reader.receive(b"1;" + b"x" * 30_000 + b"\r\na\r\n")
    assert show(events) == [ProtocolFault(400, "The chunks of the request body are mostly not body")]


def test_expectation_is_answered_before_the_body() -> None:
    head = HEAD + b"Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n"
    assert show(read(head, b"ab")) == [Continue(), (b"POST", b"/", b"", b"ab", True)]
    assert show(read(head + b"ab")) == [(b"POST", b"/", b"", b"ab", True)]
    assert show(read(HEAD + b"Expect: 100-continue\r\nContent-Length: 0\r\n\r\n")) == [(b"POST", b"/", b"", b"", True)]


def test_too_long_a_body_is_refused_instead_of_expected() -> None:
    assert show(read(HEAD + b"Expect: 100-continue\r\nContent-Length: 101\r\n\r\n")) == [
        ProtocolFault(413, "The request body is too large")
    ]


def test_stage_follows_the_bytes() -> None:
    reader = RequestReader(LIMITS)
    stages = [reader.stage]
    for piece in (b"GE", b"T / HTTP/1.1\r\nHost: a\r\n", b"Content-Length: 2\r\n\r\na", b"b", b"GET / HTTP/1.1\r\n"):
        reader.receive(piece)
        stages.append(reader.stage)
    assert stages == [Stage.IDLE, Stage.HEAD, Stage.HEAD, Stage.BODY, Stage.IDLE, Stage.HEAD]


def test_secure_is_told() -> None:
    (event,) = RequestReader(LIMITS, secure=True).receive(GOOD["simple"].stream)
    assert isinstance(event, Request)
    assert event.secure


DATE = b"Wed, 09 Aug 2023 10:11:12 GMT"


@pytest.mark.parametrize(
    ("response", "keep_alive", "head_only", "expected"),
    [
        (
            Response(200, b"x: 1\r\n", b"abc"),
            True,
            False,
            b"HTTP/1.1 200 OK\r\nx: 1\r\ncontent-length: 3\r\ndate: " + DATE + b"\r\n\r\nabc",
        ),
        (
            Response(404, b"", b"abc"),
            False,
            True,
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\ndate: " + DATE + b"\r\nconnection: close\r\n\r\n",
        ),
        (Response(201, b""), True, False, b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\ndate: " + DATE + b"\r\n\r\n"),
        (Response(204, b"x: 1\r\n"), True, False, b"HTTP/1.1 204 No Content\r\nx: 1\r\ndate: " + DATE + b"\r\n\r\n"),
        (Response(304, b""), True, False, b"HTTP/1.1 304 Not Modified\r\ndate: " + DATE + b"\r\n\r\n"),
        (Response(299, b""), True, False, b"HTTP/1.1 299 Status\r\ncontent-length: 0\r\ndate: " + DATE + b"\r\n\r\n"),
    ],
)
def test_responses_are_encoded(response: Response, keep_alive: bool, head_only: bool, expected: bytes) -> None:
    assert encode_response(response, DATE, keep_alive, head_only) == expected


def test_every_fault_is_a_json_document() -> None:
    for status, stream in BAD.values():
        (fault,) = read(stream)
        assert isinstance(fault, ProtocolFault)
        answer = answer_fault(fault)
        assert answer.status == status
        document = json.loads(answer.body)
        assert set(document) == {"code", "message"}
        assert document["message"] == fault.message


def test_a_message_with_quotes_is_still_json() -> None:
    assert json.loads(answer_fault(ProtocolFault(400, 'a "b" \\ c')).body)["message"] == 'a "b" \\ c'


def test_dates_are_those_of_http() -> None:
    assert format_date(1691575872) == DATE
    assert format_date(0) == b"Thu, 01 Jan 1970 00:00:00 GMT"
