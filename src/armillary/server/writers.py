"""Commits, grouped: a small pool of threads between the event loop and the engine.

A partition with waiting works is served by one thread at a time, which takes everything that has arrived for it (up to
a bound), commits it as one group and hands all outcomes back to the loop with one call. What arrives meanwhile is the
next group, so groups grow with the load and nobody waits for company. Partitions are served side by side: their syncs
overlap.

    loop     submit -> line of the partition -> ready            settle each member <-+
    thread                              take group, engine.write ---------------------+

Laws: works of one partition are committed in the order they were submitted; a line holds at most `bound` works, and a
work over it is refused at once; every accepted work is settled exactly once, on the loop.
"""

import threading
from asyncio import AbstractEventLoop
from collections import deque
from queue import SimpleQueue
from typing import Final, NamedTuple, Protocol

from armillary.errors import Kind, Refusal
from armillary.kv.engine import Engine, Outcome, Work
from armillary.kv.failpoints import reach
from armillary.server.health import Health
from armillary.server.log import LOG

__all__ = ["Waiting", "Writers"]

THREADS: Final = 8
GROUP_WORKS: Final = 256
GROUP_BYTES: Final = 4 * 2**20


class Waiting(Protocol):
    """Whoever waits for a commit; one of these is called, once, on the loop."""

    def settle(self, outcome: object) -> None: ...

    def fail(self, error: Exception) -> None: ...


class _Member(NamedTuple):
    work: Work
    size: int
    waiting: Waiting


class _Line:
    """The works that wait for one partition; it exists while somebody waits or is served."""

    __slots__ = ("members", "partition")

    def __init__(self, partition: bytes) -> None:
        self.partition = partition
        self.members: deque[_Member] = deque()


class Writers:
    """The pool. `submit` belongs to the loop, and outcomes come back on it."""

    def __init__(self, engine: Engine, loop: AbstractEventLoop, *, bound: int, health: Health) -> None:
        self._engine = engine
        self._loop = loop
        self._bound = bound
        self._health = health
        self._works = min(GROUP_WORKS, engine.limits.commit_works)
        self._bytes = min(GROUP_BYTES, engine.limits.commit_bytes)
        self._lock = threading.Lock()
        self._drained = threading.Condition(self._lock)
        self._lines: dict[bytes, _Line] = {}
        self._ready: SimpleQueue[_Line | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._unserved = 0  # lines that are ready or being served: no more threads than these are needed

    def submit(self, partition: bytes, work: Work, size: int, waiting: Waiting) -> bool:
        """Accept a work of about `size` bytes; False when too many wait for its partition."""
        with self._lock:
            line = self._lines.get(partition)
            if line is None:
                line = self._lines[partition] = _Line(partition)
                line.members.append(_Member(work, size, waiting))
                self._unserved += 1
                if self._unserved > len(self._threads) and len(self._threads) < THREADS:
                    self._add_thread()
                self._ready.put(line)
                return True
            if len(line.members) >= self._bound:
                return False
            line.members.append(_Member(work, size, waiting))
            return True

    def close(self) -> None:
        """Finish what was accepted and end the threads; not on the loop."""
        with self._lock:
            while self._lines:
                self._drained.wait()
        for _ in self._threads:
            self._ready.put(None)
        for thread in self._threads:
            thread.join()

    def _add_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name=f"writer-{len(self._threads)}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        while (line := self._ready.get()) is not None:
            group = self._take(line)
            outcomes = self._commit(line.partition, group)
            reach("before-answer")
            self._loop.call_soon_threadsafe(self._deliver, group, outcomes)
            self._put_back(line)

    def _take(self, line: _Line) -> list[_Member]:
        with self._lock:
            members = line.members
            group = [members.popleft()]
            size = group[0].size
            while members and len(group) < self._works and size + members[0].size <= self._bytes:
                size += members[0].size
                group.append(members.popleft())
            return group

    def _put_back(self, line: _Line) -> None:
        with self._lock:
            if line.members:
                self._ready.put(line)
            else:
                del self._lines[line.partition]
                self._unserved -= 1
                if not self._lines:
                    self._drained.notify_all()

    def _commit(self, partition: bytes, group: list[_Member]) -> list[Outcome] | None:
        try:
            return self._engine.write(partition, [member.work for member in group])
        except Exception:  # noqa: BLE001 - handled: every member is told that its outcome is unknown
            # An engine answers with outcomes; a fault of ours inside it leaves open what reached the disk.
            LOG.exception("the engine failed in a commit")
            return None

    def _deliver(self, group: list[_Member], outcomes: list[Outcome] | None) -> None:
        if outcomes is None:
            for member in group:
                member.waiting.fail(Refusal(Kind.OUTCOME_UNKNOWN))
            return
        for member, outcome in zip(group, outcomes, strict=True):
            self._health.note(outcome)
            member.waiting.settle(outcome)
