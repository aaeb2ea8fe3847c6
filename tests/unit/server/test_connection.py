"""A connection, from outside: order, pressure, time, and what a broken client or a broken handler may not break."""

import contextlib
import json
import logging
import select
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.unit.server.rig import DEADLINE, Client, Rig, await_condition, run_rig

from armillary.kv.engine import Outcome, Work
from armillary.kv.memory import MemoryEngine
from armillary.server.service import Limits
from armillary.wire.http import HttpLimits

QUICK = Limits(HttpLimits(header_bytes=2000, body_bytes=10_000), header_timeout=0.2, body_timeout=0.4, idle_timeout=0.8)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with run_rig(Limits(HttpLimits(header_bytes=2000))) as running:
        yield running


@pytest.fixture(scope="module")
def quick() -> Iterator[Rig]:
    with run_rig(QUICK) as running:
        yield running


def request(path: str, body: bytes = b"") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def test_one_connection_serves_many_requests(rig: Rig) -> None:
    with rig.connect() as client:
        for number in range(20):
            answer = client.ask(f"/echo/{number}", b"x" * number)
            assert (answer.status, answer.body) == (200, f"/echo/{number}|".encode() + b"x" * number)
            assert "connection" not in answer.headers


def test_pipelined_answers_come_in_order() -> None:
    with run_rig() as rig, rig.connect() as client:
        client.send(request("/gated") + request("/echo/2") + request("/write", b"k") + request("/echo/4"))
        await_condition(lambda: b"/gated" in rig.app.seen, "the first request is being handled")
        assert rig.app.seen == [b"/gated"]
        rig.app.gate.set()
        bodies = [client.read().body for _ in range(4)]
        assert bodies == [b"gate 1", b"/echo/2|", b"Applied 1", b"/echo/4|"]


def test_bytes_may_come_one_by_one(rig: Rig) -> None:
    with rig.connect() as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in request("/echo/slow", b"abc"):
            client.send(bytes((byte,)))
        assert client.read().body == b"/echo/slow|abc"


def test_head_only_and_closing_are_kept(rig: Rig) -> None:
    with rig.connect() as client:
        answer = client.ask("/echo/1", method="HEAD")
        assert answer.headers["content-length"] == "8"
        client.send(b"GET /echo/2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert client.read().headers["connection"] == "close"
        assert client.read_end() == b""


def test_the_word_to_go_on_comes_before_the_body(rig: Rig) -> None:
    with rig.connect() as client:
        client.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert client.read().status == 100
        client.send(b"abc")
        assert client.read().body == b"/echo|abc"


def test_a_half_closed_client_gets_its_answers(rig: Rig) -> None:
    with rig.connect() as client:
        rig.app.gate.clear()
        client.send(request("/gated") + request("/echo/2"))
        client.socket.shutdown(socket.SHUT_WR)
        rig.app.gate.set()
        assert client.read().body == b"gate 1"
        assert client.read().body == b"/echo/2|"
        assert client.read_end() == b""


def test_a_fault_is_answered_while_the_client_still_sends(rig: Rig) -> None:
    with rig.connect() as client:
        client.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 500_000)
        answer = client.read()
        assert answer.status == 413
        assert answer.headers["connection"] == "close"
        assert answer.json()["code"] == "RequestEntityTooLarge"
        assert client.read_end() == b""


def test_oversized_headers_are_refused_and_the_next_client_served(rig: Rig) -> None:
    for junk in (b"X: " + b"a" * 5000, b"X: 1\r\n" * 5000):
        with rig.connect() as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n" + junk)
            assert client.read().status == 431
        with rig.connect() as client:
            assert client.ask("/echo").status == 200


def test_good_requests_before_a_fault_are_answered(rig: Rig) -> None:
    with rig.connect() as client:
        client.send(request("/echo/1") + request("/write", b"k") + b"nonsense\r\n\r\n" + request("/echo/3"))
        assert [client.read().status for _ in range(3)] == [200, 201, 400]
        assert client.read_end() == b""


