"""Damaged requests of every kind against the real server: never a 500, never a hang, and the next one is answered.

Two ways of damage. Bytes of a whole request are changed, which mostly meets the HTTP machine and the signature; and
parts of a request are changed before it is signed, so that the damage comes through to the API behind it.
"""

import os
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import pytest
from tests.e2e.live import VERSION, Live, run_live
from tests.fuzz.test_http_bytes import KINDS as DAMAGES

from armillary.wire.signature import make_token, read_resource

pytestmark = pytest.mark.e2e

SEED: Final = random.SystemRandom().randrange(2**32)
MUTANTS: Final = 1000 if os.environ.get("ARMILLARY_LONG") else 50
PATIENCE: Final = 20.0
HEADER_TIMEOUT: Final = 1.0
BODY_TIMEOUT: Final = 1.0
OPTIONS: Final = ("--header-timeout", "1s", "--body-timeout", "1s", "--max-header-bytes", "16KiB")
KEY: Final = b'["a"]'
ITEM: Final = b'{"id":"1","pk":"a","n":[1,2.5,-1e3,null,true,{"x":"\\u00e9\xc3\xa9"}],"ttl":1000}'
BOX: Final = (
    b'{"id":"box","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":-1,"indexingPolicy":'
    b'{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":'
    b'[{"path":"/a/[]/?"}],"compositeIndexes":[[{"path":"/a","order":"ascending"},{"path":"/b"}]]},'
    b'"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]},"conflictResolutionPolicy":{"mode":"LastWriterWins"}}'
)


class Good(NamedTuple):
    """A request that would be accepted."""

    method: bytes
    path: bytes
    headers: dict[bytes, bytes]
    body: bytes = b""


