"""Programs that tests of the embedded engine run in processes of their own: python family.py VERB FOLDER ...

The parent opens the data folder and forks before it opens any partition, as the server does. A program ends with exit
code 0 when what it asserts holds.
"""

import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from armillary.errors import Kind, Refusal
from armillary.kv.engine import Applied, Changes, Rejected, Term, TermChanges, View, Work
from armillary.kv.lmdb import LmdbEngine

PARTITION = b"partition of 16b"


def fork(run: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        run()
        os._exit(0)
    finally:
        os._exit(1)


def join(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def count_up(view: View) -> Changes:
    return Changes({b"n": b"%d" % (int(view.get(b"n") or b"0") + 1)})


def put(effects: dict[bytes, bytes | None]) -> Work:
    return lambda _view: Changes(effects)


def add_term(term: Term) -> Callable[[int], TermChanges]:
    return lambda watermark: TermChanges([], [term], watermark + 1)


def write_together(folder: Path) -> None:
    """Three processes count one number up; no step is lost and no LSN is given twice."""
    engine = LmdbEngine(folder)

    def run() -> None:
        for _ in range(40):
            assert all(isinstance(outcome, Applied) for outcome in engine.write(PARTITION, [count_up] * 3))

    first = fork(lambda: engine.create(PARTITION, b""))
    assert join(first) == 0
    children = [fork(run) for _ in range(3)]
    assert [join(child) for child in children] == [0, 0, 0]
    with engine.read(PARTITION) as reader:
        assert reader.get(b"n") == b"360"
        assert reader.lsn == 360


def drop_elsewhere(folder: Path) -> None:
    """A process that has a partition open learns at once that another one dropped it."""
    engine = LmdbEngine(folder)
    ready, dropped = os.pipe(), os.pipe()

    def run() -> None:
        with engine.read(PARTITION) as reader:
            assert reader.lsn == 0
        os.write(ready[1], b"x")
        os.read(dropped[0], 1)
        (outcome,) = engine.write(PARTITION, [count_up])
        assert isinstance(outcome, Rejected)
        assert isinstance(outcome.error, Refusal)
        assert outcome.error.kind is Kind.PARTITION_MISSING
        with pytest.raises(Refusal) as found:
            engine.read(PARTITION)
        assert found.value.kind is Kind.PARTITION_MISSING

    assert join(fork(lambda: engine.create(PARTITION, b""))) == 0
    child = fork(run)
    os.read(ready[0], 1)
    engine.drop(PARTITION)
    os.write(dropped[1], b"x")
    assert join(child) == 0
    assert engine.partitions() == []


def use_after_fork(folder: Path) -> None:
    """What the parent had open is refused to its child."""
    engine = LmdbEngine(folder)
    engine.create(PARTITION, b"")
    engine.write(PARTITION, [count_up])

    def run() -> None:
        with pytest.raises(Refusal, match="forked") as found:
            engine.read(PARTITION)
        assert found.value.kind is Kind.STORE_BROKEN

    assert join(fork(run)) == 0
    with engine.read(PARTITION) as reader:
        assert reader.lsn == 1


def kill_reader(folder: Path, how: str) -> None:
    """A killed reader pins old pages until somebody checks or clears up; afterwards the file stops growing."""
    engine = LmdbEngine(folder)
    opened, killed, reading = os.pipe(), os.pipe(), os.pipe()

    def read() -> None:
        with engine.read(PARTITION):
            os.write(reading[1], b"x")
            signal.pause()

    def churn() -> int:
        for at in range(30):
            engine.write(PARTITION, [put({b"k%d" % key: bytes([at]) * 900 for key in range(20)})])
        return engine.measure(PARTITION).items

    def write() -> None:
        churn()
        os.write(opened[1], b"x")
        os.read(killed[0], 1)
        pinned = [churn() for _ in range(3)]
        assert pinned[0] < pinned[1] < pinned[2], pinned
        if how == "clear":
            engine.clear_up()
        assert engine.check_readers() == (how == "check")
        churn()
        assert churn() == churn()

    assert join(fork(lambda: engine.create(PARTITION, b""))) == 0
    writer = fork(write)
    os.read(opened[0], 1)
    reader = fork(read)
    os.read(reading[0], 1)
    os.kill(reader, signal.SIGKILL)
    join(reader)
    os.write(killed[1], b"x")
    assert join(writer) == 0


def open_many(folder: Path, count: str, most: str) -> None:
    """More partitions, each with terms, than the process may have files open; threads use them at random."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, int(most)))
    engine = LmdbEngine(folder)
    names = [number.to_bytes(16) for number in range(int(count))]
    for name in names:
        engine.create(name, name)

    def use(step: int) -> None:
        for name in names[step % 3 :: step]:
            (outcome,) = engine.write(name, [put({b"k%d" % step: name})])
            assert isinstance(outcome, Applied), outcome
            engine.terms(name).apply(add_term((name[-3:] + b"t", step)))
            with engine.read(name) as reader, engine.terms(name).read() as terms:
                assert reader.header == name
                assert reader.get(b"k%d" % step) == name
                assert terms.seek((name[-3:], 0)) is not None
        done.append(step)

    done: list[int] = []
    threads = [threading.Thread(target=use, args=(step,)) for step in (5, 7)]
    for thread in threads:
        thread.start()
    use(3)
    for thread in threads:
        thread.join()
    assert sorted(done) == [3, 5, 7]
    assert len(os.listdir("/proc/self/fd")) < int(most)


def hold(folder: Path) -> None:
    """Keep the folder in a child while the parent goes; says so, and ends when its input does."""
    engine = LmdbEngine(folder)
    if os.fork():
        os._exit(0)
    print(os.getpid(), flush=True)
    sys.stdin.read()
    engine.close()


VERBS: dict[str, Callable[..., None]] = {
    "write_together": write_together,
    "drop_elsewhere": drop_elsewhere,
    "use_after_fork": use_after_fork,
    "kill_reader": kill_reader,
    "open_many": open_many,
    "hold": hold,
}

if __name__ == "__main__":
    VERBS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
