"""An engine around an engine: works, and indexing steps, run one to three times, and only the last run counts."""

import random
from collections.abc import Callable, Sequence

from armillary.errors import Kind, Refusal
from armillary.kv.engine import (
    Applied,
    Changes,
    Engine,
    Limits,
    Outcome,
    Reader,
    Rejected,
    TermChanges,
    TermReader,
    Terms,
    Unknown,
    View,
    Work,
)


class RerunTerms:
    """Terms whose steps are run again."""

    def __init__(self, inner: Terms, chance: random.Random) -> None:
        self._inner = inner
        self._chance = chance

    def read(self) -> TermReader:
        return self._inner.read()

    def apply(self, step: Callable[[int], TermChanges | None]) -> int:
        def repeat(watermark: int) -> TermChanges | None:
            for _ in range(self._chance.randrange(3)):
                step(watermark)
            return step(watermark)

        return self._inner.apply(repeat)

    def clear(self) -> None:
        self._inner.clear()


class RerunEngine:
    """Passes everything on; works run once, twice or three times against the same view."""

    def __init__(self, inner: Engine, seed: int) -> None:
        self._inner = inner
        self._chance = random.Random(seed)
        self.local = inner.local
        self.durable = inner.durable
        self.limits: Limits = inner.limits

    def _repeat(self, work: Work) -> Work:
        def run(view: View) -> Changes:
            for _ in range(self._chance.randrange(3)):
                try:
                    work(view)
                except Exception:  # noqa: BLE001 - what an earlier run says does not count
                    continue
            return work(view)

        return run

    def write(self, partition: bytes, works: Sequence[Work]) -> list[Outcome]:
        return self._inner.write(partition, [self._repeat(work) for work in works])

    def create(self, partition: bytes, header: bytes) -> None:
        self._inner.create(partition, header)

    def drop(self, partition: bytes) -> None:
        self._inner.drop(partition)

    def partitions(self) -> list[bytes]:
        return self._inner.partitions()

    def read(self, partition: bytes) -> Reader:
        return self._inner.read(partition)

    def settle(self, partition: bytes, unknown: Unknown) -> Outcome:
        return self._inner.settle(partition, unknown)

    def terms(self, partition: bytes) -> Terms:
        return RerunTerms(self._inner.terms(partition), self._chance)

    def close(self) -> None:
        self._inner.close()


class UnsureEngine(RerunEngine):
    """Loses half of its answers: those commits end as unknown, and `settle` tells what became of them."""

    def __init__(self, inner: Engine, seed: int) -> None:
        super().__init__(inner, seed)
        self._doubts: dict[bytes, Outcome] = {}

    def write(self, partition: bytes, works: Sequence[Work]) -> list[Outcome]:
        if self._chance.random() < 0.5:
            return super().write(partition, works)
        with self._inner.read(partition) as reader:
            reader.get(b"any")
            first = reader.lsn + 1
        if self._chance.random() < 0.5:
            refused = Rejected(Refusal(Kind.STORE_BROKEN, detail="lost"))
            return [self._doubt(refused, first + at) for at in range(len(works))]
        outcomes = super().write(partition, works)
        return [self._doubt(found, found.lsn) if isinstance(found, Applied) else found for found in outcomes]

    def _doubt(self, truth: Outcome, lsn: int) -> Unknown:
        commit = self._chance.randbytes(8)
        self._doubts[commit] = truth
        return Unknown(commit, lsn, truth.result if isinstance(truth, Applied) else None)

    def settle(self, partition: bytes, unknown: Unknown) -> Outcome:
        return self._doubts.pop(unknown.commit)
