"""Mutants of good requests against the HTTP machine and a live server: never a crash, never a hang, never a 500."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.rig import Rig, run_rig

from armillary.server.service import Limits
from armillary.wire.http import HttpLimits, ProtocolFault, Request, RequestReader, Stage

SEED = random.SystemRandom().randrange(2**32)
MUTANTS = 50
GOOD = (
    b"POST /echo/a?b=c HTTP/1.1\r\nHost: here\r\nX-Ms-Date: Wed, 09 Aug 2023 10:11:12 GMT\r\n"
    b"Content-Length: 11\r\n\r\nhello world",
    b"POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5;e=1\r\nhello\r\n6\r\n world\r\n0\r\nT: 1\r\n\r\n",
    b"GET /echo/%20 HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nExpect: 100-continue\r\n\r\n",
)
NASTY = (
    b"\r",
    b"\n",
    b"\r\n",
    b"\0",
    b" ",
    b":",
    b"\xff",
    b"chunked",
    b"Content-Length: 1\r\n",
    b"0",
    b"-",
    b"%",
    b"HTTP/9.9",
)


def flip_bit(data: bytearray, dice: random.Random) -> None:
    at = dice.randrange(len(data))
    data[at] ^= 1 << dice.randrange(8)


def drop_bytes(data: bytearray, dice: random.Random) -> None:
    at = dice.randrange(len(data))
    del data[at : at + dice.randint(1, 8)]


def double_bytes(data: bytearray, dice: random.Random) -> None:
    at = dice.randrange(len(data))
    data[at:at] = data[at : at + dice.randint(1, 40)]


def insert_nasty(data: bytearray, dice: random.Random) -> None:
    data[dice.randrange(len(data)) : 0] = dice.choice(NASTY)


def swap_pieces(data: bytearray, dice: random.Random) -> None:
    first, second = sorted(dice.sample(range(len(data)), 2))
    data[:] = data[second:] + data[first:second] + data[:first]


def cut_short(data: bytearray, dice: random.Random) -> None:
    del data[dice.randrange(len(data)) :]


KINDS = (flip_bit, drop_bytes, double_bytes, insert_nasty, swap_pieces, cut_short)
LIMITS = HttpLimits(header_bytes=1000, header_count=20, body_bytes=1000, url_bytes=200)


def mutate(kind: int) -> Iterator[bytes]:
    print("seed", SEED)
    dice = random.Random(SEED + kind)
    for number in range(MUTANTS):
        data = bytearray(GOOD[number % len(GOOD)])
        for _ in range(dice.randint(1, 3)):
            if data:
                KINDS[kind](data, dice)
        yield bytes(data)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=[kind.__name__ for kind in KINDS])
def test_mutants_read_the_same_in_any_pieces(kind: int) -> None:
    for mutant in mutate(kind):
        assert read_whole(mutant) == read_in_pieces(mutant), mutant


@given(st.lists(st.sampled_from([*GOOD, *NASTY, b"GET / HTTP/1.1\r\n", b"\r\n\r\n", b"5\r\n"]), max_size=8))
def test_any_sequence_of_pieces_reads_the_same(pieces: list[bytes]) -> None:
    stream = b"".join(pieces)
    assert read_whole(stream) == read_in_pieces(stream)


@given(st.binary(max_size=300))
def test_noise_reads_the_same(noise: bytes) -> None:
    assert read_whole(noise) == read_in_pieces(noise)


def read_whole(stream: bytes) -> list[object]:
    return read([stream])


def read_in_pieces(stream: bytes) -> list[object]:
    return read([stream[at : at + 1] for at in range(len(stream))])


def read(pieces: list[bytes]) -> list[object]:
    reader = RequestReader(LIMITS)
    found: list[object] = []
    for piece in pieces:
        for event in reader.receive(piece):
            assert reader.stage is Stage.ENDED or not isinstance(event, ProtocolFault)
            if isinstance(event, Request):
                found.append((event.method, event.path, event.query, tuple(event.headers.items()), event.body))
            elif isinstance(event, ProtocolFault):
                found.append(event.status)
    return found


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with run_rig(Limits(LIMITS, header_timeout=0.2, body_timeout=0.2, idle_timeout=0.4)) as running:
        yield running


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=[kind.__name__ for kind in KINDS])
def test_a_server_answers_mutants_and_the_next_request(rig: Rig, kind: int) -> None:
    for mutant in mutate(kind):
        if not mutant:
            continue
        with rig.connect() as client:
            client.send(mutant)
            client.socket.shutdown(1)  # no more: whatever was understood is answered now
            answers = client.read_end()
        assert b"HTTP/1.1 500" not in answers, mutant
        assert answers == b"" or answers.startswith(b"HTTP/1.1 "), mutant
        with rig.connect() as client:
            assert client.ask("/echo", b"x").body == b"/echo|x", mutant
