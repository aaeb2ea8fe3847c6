"""What a server does where something is short: open files, the disk, time to stop, readers that died."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path
from struct import Struct
from typing import Any

import pytest
from tests.crash.family import DEADLINE, Family, await_free
from tests.e2e.live import UPSERT, Answer, Caller, key_header, meet_workers

from armillary.clock import Clock
from armillary.database import Database
from armillary.kv.lmdb import LmdbEngine
from armillary.store.check import Report

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="the server is a family of processes on Linux only"),
]
READER = Struct("<QQQ40x")  # LMDB's table of readers: the transaction they hold on to, process, thread
NOTHING = 2**64 - 1


@pytest.fixture(params=[1, 3])
def workers(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@contextmanager
def serve(place: Path, folder: Path | None = None, files: int = 0, workers: int = 1) -> Iterator[Family]:
    """A server whose processes are known; killed at the end if it was not told to stop."""
    family = Family(folder or place / "data", place / "server.log", files=files, workers=workers)
    try:
        yield family
    finally:
        if family.process.poll() is None:
            family.kill()
            family.end()


@contextmanager
def call(family: Family) -> Iterator[Caller]:
    caller = Caller(family.http, family.key)
    try:
        yield caller
    finally:
        caller.close()


def make_container(caller: Caller, name: str) -> str:
    caller.create(name)
    return caller.create(name, "items")


def put(caller: Caller, place: str, name: str, size: int = 100) -> Answer:
    return caller.ask(
        "POST", f"{place}/docs", {"id": name, "pk": "k", "pad": "x" * size}, {**key_header("k"), **UPSERT}
    )


def check_at_rest(folder: Path) -> Report:
    await_free(folder)
    engine = LmdbEngine(folder)
    try:
        return Database(engine, Clock()).check()
    finally:
        engine.close()


def await_condition(condition: Callable[[], Any], what: str) -> None:
    until = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < until, f"it did not happen: {what}"
        time.sleep(0.001)


# ---- open files


@pytest.mark.timeout(300)
def test_500_containers_with_1024_open_files(tmp_path: Path, workers: int) -> None:
    with serve(tmp_path, files=1024, workers=workers) as family:
        with call(family) as caller:
            caller.create("many")
        order = [f"/dbs/many/colls/c{at}" for at in range(500)]
        with ThreadPoolExecutor(4) as pool:

            def each(use: Callable[[Caller, str], object]) -> None:
                random.Random(7).shuffle(order)
                list(pool.map(lambda part: use_all(use, part), (order[at::4] for at in range(4))))

            def use_all(use: Callable[[Caller, str], object], places: list[str]) -> None:
                with call(family) as caller:
                    for place in places:
                        use(caller, place)

            each(lambda caller, place: caller.create("many", place.rpartition("/")[2]))
            for _ in range(2):
                each(lambda caller, place: must(put(caller, place, "i")))
                each(lambda caller, place: caller.must("GET", f"{place}/docs/i", None, key_header("k")))
        assert max(map(count_files, family.workers)) <= 1024
        with call(family) as caller:
            report = caller.must("GET", "/_armillary/check").json
        assert (report["complaints"], report["containers"], report["items"]) == ([], 500, 500)
        assert family.stop() == 0
    with serve(tmp_path, files=1024, workers=workers) as again:
        print(f"ready with 500 containers after {again.ready_after:.2f} s")
        assert again.stop() == 0


def must(answer: Answer) -> Answer:
    assert answer.status < 300, (answer.status, answer.body)
    return answer


def count_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


# ---- the disk


@contextmanager
def small_disk(place: Path, options: str) -> Iterator[Path]:
    """A file system of its own."""
    if os.geteuid():
        pytest.skip("a small disk is mounted for this test, which only root may do")
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_refuses_writes_and_loses_nothing(tmp_path: Path, workers: int) -> None:
    with small_disk(tmp_path / "disk", "size=24m") as disk, serve(tmp_path, disk / "data", workers=workers) as family:
        with call(family) as caller:
            place = make_container(caller, "full")
            kept = {name: must(put(caller, place, name, 5000)).etag for name in map(str, range(100))}
            fill_disk(disk / "filler")
            refused = fill_store(caller, place, kept)
            assert refused.status == 507
            assert refused.json["code"] == "InsufficientStorage"
            assert "disk is full" in refused.json["message"]
            health = caller.ask("GET", "/_armillary/health")
            assert (health.status, health.json["status"]) == (503, "failing")
            assert "disk is full" in health.json["reasons"][0]
            made = caller.ask(
                "POST", "/dbs/full/colls", {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}
            )
            assert (made.status, made.json["code"]) == (507, "InsufficientStorage")
            must_have(caller, place, kept)
            (disk / "filler").unlink()
            kept["after"] = must(put(caller, place, "after")).etag
            assert caller.must("GET", "/_armillary/health").json["status"] == "ok"
            must_have(caller, place, kept)
            assert caller.must("GET", "/_armillary/check").json["complaints"] == []
        assert family.stop() == 0
        report = check_at_rest(disk / "data")
        assert (report.complaints, report.notes, report.items) == ([], [], len(kept))


def fill_disk(filler: Path) -> None:
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (1 << 20, 4096):
            fill_with(descriptor, bytes(size))
    finally:
        os.close(descriptor)


def fill_with(descriptor: int, piece: bytes) -> None:
    try:
        while os.write(descriptor, piece) == len(piece):
            pass
    except OSError:
        return  # it is full


def fill_store(caller: Caller, place: str, kept: dict[str, str]) -> Answer:
    """Write until that is refused; the refusal."""
    for at in range(1000):
        name = f"more-{at}"
        answer = put(caller, place, name, 50_000)
        if answer.status >= 300:
            return answer
        kept[name] = answer.etag
    raise AssertionError("the disk does not become full")


def must_have(caller: Caller, place: str, kept: dict[str, str]) -> None:
    for name, etag in kept.items():
        assert caller.must("GET", f"{place}/docs/{name}", None, key_header("k")).etag == etag


def test_a_folder_that_cannot_be_written_is_one_line_with_the_way_out(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "ro,size=1m") as disk:
        result = run_serve(disk / "data")
    assert result.returncode == 3
    assert "read-only file system; choose another with --data, or use --memory" in result.stderr
    assert result.stderr.count("\n") == 1


def run_serve(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-P", "-m", "armillary.cli", "serve", "--data", str(folder), "--port", "0"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serve(tmp_path) as family:
        assert family.stop() == 0
    magic, version = (folder / "format").read_text().split()
    (folder / "format").write_text(f"{magic} {int(version) + 1}\n")
    result = run_serve(folder)
    assert result.returncode == 3
    assert f"has format {int(version) + 1}; this version reads up to {version}" in result.stderr
    assert "use the version that wrote it" in result.stderr
    assert result.stderr.count("\n") == 1


# ---- readers that died


def test_a_killed_reader_pins_no_pages(tmp_path: Path, workers: int) -> None:
    with serve(tmp_path, workers=workers) as family:
        with call(family) as caller:
            place = make_container(caller, "pins")
            for at in range(300):
                must(put(caller, place, str(at), 3000))
        (items,) = [each for each in (tmp_path / "data/partitions").iterdir() if each.name.strip("0")]
        sizes: list[int] = []
        with meet_workers(family.http, family.key, workers) as living, ExitStack() as stack:
            for caller in living.values():
                caller.must("GET", f"{place}/docs/0", None, key_header("k"))  # it has the partition open from now on
            del living[kill_while_reading(family, place, items / "items/lock.mdb")]
            caller = next(iter(living.values()), None) or stack.enter_context(call(family))

            def grows_no_more() -> bool:
                sizes.append(churn(caller, place, items / "items/data.mdb"))
                return len(sizes) > 3 and sizes[-3:] == [sizes[-1]] * 3

            await_condition(grows_no_more, "the pages of the dead are used again")
        assert family.stop() == 0


def kill_while_reading(family: Family, place: str, table: Path) -> int:
    """Kill a worker at a moment at which it holds on to a transaction; its number."""
    ended = threading.Event()

    def read() -> None:
        with call(family) as caller:
            try:
                while not ended.is_set():
                    caller.must("GET", f"{place}/docs", None, {"x-ms-max-item-count": "1000"})
            except (OSError, HTTPException):
                return  # the worker was killed

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    met: list[int] = []

    def stop_in_a_read() -> list[int]:
        for worker in family.workers:
            os.kill(worker, signal.SIGSTOP)
            await_condition(partial(is_stopped, worker), "the worker stands still")
            if holds_transaction(table, worker):
                met.append(worker)
                break
            os.kill(worker, signal.SIGCONT)
        return met

    try:
        await_condition(stop_in_a_read, "a reader is met")
        number = family.workers.index(met[0]) + 1
        family.replace_worker(met[0])
        return number
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def holds_transaction(table: Path, pid: int) -> bool:
    content = table.read_bytes()
    rows = (READER.unpack_from(content, at) for at in range(0, len(content) - READER.size + 1, READER.size))
    return any(found == pid and transaction != NOTHING for transaction, found, _ in rows)


def churn(caller: Caller, place: str, file: Path) -> int:
    """Write everything anew; the blocks that the file takes then."""
    for at in range(300):
        must(put(caller, place, str(at), 3000))
    return file.stat().st_blocks


# ---- stopping


def test_what_is_under_way_is_answered_before_the_end(tmp_path: Path, workers: int) -> None:
    with serve(tmp_path, workers=workers) as family:
        with call(family) as caller:
            place = make_container(caller, "stop")
        began = threading.Barrier(9)
        writers = [Stubborn(family, place, number, began) for number in range(8)]
        threads = [threading.Thread(target=writer.run) for writer in writers]
        for thread in threads:
            thread.start()
        began.wait()
        await_condition(lambda: sum(len(writer.answered) for writer in writers) > 100, "writes are answered")
        family.process.terminate()
        told = time.monotonic()
        for thread in threads:
            thread.join()
        assert family.end() == 0
    assert all(writer.sent_at > told for writer in writers), "a write was under way and was not answered"
    report = check_at_rest(tmp_path / "data")
    assert (report.complaints, report.notes) == ([], [])
    assert report.items == sum(len(writer.answered) for writer in writers), "an unanswered write was applied"


class Stubborn:
    """A client that writes until it is let down; `sent_at` is when it began the request that was not answered."""

    def __init__(self, family: Family, place: str, number: int, began: threading.Barrier) -> None:
        self.family, self.place, self.number, self.began = family, place, number, began
        self.answered: list[str] = []
        self.sent_at = 0.0

    def run(self) -> None:
        with call(self.family) as caller:
            self.began.wait()
            try:
                for at in range(100_000):
                    name = f"{self.number}-{at}"
                    self.sent_at = time.monotonic()
                    answer = put(caller, self.place, name)
                    assert answer.status == 201, json.loads(answer.body)
                    self.answered.append(name)
            except (OSError, HTTPException):
                return  # the server is gone
