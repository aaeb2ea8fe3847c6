"""The keeper's work on the time to live: removes what has expired, and moves the AGE entries after the default ttl.

No request waits for this, so it is never in a hurry: a partition is looked at when its first item expires, and every
few seconds, since an item with a shorter life may come at any time. Containers where nothing expires cost nothing.
"""

from typing import Final

from armillary.clock import TICKS_PER_SECOND
from armillary.container import Container
from armillary.database import STALE, Database
from armillary.errors import Refusal
from armillary.kv.engine import Rejected, Work
from armillary.store.catalog import Range
from armillary.store.expiry import STEP, is_aging, move_aging, next_expiry, remove_expired
from armillary.store.header import header_state
from armillary.store.layout import CATALOG
from armillary.store.transaction import Moment

__all__ = ["Expiry"]

_LOOK_EVERY: Final = 5.0
_STEPS: Final = 10
_AT_ONCE: Final = 0.0


class Expiry:
    """Which partitions have something that expires, and when to look at them next."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._engine = database.engine
        self._clock = database.clock
        self._lsn = -1
        self._watched: dict[bytes, tuple[Container, Range]] = {}
        self._next: dict[bytes, float] = {}

    def run(self) -> float | None:
        """Do what is due; the seconds until the next run, when that should be soon."""
        if not self._database.exists():
            return None
        self._follow_catalog()
        now = self._clock.monotonic()
        hurry = False
        for partition, (container, place) in self._watched.items():
            if self._next[partition] <= now:
                wait = self._tend(container, place)
                self._next[partition] = now + wait
                hurry = hurry or wait == _AT_ONCE
        return _AT_ONCE if hurry else None

    def _follow_catalog(self) -> None:
        with self._engine.read(CATALOG) as reader:
            lsn = reader.lsn
        if lsn == self._lsn:
            return
        containers = self._database.every_container()
        watched = [(found, place) for found in containers for place in found.row.ranges if self._expires(found, place)]
        self._watched = {place.partition: (found, place) for found, place in watched}
        self._next = {partition: self._next.get(partition, 0.0) for partition in self._watched}
        self._lsn = lsn

    def _expires(self, container: Container, place: Range) -> bool:
        if container.rules.default_ttl is not None:
            return True
        try:
            with self._engine.read(place.partition) as reader:
                return _is_moving(reader.header, container)
        except Refusal as refused:
            if refused.kind in STALE:
                return False  # dropped meanwhile
            raise

    def _tend(self, container: Container, place: Range) -> float:
        """Take a few steps in one partition; the seconds until it wants the next."""
        rules, partition = container.rules, place.partition
        try:
            with self._engine.read(partition) as reader:
                moving = _is_moving(reader.header, container)
                due = next_expiry(reader, rules)
        except Refusal as refused:
            if refused.kind in STALE:
                return _LOOK_EVERY  # dropped meanwhile; the catalog will say so
            raise
        if moving:
            return _AT_ONCE if self._step(partition, move_aging(partition, rules, self._moment())) else _LOOK_EVERY
        now = self._clock.ticks()
        if due is None or due > now:
            return _LOOK_EVERY if due is None else min(_LOOK_EVERY, (due - now) / TICKS_PER_SECOND)
        for _ in range(_STEPS):
            if self._step(partition, remove_expired(partition, rules, self._moment())) != STEP:
                return _LOOK_EVERY
        return _AT_ONCE

    def _step(self, partition: bytes, work: Work) -> object:
        outcome = self._engine.write(partition, [work])[0]
        if isinstance(outcome, Rejected):
            if isinstance(outcome.error, Refusal) and outcome.error.kind in STALE:
                self._lsn = -1
                return 0
            raise outcome.error
        return outcome.result

    def _moment(self) -> Moment:
        return Moment(self._clock.ticks(), bytes(16))


def _is_moving(header: bytes, container: Container) -> bool:
    """Whether AGE entries are to be moved, now or as soon as the partition follows its container's version."""
    return is_aging(header) or header_state(header)[1] < container.rules.version
