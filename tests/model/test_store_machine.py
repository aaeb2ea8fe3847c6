"""The store against a model that knows nothing of keys, logs or expiry entries: a dict of items and a clock.

Random writes, deletions, conditions, changes of the default ttl and of the time, the keeper's steps and restarts; after
every step the answers are the model's, and `check` finds nothing wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.container import Container
from armillary.database import Database, Read, Wrote
from armillary.errors import Kind, Refusal
from armillary.json import dump, load
from armillary.keys.ranges import EVERYTHING
from armillary.kv.engine import Applied, Work
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import drive
from armillary.store.expiry import is_aging, move_aging, next_expiry, remove_expired
from armillary.store.items import Condition, Draft, Mode, etag_text
from armillary.store.reading import scope_of
from armillary.store.transaction import Moment

T = TypeVar("T")
IDS = st.sampled_from(["a", "b", "c", "é" * 300])
KEYS = st.sampled_from(["k", "l", 1, "long" * 100])
MARKS = st.integers(0, 3)
TTLS = st.sampled_from([0, 0, -1, 2, 5])
DEFAULTS = st.sampled_from([None, -1, 3, 10])
PAGES = st.integers(1, 3)
DEFINITION: dict[str, Any] = {
    "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
    "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/mark"]}]},
}


@dataclass
class Known:
    """An item of the model."""

    mark: int
    ttl: int
    written: int
    etag: str


@dataclass
class Model:
    """What the machine believes."""

    ticks: int = 10**15
    default: int | None = None
    items: dict[tuple[object, str], Known] = field(default_factory=dict)

    def alive(self, key: object, name: str) -> Known | None:
        known = self.items.get((key, name))
        if known is None or self.default is None:
            return known
        ttl = self.default if known.ttl == 0 else known.ttl
        return known if ttl < 0 or self.ticks < known.written + ttl * TICKS_PER_SECOND else None

    def clash(self, key: object, name: str, mark: int) -> bool:
        others = [other for other in self.items if other[0] == key and other[1] != name]
        return any((known := self.alive(*other)) is not None and known.mark == mark for other in others)


def attempt(call: Callable[[], T]) -> T | Kind:
    """What it returns, or why it was refused."""
    try:
        return call()
    except Refusal as refused:
        return refused.kind


class StoreMachine(RuleBasedStateMachine):
    """One container with a unique key."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.engine = MemoryEngine()
        self.salt = 0

    @initialize(default=DEFAULTS)
    def make(self, default: int | None) -> None:
        self.database = Database(self.engine, Clock(ticks=lambda: self.model.ticks), self.entropy)
        drive(self.engine, self.database.recover())
        owner = drive(self.engine, self.database.create_database("db", None))
        self.model.default = default
        drive(self.engine, self.database.create_container(owner, "c", "nosql", self.definition(), None))

    def entropy(self, size: int) -> bytes:
        self.salt += 1
        return self.salt.to_bytes(8, "big") + bytes(size - 8)

    def definition(self) -> dict[str, Any]:
        return DEFINITION if self.model.default is None else {**DEFINITION, "defaultTtl": self.model.default}

    @property
    def container(self) -> Container:
        return self.database.container("db", "c")

    @rule(key=KEYS, name=IDS, mark=MARKS, ttl=TTLS, mode=st.sampled_from(Mode), stale=st.booleans())
    def write(self, key: Any, name: str, mark: int, ttl: int, mode: Mode, stale: bool) -> None:
        self.model.ticks += 1
        before = self.model.alive(key, name)
        item = {"id": name, "pk": key, "mark": mark}
        draft = Draft(dump(item)[:-1], ttl, item)
        condition = Condition(match="none" if stale else before.etag if before else "")
        expected = None
        if before is not None and mode is Mode.CREATE:
            expected = Kind.ETAG_MISMATCH if stale else Kind.ITEM_EXISTS
        elif before is None and mode is Mode.REPLACE:
            expected = Kind.ITEM_MISSING
        elif stale and (before is not None or mode is Mode.UPSERT):
            expected = Kind.ETAG_MISMATCH
        elif self.model.clash(key, name, mark):
            expected = Kind.UNIQUE_CLASH
        steps = self.database.write_item(self.container, (key,), name, draft, mode, condition)
        wrote = attempt(lambda: drive(self.engine, steps))
        if not isinstance(wrote, Wrote):
            assert wrote is expected
            return
        assert expected is None
        envelope = wrote.written.item.envelope
        assert wrote.written.created == (before is None)
        assert envelope.time > (before.written if before else 0)
        self.model.items[key, name] = Known(mark, ttl, envelope.time, etag_text(envelope.etag))

    @rule(key=KEYS, name=IDS)
    def delete(self, key: Any, name: str) -> None:
        done = attempt(lambda: drive(self.engine, self.database.delete_item(self.container, (key,), name)))
        if isinstance(done, Wrote):
            assert self.model.alive(key, name) is not None
            del self.model.items[key, name]
        else:
            assert done is Kind.ITEM_MISSING
            assert self.model.alive(key, name) is None

    @rule(key=KEYS, name=IDS)
    def read(self, key: Any, name: str) -> None:
        known = self.model.alive(key, name)
        found = attempt(lambda: self.database.read_item(self.container, (key,), name))
        if isinstance(found, Read):
            assert known is not None
            assert load(found.item.body)["mark"] == known.mark
            assert load(found.item.body)["_etag"] == f'"{known.etag}"'
        else:
            assert found is Kind.ITEM_MISSING
            assert known is None

    @rule(seconds=st.sampled_from([-1, 0.5, 1, 3, 20]))
    def wait(self, seconds: float) -> None:
        self.model.ticks += int(seconds * TICKS_PER_SECOND)

    @rule(default=DEFAULTS)
    def change_default(self, default: int | None) -> None:
        self.model.default = default
        drive(self.engine, self.database.replace_container(self.container, lambda _: self.definition(), ""))

    @rule()
    def remove_expired(self) -> None:
        """After the keeper's step nothing is left that may expire now."""
        place, rules = self.container.row.ranges[0], self.container.rules
        self.step(remove_expired(place.partition, rules, self.moment()))
        with self.engine.read(place.partition) as reader:
            due = next_expiry(reader, rules)
            if not is_aging(reader.header):
                assert due is None or due > self.model.ticks

    @rule()
    def move_aging(self) -> None:
        place = self.container.row.ranges[0]
        self.step(move_aging(place.partition, self.container.rules, self.moment()))

    @rule()
    def restart(self) -> None:
        self.database = Database(self.engine, self.database.clock, self.entropy)
        assert drive(self.engine, self.database.recover()) == []

    def step(self, work: Work) -> None:
        assert isinstance(self.engine.write(self.container.row.ranges[0].partition, [work])[0], Applied)

    def moment(self) -> Moment:
        return Moment(self.model.ticks, self.entropy(16))

    @rule(page=PAGES)
    def read_feed(self, page: int) -> None:
        """Every item that is there comes once, whatever the size of the pages."""
        found = []
        scope = scope_of(EVERYTHING)
        while True:
            feed = self.database.read_feed(self.container, scope, (page, 1 << 20))
            found += [(load(item.body)["pk"], load(item.body)["id"]) for item in feed.page.items]
            if not feed.page.next:
                break
            scope = scope._replace(start=feed.page.next)
        assert sorted(found, key=str) == sorted((each for each in self.model.items if self.model.alive(*each)), key=str)

    @rule(page=PAGES)
    def read_changes(self, page: int) -> None:
        """Every item that is there comes once, in the order of LSNs."""
        position, found, lsns = 0, [], []
        while True:
            feed = self.database.read_changes(self.container, scope_of(EVERYTHING), position, 0, (page, 1 << 20))
            found += [(load(item.body)["pk"], load(item.body)["id"]) for item in feed.changes.items]
            lsns += [item.envelope.lsn for item in feed.changes.items]
            position = feed.changes.position
            if not feed.changes.more:
                break
        assert lsns == sorted(set(lsns))
        assert position == feed.lsn
        assert sorted(found, key=str) == sorted((each for each in self.model.items if self.model.alive(*each)), key=str)

    @invariant()
    def nothing_is_wrong(self) -> None:
        if hasattr(self, "database"):
            assert self.database.check().complaints == []


TestStore = pytest.mark.filterwarnings("ignore")(StoreMachine.TestCase)
TestStore.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