@pytest.mark.parametrize("path", ["/broken", "/broken-steps"])
def test_a_broken_handler_is_answered_and_logged(
    rig: Rig, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(logging.getLogger("armillary"), "propagate", True)
    with rig.connect() as client:
        answer = client.ask(path)
        assert answer.status == 500
        assert answer.json()["code"] == "InternalServerError"
        assert client.ask("/echo").status == 200
    (fault,) = [record for record in caplog.records if record.exc_info]
    assert fault.__dict__["fields"]["activity"] == answer.headers["x-ms-activity-id"]


def test_a_hundred_clients_at_once(rig: Rig) -> None:
    def talk(number: int) -> list[bytes]:
        with rig.connect() as client:
            return [client.ask(f"/echo/{number}", b"x").body, client.ask("/write", b"%d" % number).body[:7]]

    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(talk, range(100)))
    assert answers == [[f"/echo/{number}|x".encode(), b"Applied"] for number in range(100)]


def test_a_client_that_does_not_read_is_not_served_further() -> None:
    with run_rig() as rig, rig.connect() as client:
        client.send(request("/big") * 100)
        with rig.connect() as other:
            for _ in range(50):  # the server had its turns
                assert other.ask("/echo").status == 200
        assert rig.app.seen.count(b"/big") < 30
        assert [len(client.read().body) for _ in range(100)] == [2**20] * 100


def test_who_leaves_during_a_commit_harms_nobody(rig: Rig) -> None:
    for _ in range(20):
        client = rig.connect()
        client.send(request("/write", b"k"))
        client.close()
    with rig.connect() as client:
        assert client.ask("/echo").status == 200


@pytest.mark.parametrize("piece", [b"G", b"POST /echo HTTP/1.1\r\nHost: a\r\nX: "])
def test_slow_heads_are_refused(quick: Rig, piece: bytes) -> None:
    with quick.connect() as client:
        client.send(piece)
        answer = client.read()
        assert answer.status == 408
        assert answer.json() == {
            "code": "RequestTimeout",
            "message": "The head of the request did not come in time",
        }
        assert client.read_end() == b""


def test_slow_bodies_are_refused(quick: Rig) -> None:
    with quick.connect() as client:
        client.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na")
        answer = client.read()
        assert answer.status == 408
        assert json.loads(answer.body)["message"] == "The body of the request did not come in time"


