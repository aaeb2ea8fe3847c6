"""Commits a second on one partition, for each engine, beside what the disk takes for one sync.

    python -m bench.engines [--seconds 3] [--rounds 3] [--cassandra]

A work is what an item's create does to the store: two reads, four puts (1 KB in all and the header). Each writer
commits again as soon as it was answered, with one work or with 16. Writers are threads of one process; for the embedded
engine also processes of one family, as server workers are. All engines take turns; the table shows the best run,
because whatever else the machine does only takes away, and how far the others fell behind (max/min).
"""

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from armillary.kv.engine import Applied, Changes, Engine, View
from armillary.kv.lmdb import LmdbEngine
from armillary.kv.memory import MemoryEngine
from bench.store import measure_sync

BODY = os.urandom(900)
HEADER = bytes(140)


class Rate(NamedTuple):
    """What one run gave: the commits of all writers, how long each took, and the CPU seconds of this side."""

    seconds: float
    taken: list[float]
    cpu: float


class Case(NamedTuple):
    """One line of the table."""

    name: str
    writers: int
    works: int
    run: Callable[[int, int, float], Rate]


def create_item(view: View) -> Changes:
    """What a create of an item reads and writes, without its rules."""
    number = view.lsn.to_bytes(8)
    key = b"\x10" + (view.lsn * 0x9E3779B97F4A7C15 % 2**64).to_bytes(8) + b"some partition key and id"
    view.get(key)
    view.get(b"\x20logical")
    effects = {key: BODY, b"\x18" + number: key, b"\x20logical": HEADER[:40], b"\x28" + number + b"\x00" * 6: key}
    return Changes(effects, HEADER)


def write_for(engine: Engine, partition: bytes, works: int, seconds: float) -> list[float]:
    """Commit until the time is over; how long each took."""
    taken = []
    until = time.perf_counter() + seconds
    while (begun := time.perf_counter()) < until:
        outcomes = engine.write(partition, [create_item] * works)
        taken.append(time.perf_counter() - begun)
        if not all(isinstance(outcome, Applied) for outcome in outcomes):
            raise SystemExit(f"not applied: {outcomes}")
    return taken


def run_threads(engine: Engine, writers: int, works: int, seconds: float) -> Rate:
    partition = os.urandom(16)
    engine.create(partition, HEADER)
    taken: list[float] = []
    threads = [
        threading.Thread(target=lambda: taken.extend(write_for(engine, partition, works, seconds)))
        for _ in range(writers)
    ]
    begun, used = time.perf_counter(), read_cpu()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = Rate(time.perf_counter() - begun, taken, read_cpu() - used)
    engine.drop(partition)
    return rate


def run_processes(folder: Path, writers: int, works: int, seconds: float) -> Rate:
    """The parent holds the folder and opens no partition: its children do."""
    engine = LmdbEngine(folder)
    partition = os.urandom(16)
    run_child(lambda: engine.create(partition, HEADER))()
    begun, used = time.perf_counter(), read_cpu()
    waits = [run_child(lambda: report_times(write_for(engine, partition, works, seconds))) for _ in range(writers)]
    taken = [moment for wait in waits for moment in wait()]
    rate = Rate(time.perf_counter() - begun, taken, read_cpu() - used)
    engine.close()
    return rate


def read_cpu() -> float:
    """CPU seconds of this process and of its children that ended."""
    return sum(os.times()[:4])


def report_times(taken: list[float]) -> bytes:
    return " ".join(f"{moment:.6f}" for moment in taken).encode()


def run_child(run: Callable[[], bytes | None]) -> Callable[[], list[float]]:
    """Fork and run; calling what is returned waits for its times."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        answer = run() or b""
        with open(writing, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(writing)

    def wait() -> list[float]:
        with open(reading, "rb") as pipe:
            times = [float(text) for text in pipe.read().split()]
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise SystemExit("a writer failed")
        return times

    return wait


def run_lmdb(folder: Path, writers: int, works: int, seconds: float) -> Rate:
    engine = LmdbEngine(folder)
    try:
        return run_threads(engine, writers, works, seconds)
    finally:
        engine.close()


@contextmanager
def list_cases(folder: Path, *, cassandra: bool) -> Iterator[list[Case]]:
    cases = [
        Case(name, writers, works, run)
        for works in (1, 16)
        for name, writers, run in (
            ("memory", 1, lambda *plan: run_threads(MemoryEngine(), *plan)),
            ("memory", 3, lambda *plan: run_threads(MemoryEngine(), *plan)),
            ("lmdb", 1, lambda *plan: run_lmdb(folder, *plan)),
            ("lmdb, threads", 3, lambda *plan: run_lmdb(folder, *plan)),
            ("lmdb, processes", 3, lambda *plan: run_processes(folder, *plan)),
        )
    ]
    if not cassandra:
        yield cases
        return
    from tests.cassandra_node.node import ADDRESS, fetch, run_node  # Java and a driver: only when asked for

    from armillary.kv.cassandra import CassandraEngine

    fetch()
    with run_node() as node:
        engine = CassandraEngine([ADDRESS], node.port, "bench")
        runs = [("cassandra, one node", writers, works) for works in (1, 16) for writers in (1, 3)]
        yield cases + [Case(*run, lambda *plan: run_threads(engine, *plan)) for run in runs]
        engine.close()


def describe(case: Case, rates: list[Rate], syncs: list[float]) -> str:
    per_second = [len(rate.taken) / rate.seconds for rate in rates]
    commits = max(per_second)
    best = rates[per_second.index(commits)]
    taken = sorted(best.taken)
    cells = (
        case.name,
        case.writers,
        case.works,
        f"{commits:,.0f}",
        f"{commits * case.works:,.0f}",
        f"{taken[len(taken) // 2] * 1e3:.2f}",
        f"{taken[int(len(taken) * 0.99)] * 1e3:.2f}",
        f"{best.cpu / len(taken) / case.works * 1e6:,.0f}",
        f"{min(syncs):,.0f} - {max(syncs):,.0f}",
        f"{commits / min(per_second):.1f}",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.engines", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cassandra", action="store_true", help="also on one Cassandra node, fetched when missing")
    arguments = parser.parse_args()
    titles = ("engine", "writers", "works a commit", "commits/s", "works/s", "p50 ms", "p99 ms", "CPU us a work",
              "one sync us", "max/min")  # fmt: skip
    print("| " + " | ".join(titles) + " |", "|---" * len(titles) + "|", sep="\n")
    with tempfile.TemporaryDirectory() as name, list_cases(Path(name) / "data", cassandra=arguments.cassandra) as cases:
        rates: dict[int, list[Rate]] = {at: [] for at in range(len(cases))}
        syncs: dict[int, list[float]] = {at: [] for at in range(len(cases))}
        for _ in range(arguments.rounds):
            for at, case in enumerate(cases):
                syncs[at].append(measure_sync(Path(name)))
                rates[at].append(case.run(case.writers, case.works, arguments.seconds))
        for at, case in enumerate(cases):
            print(describe(case, rates[at], syncs[at]), flush=True)


if __name__ == "__main__":
    main()
