"""The keeper's work on splits: asks for those that storage or throughput call for, and carries out all that are asked
for, at most two at a time.

The catalog is the queue. A split that is recorded there is taken up, whoever recorded it and however far it is; so a
keeper that dies leaves nothing to anybody's memory. Each split has a thread of its own: a long copy stops no other job.
What a split leaves behind, the parent or the children of a cancelled one, is removed after a while, when nobody reads
there any more.

    storage      the items of a partition have reached the limit: cut where the data is halved
    throughput   the container has fewer partitions than its throughput needs: the widest range is halved
"""

import threading
from collections.abc import Callable
from functools import partial
from math import ceil
from typing import Final

from armillary.container import Container
from armillary.database import STALE, Database
from armillary.errors import Kind, Refusal
from armillary.keys.ranges import EpkRange, measure_range, read_range
from armillary.kv.engine import Reader
from armillary.kv.steps import drive
from armillary.server.log import LOG
from armillary.store.catalog import Range, Split
from armillary.store.cuts import Cut, Partition, cut_data, cut_range
from armillary.store.header import Header
from armillary.store.layout import CATALOG
from armillary.store.splitting import Phase, Splitting
from armillary.store.transaction import Moment

__all__ = ["SOON", "Splits", "count_needed"]

MOST: Final = 2
SOON: Final = 0.25
_LOOK_EVERY: Final = 1.0
_GRACE: Final = 10.0
_GROWN: Final = 1.1
_SEALED: Final = frozenset((Phase.SEAL, Phase.REST, Phase.OPEN, Phase.FINISH))