DOCS: Final = b"/dbs/fuzz/colls/box/docs"
PK: Final = {b"x-ms-documentdb-partitionkey": KEY}
REQUESTS: Final = {
    "create": Good(b"POST", DOCS, PK, ITEM),
    "upsert": Good(b"POST", DOCS, {**PK, b"x-ms-documentdb-is-upsert": b"True", b"prefer": b"return=minimal"}, ITEM),
    "read": Good(b"GET", DOCS + b"/1", {**PK, b"x-ms-session-token": b"0:-1#1", b"if-none-match": b'"a-b"'}),
    "replace": Good(b"PUT", DOCS + b"/1", {**PK, b"if-match": b"*"}, ITEM),
    "delete": Good(b"DELETE", DOCS + b"/1", {**PK, b"if-match": b'"x"'}),
    "feed": Good(b"GET", DOCS, {b"x-ms-max-item-count": b"2", b"x-ms-continuation": b"AF1~AAAAAIAAAAA=~d~EDpT"}),
    "part of a feed": Good(
        b"GET",
        DOCS,
        {b"x-ms-documentdb-partitionkeyrangeid": b"0", b"x-ms-start-epk": b"1F", b"x-ms-end-epk": b"2FAA"},
    ),
    "change feed": Good(b"GET", DOCS, {b"a-im": b"Incremental Feed", b"if-none-match": b'"1"'}),
    "ranges": Good(b"GET", b"/dbs/fuzz/colls/box/pkranges", {b"a-im": b"Incremental Feed", b"if-none-match": b'"1"'}),
    "database": Good(b"POST", b"/dbs", {b"x-ms-offer-throughput": b"400"}, b'{"id":"fuzz"}'),
    "container": Good(
        b"POST", b"/dbs/fuzz/colls", {b"x-ms-cosmos-offer-autopilot-settings": b'{"maxThroughput":1000}'}, BOX
    ),
    "new policies": Good(b"PUT", b"/dbs/fuzz/colls/box", {b"if-match": b'"x"'}, BOX),
    "offers": Good(b"GET", b"/offers", {b"x-ms-max-item-count": b"1"}),
    "account": Good(b"GET", b"/", {b"x-ms-consistency-level": b"Session"}),
    "query": Good(b"POST", DOCS, {b"x-ms-documentdb-isquery": b"true"}, b'{"query":"SELECT * FROM c"}'),
}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server with short patience; its folder is checked when it has stopped."""
    with run_live(tmp_path_factory.mktemp("fuzz") / "data", *OPTIONS) as live:
        with live.caller() as caller:
            caller.must("POST", "/dbs", {"id": "fuzz"})
            caller.must("POST", "/dbs/fuzz/colls", BOX)
            caller.must("POST", DOCS.decode(), ITEM, {"x-ms-documentdb-partitionkey": KEY.decode()})
        yield live
        live.must_be_sound()


def encode(request: Good, key: str) -> bytes:
    """The request, signed as it is."""
    date = formatdate(usegmt=True)
    resource = read_resource(request.path.partition(b"?")[0])
    method = request.method.decode("latin-1")
    headers = {
        b"host": b"here",
        b"x-ms-date": date.encode(),
        b"x-ms-version": VERSION.encode(),
        b"authorization": make_token(key, method, resource.kind, resource.link, date).encode(),
        **request.headers,
    }
    if request.body:
        headers[b"content-length"] = b"%d" % len(request.body)
    lines = [b"%b: %b" % header for header in headers.items()]
    return b"\r\n".join([request.method + b" " + request.path + b" HTTP/1.1", *lines, b"", request.body])


def damage(data: bytes, dice: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(dice.randint(1, 3)):
        if len(damaged) > 1:
            dice.choice(DAMAGES)(damaged, dice)
    return bytes(damaged)


def as_header(value: bytes) -> bytes:
    """What can be sent as the value of a header."""
    return value.translate(None, b"\r\n\0").strip()


def damage_part(request: Good, dice: random.Random) -> Good:
    """One part of the request is changed: its body, its path, or one of its headers."""
    parts = ["path", *request.headers, *(["body"] * 3 if request.body else [])]
    part = dice.choice(parts)
    if part == "body":
        return request._replace(body=damage(request.body, dice))
    if part == "path":
        path = damage(request.path, dice).translate(None, bytes(range(33)) + b"\x7f")
        return request._replace(path=b"/" + path.lstrip(b"/"))
    assert isinstance(part, bytes)
    return request._replace(headers={**request.headers, part: as_header(damage(request.headers[part], dice))})


@contextmanager
def connect(live: Live) -> Iterator[socket.socket]:
    with socket.create_connection(address_of(live), PATIENCE) as connection:
        yield connection


def address_of(live: Live) -> tuple[str, int]:
    address = urlsplit(live.http)
    assert address.hostname
    assert address.port
    return address.hostname, address.port


def read_end(connection: socket.socket) -> bytes:
    """Everything the server says until it closes; a server that says nothing for too long hangs."""
    pieces = []
    try:
        while piece := connection.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pass  # closed while something of the request was still unread
    return b"".join(pieces)


def exchange(live: Live, data: bytes) -> bytes:
    """What is answered to these bytes when no more follow."""
    with connect(live) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            return b""
        return read_end(connection)


def must_live(live: Live, mutant: bytes, answers: bytes) -> None:
    assert b"HTTP/1.1 500" not in answers, mutant
    assert answers == b"" or answers.startswith(b"HTTP/1.1 "), mutant
    assert exchange(live, encode(GOOD_READ, live.key)).startswith(b"HTTP/1.1 200 OK\r\n"), mutant


GOOD_READ: Final = Good(b"GET", b"/dbs/fuzz", {b"connection": b"close"})


def whole(request: Good, key: str, dice: random.Random) -> bytes:
    return damage(encode(request, key), dice)


def in_part(request: Good, key: str, dice: random.Random) -> bytes:
    return encode(damage_part(request, dice), key)


@pytest.mark.parametrize("how", [whole, in_part], ids=["bytes", "signed"])
@pytest.mark.parametrize("kind", REQUESTS)
def test_damaged_requests(live: Live, kind: str, how: Callable[[Good, str, random.Random], bytes]) -> None:
    print("seed", SEED)
    dice = random.Random(f"{SEED} {kind} {how.__name__}")
    for _ in range(MUTANTS):
        mutant = how(REQUESTS[kind], live.key, dice)
        must_live(live, mutant, exchange(live, mutant))


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_requests_are_good_before_they_are_damaged(live: Live, kind: str) -> None:
    """At least they come through to the API: they are let in, and answered there."""
    answer = exchange(live, encode(REQUESTS[kind], live.key))
    assert b"x-ms-request-charge" in answer
    assert not answer.startswith((b"HTTP/1.1 401", b"HTTP/1.1 405", b"HTTP/1.1 5"))


# ---- slow senders and greedy ones


def trickle(connection: socket.socket, data: bytes) -> bytes:
    """Send byte by byte for as long as the server takes it; what it answered."""
    connection.settimeout(0.05)
    until = time.monotonic() + PATIENCE
    for at in range(len(data)):
        assert time.monotonic() < until, "the server waits for ever"
        try:
            connection.sendall(data[at : at + 1])
            answer = connection.recv(65536)
        except TimeoutError:
            continue
        except (BrokenPipeError, ConnectionResetError):
            return b""
        connection.settimeout(PATIENCE)
        return answer + read_end(connection)
    return b""


def test_a_slow_head_is_ended(live: Live) -> None:
    started = time.monotonic()
    with connect(live) as connection:
        answer = trickle(connection, encode(REQUESTS["read"], live.key))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert HEADER_TIMEOUT * 0.5 < time.monotonic() - started < PATIENCE


def test_a_slow_body_is_ended(live: Live) -> None:
    data = encode(REQUESTS["create"], live.key)
    head = data.index(b"\r\n\r\n") + 4
    with connect(live) as connection:
        connection.sendall(data[:head])
        answer = trickle(connection, data[head:])
    assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("cut", [1, 20, -1])
def test_a_sender_that_falls_silent_is_left(live: Live, cut: int) -> None:
    with connect(live) as connection:
        connection.sendall(encode(REQUESTS["create"], live.key)[:cut])
        assert read_end(connection).startswith(b"HTTP/1.1 408 ")
    must_live(live, b"", b"")


def test_many_slow_senders_keep_nobody_waiting(live: Live) -> None:
    data = encode(REQUESTS["create"], live.key)
    senders = []
    try:
        for at in range(100):
            sender = socket.create_connection(address_of(live), PATIENCE)
            senders.append(sender)
            sender.sendall(data[: 1 + at * 5 % (len(data) - 1)])
        started = time.monotonic()
        assert exchange(live, encode(GOOD_READ, live.key)).startswith(b"HTTP/1.1 200 ")
        assert time.monotonic() - started < 5
    finally:
        for sender in senders:
            sender.close()


GREEDY: Final = {
    "a long header": (b"GET / HTTP/1.1\r\nhost: here\r\nx: " + b"x" * 20_000 + b"\r\n\r\n", b"431"),
    "many headers": (b"GET / HTTP/1.1\r\nhost: here\r\n" + b"x: y\r\n" * 1_000 + b"\r\n", b"431"),
    "a head without an end": (b"GET / HTTP/1.1\r\nhost: here\r\n" + b"x: y\r\n" * 100_000, b"431"),
    "a long target": (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nhost: here\r\n\r\n", b"414"),
    "a long method": (b"X" * 20_000 + b" / HTTP/1.1\r\nhost: here\r\n\r\n", b"400"),
    "a long key": (
        encode(Good(b"GET", DOCS + b"/1", {b"x-ms-documentdb-partitionkey": b'["' + b"k" * 10_000 + b'"]'}), "a2V5"),
        b"401",
    ),
    "a large body announced": (b"POST /dbs HTTP/1.1\r\nhost: here\r\ncontent-length: 99999999999\r\n\r\n", b"413"),
    "a larger one": (b"POST /dbs HTTP/1.1\r\nhost: here\r\ncontent-length: " + b"9" * 40 + b"\r\n\r\n", b"400"),
    "chunks without end": (
        b"POST /dbs HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n"
        + b"ffff\r\n%b\r\n" % (b"x" * 65535) * 50,
        b"413",
    ),
}


@pytest.mark.parametrize("kind", GREEDY)
def test_who_sends_too_much_is_told(live: Live, kind: str) -> None:
    data, status = GREEDY[kind]
    answers = exchange(live, data)
    must_live(live, data[:200], answers)
    if len(data) < 100_000:  # of what is larger the answer may be lost with what was still on its way
        assert answers.startswith(b"HTTP/1.1 " + status), answers[:200]
        assert b'"code":' in answers


def test_deep_json_is_refused_and_harms_nobody(live: Live) -> None:
    for body in (b"[" * 1_000_000, b'{"a":' * 300_000, b'{"id":"1","pk":"a","v":' + b"[" * 129 + b"]" * 129 + b"}"):
        answers = exchange(live, encode(Good(b"POST", DOCS, PK, body), live.key))
        assert answers.startswith(b"HTTP/1.1 400 "), answers[:200]
        must_live(live, body[:100], answers)


def test_pipelined_damage(live: Live) -> None:
    """A good request, a damaged one, a good one: the first is answered, and nothing is answered twice."""
    print("seed", SEED)
    dice = random.Random(SEED)
    good = encode(Good(b"GET", b"/dbs/fuzz", {}), live.key)
    for _ in range(MUTANTS):
        mutant = whole(REQUESTS["read"], live.key, dice)
        answers = exchange(live, good + mutant + good)
        assert answers.startswith(b"HTTP/1.1 200 OK\r\n"), mutant
        assert b"HTTP/1.1 500" not in answers, mutant
        assert 1 <= answers.count(b"HTTP/1.1 ") <= 4, mutant
