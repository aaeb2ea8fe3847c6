"""Grouped commits: order, bounds, fairness, and that every work is settled once."""

import asyncio
import threading
from collections.abc import Sequence

from armillary.errors import Kind, Refusal
from armillary.kv.engine import Applied, Changes, Limits, Outcome, Rejected, View, Work
from armillary.kv.memory import MemoryEngine
from armillary.server.health import Health
from armillary.server.roll import Roll
from armillary.server.writers import Writers

LIMITS = Limits(key_bytes=511, value_bytes=2**21, commit_bytes=2**22, commit_works=256, term_bytes=400)
DEADLINE = 10.0


class SlowEngine(MemoryEngine):
    """Records the groups it is given and commits them when the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.limits = LIMITS
        self.gate = threading.Event()
        self.groups: list[tuple[bytes, int]] = []
        self.entered = threading.Semaphore(0)

    def write(self, partition: bytes, works: Sequence[Work]) -> list[Outcome]:
        self.groups.append((partition, len(works)))
        self.entered.release()
        assert self.gate.wait(DEADLINE)
        return super().write(partition, works)


class BrokenEngine(MemoryEngine):
    def write(self, partition: bytes, works: Sequence[Work]) -> list[Outcome]:
        raise OSError("the disk has gone")


class Waiter:
    """Collects what members are told, in order."""

    def __init__(self, expected: int) -> None:
        self.told: list[object] = []
        self.all_told = asyncio.Event()
        self._expected = expected

    def settle(self, outcome: object) -> None:
        self.told.append(outcome)
        if len(self.told) == self._expected:
            self.all_told.set()

    def fail(self, error: Exception) -> None:
        self.settle(error)

    async def wait(self) -> list[object]:
        await asyncio.wait_for(self.all_told.wait(), DEADLINE)
        return self.told


def put(key: bytes) -> Work:
    def work(view: View) -> Changes:
        return Changes({key: b"%d" % view.lsn}, result=key)

    return work


def refuse(_: View) -> Changes:
    raise Refusal(Kind.DISK_FULL, detail="test")


def start(engine: MemoryEngine, bound: int = 1000) -> tuple[Writers, Health]:
    health = Health(1, Roll(["worker", "keeper"]))
    return Writers(engine, asyncio.get_running_loop(), bound=bound, health=health), health


async def test_works_of_a_partition_are_committed_in_order_and_in_groups() -> None:
    engine = SlowEngine()
    engine.create(b"p", b"")
    writers, _ = start(engine)
    waiter = Waiter(601)
    assert writers.submit(b"p", put(b"first"), 0, waiter)
    await asyncio.to_thread(engine.entered.acquire)
    for number in range(600):
        assert writers.submit(b"p", put(b"%03d" % number), 0, waiter)
    engine.gate.set()
    told = await waiter.wait()
    assert [outcome.lsn for outcome in told if isinstance(outcome, Applied)] == list(range(1, 602))
    assert engine.groups == [(b"p", 1), (b"p", 256), (b"p", 256), (b"p", 88)]
    await asyncio.to_thread(writers.close)


async def test_groups_are_bounded_in_bytes() -> None:
    engine = SlowEngine()
    engine.create(b"p", b"")
    writers, _ = start(engine)
    waiter = Waiter(6)
    assert writers.submit(b"p", put(b"first"), 0, waiter)
    await asyncio.to_thread(engine.entered.acquire)
    for number in range(5):
        assert writers.submit(b"p", put(b"%d" % number), 2_000_000, waiter)
    engine.gate.set()
    await waiter.wait()
    assert [size for _, size in engine.groups] == [1, 2, 2, 1]
    await asyncio.to_thread(writers.close)


async def test_a_full_line_refuses_and_opens_again() -> None:
    engine = SlowEngine()
    for partition in (b"p", b"q"):
        engine.create(partition, b"")
    writers, _ = start(engine, bound=3)
    waiter = Waiter(5)
    assert writers.submit(b"p", put(b"first"), 0, waiter)
    await asyncio.to_thread(engine.entered.acquire)
    accepted = [writers.submit(b"p", put(b"%d" % number), 0, waiter) for number in range(5)]
    assert accepted == [True, True, True, False, False]
    assert writers.submit(b"q", put(b"other"), 0, waiter)
    engine.gate.set()
    await waiter.wait()
    last = Waiter(1)
    assert writers.submit(b"p", put(b"again"), 0, last)
    assert await last.wait() == [Applied(5, b"again")]
    await asyncio.to_thread(writers.close)


async def test_partitions_are_served_side_by_side() -> None:
    engine = SlowEngine()
    waiter = Waiter(20)
    writers, _ = start(engine)
    for number in range(20):
        engine.create(b"%d" % number, b"")
        assert writers.submit(b"%d" % number, put(b"k"), 0, waiter)
    for _ in range(8):
        assert await asyncio.to_thread(engine.entered.acquire, timeout=DEADLINE)
    assert len(engine.groups) == 8
    engine.gate.set()
    await waiter.wait()
    assert len({partition for partition, _ in engine.groups}) == 20
    await asyncio.to_thread(writers.close)


async def test_a_busy_partition_does_not_keep_its_thread() -> None:
    """With every thread busy, a partition that waits is served before a busy one is served again."""
    engine = SlowEngine()
    waiter = Waiter(8 * 300 + 1)
    writers, _ = start(engine)
    for number in range(8):
        engine.create(b"%d" % number, b"")
        assert writers.submit(b"%d" % number, put(b"k"), 0, waiter)
    for _ in range(8):
        await asyncio.to_thread(engine.entered.acquire)
    for number in range(8):
        for _ in range(299):
            assert writers.submit(b"%d" % number, put(b"k"), 0, waiter)
    engine.create(b"late", b"")
    assert writers.submit(b"late", put(b"k"), 0, waiter)
    engine.gate.set()
    await waiter.wait()
    assert (b"late", 1) in engine.groups[:17]
    await asyncio.to_thread(writers.close)


async def test_closing_finishes_what_was_accepted() -> None:
    engine = SlowEngine()
    engine.create(b"p", b"")
    writers, _ = start(engine)
    waiter = Waiter(301)
    assert writers.submit(b"p", put(b"first"), 0, waiter)
    await asyncio.to_thread(engine.entered.acquire)
    for number in range(300):
        assert writers.submit(b"p", put(b"%d" % number), 0, waiter)
    closing = asyncio.create_task(asyncio.to_thread(writers.close))
    engine.gate.set()
    await closing
    assert len(await waiter.wait()) == 301


async def test_a_failing_engine_leaves_the_outcome_unknown() -> None:
    engine = BrokenEngine()
    engine.create(b"p", b"")
    writers, _ = start(engine)
    waiter = Waiter(1)
    assert writers.submit(b"p", put(b"k"), 0, waiter)
    (error,) = await waiter.wait()
    assert isinstance(error, Refusal)
    assert error.kind is Kind.OUTCOME_UNKNOWN
    await asyncio.to_thread(writers.close)


async def test_a_full_disk_shows_in_health_until_a_commit_succeeds() -> None:
    engine = MemoryEngine()
    engine.create(b"p", b"")
    writers, health = start(engine)
    for work, status in ((refuse, 503), (put(b"k"), 200)):
        waiter = Waiter(1)
        assert writers.submit(b"p", work, 0, waiter)
        (outcome,) = await waiter.wait()
        assert isinstance(outcome, Rejected) == (status == 503)
        assert health.report().status == status
    await asyncio.to_thread(writers.close)