class _Running:
    """A split that is carried out, by a thread until it is over or told to stop."""

    def __init__(self, database: Database, container: Container, split: Split) -> None:
        self.split = split
        self.container = container
        self._clock = database.clock
        self.failure: Exception | None = None
        self.sealed = 0.0  # seconds for which writers had to wait
        self._stopped = threading.Event()
        self._splitting = Splitting(database.engine, container.row, split, container.rules, partial(_moment, database))
        self._thread = threading.Thread(target=self._run, name=f"split-{split.id[:8]}", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    @property
    def left_behind(self) -> tuple[Range, ...]:
        """Ranges that nobody needs any more."""
        if self._splitting.phase is not Phase.OVER:
            return ()
        parent = tuple(place for place in self.container.row.ranges if place.id == self.split.parent)
        return parent if self._splitting.was_done else self.split.children

    def stop(self) -> None:
        """End after the step under way; the split stays recorded."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        now = self._clock.monotonic
        try:
            while not self._stopped.is_set() and self._splitting.phase is not Phase.OVER:
                began, was = now(), self._splitting.phase
                self._splitting.step()
                if was in _SEALED:
                    self.sealed += now() - began
        except Exception as error:  # noqa: BLE001 - handled by the job that started this thread
            self.failure = error


class Splits:
    """The job."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._engine = database.engine
        self._clock = database.clock
        self._limits = database.admission.options.limits
        self._running: dict[str, _Running] = {}
        self._left: list[tuple[float, bytes]] = []
        self._lonely: dict[bytes, int] = {}  # partitions that cannot be split, with the size they were found at
        self._lsn = -1
        self._look_at = 0.0
        self._containers: list[Container] = []

    def run(self) -> float:
        """Take up, look after, clear away; the seconds until the next run."""
        if self._database.exists():
            self._reap()
            self._clear_away()
            self._follow_catalog()
            self._take_up()
            if self._clock.monotonic() >= self._look_at:
                self._look_at = self._clock.monotonic() + _LOOK_EVERY
                self._look()
        return SOON

    def stop(self) -> None:
        for running in self._running.values():
            running.stop()

    # ---- carrying out

    def _reap(self) -> None:
        for name, running in list(self._running.items()):
            if running.is_over:
                del self._running[name]
                self._lsn = -1
                self._conclude(running)

    def _conclude(self, running: _Running) -> None:
        at = self._clock.monotonic() + _GRACE
        self._left += [(at, place.partition) for place in running.left_behind]
        container, split = running.container, running.split
        name = f"{container.owner.id}/{container.row.id} range {split.parent}"
        error = running.failure
        if error is None:
            LOG.info(
                "the split of %s is over (%s); it was sealed for %.1f ms", name, split.reason, running.sealed * 1000
            )
        elif isinstance(error, Refusal) and error.kind in STALE:
            LOG.debug("the split of %s goes on: %s", name, error)
        else:
            LOG.error("the split of %s failed and is tried again: %s", name, error, exc_info=error)

    def _clear_away(self) -> None:
        now = self._clock.monotonic()
        for at, partition in self._left:
            if at <= now:
                self._engine.drop(partition)
        self._left = [(at, partition) for at, partition in self._left if at > now]

    def _follow_catalog(self) -> None:
        with self._engine.read(CATALOG) as reader:
            lsn = reader.lsn
        if lsn != self._lsn:
            self._containers = self._database.every_container()
            self._lsn = lsn

    def _take_up(self) -> None:
        for container in self._containers:
            for split in container.row.splits:
                if split.id not in self._running and len(self._running) < MOST:
                    self._running[split.id] = _Running(self._database, container, split)

    # ---- asking for

    def _look(self) -> None:
        for container in self._containers:
            idle = [place for place in container.row.ranges if not _is_splitting(container, place)]
            for place in idle:
                if self._is_full(place):
                    self._ask(container, place, cut_data, "storage")
            needed = count_needed(self._database, container, self._limits.partition_throughput)
            missing = needed - len(container.row.ranges) - len(container.row.splits)
            if missing > 0 and not container.row.splits and idle:
                widest = max(idle, key=lambda place: measure_range(_within(place), container.key.version))
                self._ask(container, widest, cut_range, "throughput")

    def _is_full(self, place: Range) -> bool:
        measure = getattr(self._engine, "measure", None)  # where files tell at less cost that it cannot be
        try:
            if measure is not None and measure(place.partition).items < self._limits.partition_storage:
                return False
            with self._engine.read(place.partition) as reader:
                size = Header(reader.header).bytes
        except Refusal as refused:
            if refused.kind in STALE:
                return False
            raise
        return bool(size >= max(self._limits.partition_storage, _GROWN * self._lonely.get(place.partition, 0)))

    def _ask(self, container: Container, place: Range, cut: Callable[[Reader, Partition], Cut], reason: str) -> None:
        try:
            found = self._database.plan_split(container, place, cut)
            point = found.point.hex().upper()
            drive(self._engine, self._database.start_split(container, place, point, reason))
        except Refusal as refused:
            if refused.kind is Kind.SPLIT_REFUSED:
                self._note_lonely(container, place, refused)
            elif refused.kind not in STALE and refused.kind not in (Kind.SPLIT_OVER, Kind.SPLIT_RUNS):
                raise
        self._lsn = -1

    def _note_lonely(self, container: Container, place: Range, refused: Refusal) -> None:
        if place.partition not in self._lonely:
            LOG.warning("%s/%s: %s", container.owner.id, container.row.id, refused)
        with self._engine.read(place.partition) as reader:
            self._lonely[place.partition] = Header(reader.header).bytes


def count_needed(database: Database, container: Container, throughput: float) -> int:
    """How many partitions the throughput of a container needs when each serves so much; what is implicit needs none."""
    number = container.row.offer if container.row.offer is not None else container.owner.offer
    offer = None if number is None else database.offer(number)
    alone = offer is None or offer.implicit or container.key.system_key
    return 1 if offer is None or alone else ceil(offer.throughput / throughput)


def _is_splitting(container: Container, place: Range) -> bool:
    return any(split.parent == place.id for split in container.row.splits)


def _within(place: Range) -> EpkRange:
    return read_range(place.low, place.high)


def _moment(database: Database) -> Moment:
    return Moment(database.clock.ticks(), database.entropy(16))