def test_a_trickle_does_not_move_the_limit(quick: Rig) -> None:
    with quick.connect() as client:
        client.send(b"GET /echo HTTP/1.1\r\nHost: a\r\nX: ")
        client.socket.settimeout(0.02)
        received = b""
        for _ in range(500):
            try:
                client.send(b"a")
                received = client.socket.recv(100)
                break
            except TimeoutError:
                continue
        assert received.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("first", [b"", b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n"])
def test_idle_connections_are_closed(quick: Rig, first: bytes) -> None:
    with quick.connect() as client:
        if first:
            client.send(first)
            assert client.read().status == 200
        assert client.read_end() == b""


def test_a_long_operation_is_not_idle(quick: Rig) -> None:
    with quick.connect() as client, quick.connect() as other:
        client.send(request("/gated"))
        other.send(b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n")
        assert other.read().status == 200
        assert other.read_end() == b""  # another one's idle time passed meanwhile
        quick.app.gate.set()
        assert client.read().body == b"gate 1"


def test_plain_and_secure_share_a_port(rig: Rig) -> None:
    context = rig.trust()
    with rig.connect() as plain, Client(rig.port, context=context) as secure:
        for _ in range(3):
            assert plain.ask("/secure").body == b"plain"
            assert secure.ask("/secure").body == b"secure"
        assert secure.ask("/echo", b"x" * 300_000).body == b"/echo|" + b"x" * 300_000


def test_a_broken_handshake_harms_nobody(rig: Rig) -> None:
    with rig.connect() as client:
        client.send(b"\x16\x03\x01\x00\x05hello" + b"\0" * 100)
        client.read_end()
    with Client(rig.port, context=rig.trust()) as client:
        assert client.ask("/secure").body == b"secure"


def test_connections_over_the_limit_are_turned_away() -> None:
    with run_rig(Limits(connections=2)) as rig, rig.connect() as first, rig.connect() as second:
        assert first.ask("/echo").status == second.ask("/echo").status == 200
        with rig.connect() as third:
            assert third.read().status == 503
            assert third.read_end() == b""
        first.close()

        def comes_in() -> bool:
            with rig.connect() as client:
                client.send(b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n")
                return client.read().status == 200

        await_condition(comes_in, "the place of the one that left is free")


def test_stopping_answers_what_is_owed() -> None:
    with run_rig() as rig, rig.connect() as idle, rig.connect() as busy, rig.connect() as half:
        assert idle.ask("/echo").status == 200
        busy.send(request("/gated") + request("/echo/after"))
        half.send(b"POST /echo/half HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na")
        await_condition(lambda: b"/gated" in rig.app.seen, "a request is under way")
        rig.stop()
        assert idle.read_end() == b""
        half.send(b"b")
        answer = half.read()
        assert (answer.body, answer.headers["connection"]) == (b"/echo/half|ab", "close")
        rig.app.gate.set()
        assert busy.read().body == b"gate 1"
        answer = busy.read()
        assert (answer.body, answer.headers["connection"]) == (b"/echo/after|", "close")
        assert busy.read_end() == b""
        with pytest.raises(OSError, match="refused"):
            rig.connect()


def test_the_servers_own_pages(rig: Rig) -> None:
    with rig.connect() as client:
        health = client.ask("/_armillary/health")
        assert health.status == 200
        assert health.json()["status"] == "ok"
        assert client.ask("/_armillary/health", b"x").status == 405
        assert client.ask("/_armillary/check").body == b"checked"
        assert client.ask("/_armillary/nothing").status == 404
        assert client.ask("/_explorer/emulator.pem").body == rig.certificate.find_pair().certificate


class GatedEngine(MemoryEngine):
    """Commits wait until the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def write(self, partition: bytes, works: Sequence[Work]) -> list[Outcome]:
        assert self.gate.wait(DEADLINE)
        return super().write(partition, works)


def test_too_many_writes_are_refused_and_the_rest_is_kept() -> None:
    engine = GatedEngine()
    with run_rig(Limits(write_queue=2), engine) as rig, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(rig.connect()) for _ in range(10)]
        for client in clients:
            client.send(request("/write", b"k"))
        ready, _, _ = select.select([client.socket for client in clients], [], [], DEADLINE)
        assert ready
        await_condition(lambda: len(rig.app.seen) == 10, "all were handled")
        engine.gate.set()
        answers = [client.read() for client in clients]
        statuses = [answer.status for answer in answers]
        assert set(statuses) == {201, 503}
        assert 2 <= statuses.count(201) <= 4  # two wait, and up to two are at the engine
        assert {answer.json()["code"] for answer in answers if answer.status == 503} == {"BUSY"}


def test_an_engine_that_is_not_local_is_called_from_threads() -> None:
    engine = MemoryEngine()
    engine.local = False
    with run_rig(engine=engine) as rig, rig.connect() as client, rig.connect() as other:
        client.send(request("/gated") + request("/write", b"k"))
        await_condition(lambda: b"/gated" in rig.app.seen, "a request waits in a thread")
        assert other.ask("/write", b"k").body == b"Applied 1"
        assert other.ask("/broken").status == 500
        rig.app.gate.set()
        assert client.read().body == b"gate 1"
        assert client.read().body == b"Applied 2"


def test_one_client_with_many_requests_does_not_keep_others_waiting(rig: Rig) -> None:
    with rig.connect() as client:
        client.send(b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n" * 1000)
        assert [client.read().status for _ in range(1000)] == [200] * 1000
