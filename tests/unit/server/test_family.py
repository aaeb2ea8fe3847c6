"""The processes of a server: signals, deaths, restarts, and what is answered meanwhile."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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

    def children(self) -> list[int]:
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


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


@pytest.mark.crash
def test_the_whole_group_may_get_the_signal(tmp_path: Path) -> None:
    with run(str(tmp_path)) as family, family.connect() as client:
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
def test_a_killed_worker_and_a_killed_keeper_are_replaced(tmp_path: Path) -> None:
    with run(str(tmp_path)) as family:
        served = set()
        for _ in range(3):
            with family.connect() as client:
                worker = int(client.ask("/pid").body)
                served.add(worker)
                os.kill(worker, signal.SIGKILL)
                assert client.read_end() == b""
        assert len(served) == 3
        keeper = next(pid for pid in family.children() if pid != int(family.ask("/pid")))
        os.kill(keeper, signal.SIGKILL)
        await_condition(lambda: len(family.children()) == 2 and keeper not in family.children(), "a new keeper")
        family.process.terminate()
        _, errors = family.process.communicate(timeout=DEADLINE)
        assert family.process.returncode == 0
        assert errors.count(b"the worker ended (SIGKILL)") == 3
        assert errors.count(b"the keeper ended (SIGKILL)") == 1


@pytest.mark.crash
def test_children_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    with run(str(tmp_path)) as family:
        children = family.children()
        assert len(children) == 2
        family.process.kill()
        await_condition(lambda: not any(map(is_alive, children)), "the children have ended")


def test_a_second_family_on_a_folder_is_refused(tmp_path: Path) -> None:
    with run(str(tmp_path)) as family, spawn(str(tmp_path)) as second:
        out, _ = second.communicate(timeout=DEADLINE)
        assert json.loads(out)[0] == "FOLDER_IN_USE"
        assert str(family.process.pid) in json.loads(out)[1]
        assert second.returncode == 3


@pytest.mark.parametrize(("how", "kind"), [("refused", "FORMAT_NEWER"), ("broken", "STORE_BROKEN")])
def test_a_worker_that_cannot_start_says_why(tmp_path: Path, how: str, kind: str) -> None:
    with spawn(str(tmp_path), how) as process:
        out, errors = process.communicate(timeout=DEADLINE)
        told, text = json.loads(out)
        assert told == kind
        assert process.returncode == 3
        if how == "refused":
            assert text == f"The data folder {tmp_path} has format 9; this version reads up to 1"
        else:
            assert b"LookupError: the application is broken" in errors


def test_an_idle_family_rests(tmp_path: Path) -> None:
    with run(str(tmp_path)) as family:
        family.ask("/echo")
        pids = [family.process.pid, *family.children()]
        assert len(pids) == 3
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
