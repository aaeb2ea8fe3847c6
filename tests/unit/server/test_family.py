"""The processes of a server: signals, deaths, restarts, and what is answered meanwhile."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.unit.server.rig import DEADLINE, Client, await_condition

ROOT = Path(__file__).parents[3]


class Family(NamedTuple):
    """A running program."""

    process: "subprocess.Popen[bytes]"
    port: int

    def connect(self) -> Client:
        return Client(self.port)

    def ask(self, path: str) -> bytes:
        with self.connect() as client:
            return client.ask(path).body

    def health(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.ask("/_armillary/health"))
        return answer

    def children(self) -> list[int]:
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    @contextlib.contextmanager
    def connect_to_each(self, workers: int, each: int = 1) -> Iterator[dict[int, list[Client]]]:
        """So many connections to every worker, by its process. Whoever is free accepts, so some are left over."""
        with contextlib.ExitStack() as stack:
            found: dict[int, list[Client]] = {}

            def try_one() -> bool:
                client = stack.enter_context(self.connect())
                found.setdefault(int(client.ask("/pid").body), []).append(client)
                return len(found) == workers and all(len(clients) >= each for clients in found.values())

            await_condition(try_one, f"{workers} workers have accepted {each} connections")
            yield {pid: clients[:each] for pid, clients in found.items()}


def spawn(*arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.unit.server.program", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@contextlib.contextmanager
def run(*arguments: str) -> Iterator[Family]:
    with spawn(*arguments) as process:
        try:
            assert process.stdout is not None
            http, _ = json.loads(process.stdout.readline())
            yield Family(process, int(http.rpartition(":")[2].strip("/")))
        finally:
            if process.poll() is None:
                process.kill()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(params=["memory", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory" if request.param == "memory" else str(tmp_path / "data")


@pytest.fixture(params=[1, 3])
def workers(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_a_signal_lets_requests_under_way_finish(place: str) -> None:
    with run(place) as family, family.connect() as client, family.connect() as other, family.connect() as third:
        client.send(b"GET /gated HTTP/1.1\r\nHost: a\r\n\r\n")
        assert other.ask("/write", b"key").body == b"Applied 1"
        other.send(b"POST /open HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n")
        assert third.ask("/echo").status == 200
        family.process.send_signal(signal.SIGINT if place == "memory" else signal.SIGTERM)
        assert third.read_end() == b""  # it was idle: stopping has begun
        other.send(b"x")
        assert other.read().status == 404
        assert client.read().body == b"gate 1"
        assert family.process.wait(DEADLINE) == 0


def test_a_signal_reaches_all_workers(tmp_path: Path) -> None:
    with run(str(tmp_path), "3") as family, family.connect_to_each(3, 2) as clients, family.connect() as idle:
        assert idle.ask("/echo").status == 200
        for gated, opener in clients.values():
            gated.send(b"GET /gated HTTP/1.1\r\nHost: a\r\n\r\n")
            opener.send(b"POST /open HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n")
        family.process.terminate()
        assert idle.read_end() == b""
        for gated, opener in clients.values():
            opener.send(b"x")
            assert opener.read().status == 404
            assert gated.read().body == b"gate 1"
        assert family.process.wait(DEADLINE) == 0


@pytest.mark.crash
def test_the_whole_group_may_get_the_signal(tmp_path: Path, workers: int) -> None:
    with run(str(tmp_path), str(workers)) as family, family.connect() as client:
        assert client.ask("/write", b"key").status == 201
        for pid in (*family.children(), family.process.pid):
            os.kill(pid, signal.SIGTERM)
        assert family.process.wait(DEADLINE) == 0


@pytest.mark.crash
def test_a_second_signal_kills(place: str) -> None:
    with run(place) as family, family.connect() as client, family.connect() as idle:
        client.send(b"GET /gated HTTP/1.1\r\nHost: a\r\n\r\n")
        assert idle.ask("/echo").status == 200
        family.process.terminate()
        assert idle.read_end() == b""
        family.process.terminate()
        assert family.process.wait(DEADLINE) == 128 + signal.SIGTERM


@pytest.mark.crash
def test_a_killed_worker_and_a_killed_keeper_are_replaced(tmp_path: Path, workers: int) -> None:
    with run(str(tmp_path), str(workers)) as family:
        served = set()
        keeper = family.children()[-1]  # they are listed in the order of their start
        for _ in range(3):
            with family.connect() as client:
                worker = int(client.ask("/pid").body)
                served.add(worker)
                os.kill(worker, signal.SIGKILL)
                assert client.read_end() == b""
            await_condition(lambda: len(family.children()) == workers + 1, "a new worker")
        assert len(served) == 3
        os.kill(keeper, signal.SIGKILL)
        await_condition(lambda: len(family.children()) == workers + 1 and keeper not in family.children(), "a keeper")
        assert family.health()["deaths"] == 4
        family.process.terminate()
        _, errors = family.process.communicate(timeout=DEADLINE)
        assert family.process.returncode == 0
        assert len(re.findall(rb"the worker(?: [123])? ended \(SIGKILL\)", errors)) == 3
        assert errors.count(b"the keeper ended (SIGKILL)") == 1


@pytest.mark.crash
def test_the_other_workers_serve_on(tmp_path: Path) -> None:
    """A worker is replaced beside the living, and what a start owes the store is not done again."""
    with run(str(tmp_path), "3") as family, family.connect_to_each(3) as clients:
        (pid, (gone,)), *others = clients.items()
        for _, (client,) in others:
            assert client.ask("/write", b"key").status == 201
        os.kill(pid, signal.SIGKILL)
        assert gone.read_end() == b""
        for other, (client,) in others:
            assert int(client.ask("/pid").body) == other
            assert client.ask("/write", b"key").status == 201
        with family.connect_to_each(3) as again:
            assert set(again) - set(clients)
            assert sorted(int(client.ask("/write", b"key").body.split()[1]) for (client,) in again.values()) == [
                5,
                6,
                7,
            ]
        assert len((tmp_path / "prepared").read_text().split()) == 1


@pytest.mark.crash
def test_the_living_clear_up_after_the_dead(tmp_path: Path) -> None:
    with run(str(tmp_path), "3") as family, family.connect_to_each(3) as clients:
        dead, *living = clients
        os.kill(dead, signal.SIGKILL)
        cleared = tmp_path / "cleared"
        await_condition(cleared.exists, "somebody clears up")
        await_condition(lambda: {*map(int, cleared.read_text().split())} == {*living}, "all the living clear up")


def test_the_preparation_is_done_once_and_before_all_others(tmp_path: Path) -> None:
    for start in (1, 2):
        with run(str(tmp_path), "3") as family:
            # That it had ended before is asserted by each worker when it starts.
            assert len((tmp_path / "prepared").read_text().split()) == start
            family.process.terminate()
            assert family.process.wait(DEADLINE) == 0


def test_the_health_page_says_who_answers(tmp_path: Path) -> None:
    with run(str(tmp_path), "3") as family, family.connect_to_each(3) as clients:
        pages = [json.loads(client.ask("/_armillary/health").body) for (client,) in clients.values()]
        assert sorted(page["worker"] for page in pages) == [1, 2, 3]
        for page in pages:
            assert (page["status"], page["workers"], page["missing"], page["deaths"]) == ("ok", 3, [], 0)


@pytest.mark.crash
def test_children_do_not_outlive_a_killed_parent(tmp_path: Path, workers: int) -> None:
    with run(str(tmp_path), str(workers)) as family:
        children = family.children()
        assert len(children) == workers + 1
        family.process.kill()
        await_condition(lambda: not any(map(is_alive, children)), "the children have ended")


def test_a_second_family_on_a_folder_is_refused(tmp_path: Path) -> None:
    with run(str(tmp_path)) as family, spawn(str(tmp_path)) as second:
        out, _ = second.communicate(timeout=DEADLINE)
        assert json.loads(out)[0] == "FOLDER_IN_USE"
        assert str(family.process.pid) in json.loads(out)[1]
        assert second.returncode == 3


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ("refused", "FORMAT_NEWER", "has format 9; this version reads up to 1"),
        ("broken", "STORE_BROKEN", "the worker 1 ended before it was ready; the log says why"),
        ("unprepared", "FORMAT_NEWER", "has format 7; this version reads up to 1"),
        ("killed", "STORE_BROKEN", "the preparation ended before it was ready; the log says why"),
    ],
)
def test_a_family_that_cannot_start_says_why(tmp_path: Path, how: str, kind: str, words: str) -> None:
    with spawn(str(tmp_path), "3", how) as process:
        out, errors = process.communicate(timeout=DEADLINE)
        told, text = json.loads(out)
        assert told == kind
        assert words in text
        assert process.returncode == 3
        assert (b"LookupError: the application is broken" in errors) is (how == "broken")


def test_an_idle_family_rests(tmp_path: Path) -> None:
    with run(str(tmp_path), "3") as family:
        family.ask("/echo")
        pids = [family.process.pid, *family.children()]
        assert len(pids) == 5
        before = sum(map(read_busy_seconds, pids))
        with family.connect() as client:
            client.socket.settimeout(1.0)
            with pytest.raises(TimeoutError):
                client.read_end()  # nobody has anything to say: a second passes
        assert sum(map(read_busy_seconds, pids)) - before < 0.1


def read_busy_seconds(pid: int) -> float:
    """Processor time of all threads of a process, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
