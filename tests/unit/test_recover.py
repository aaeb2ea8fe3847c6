"""What a start owes to splits that were cut short: seals that nobody goes on with are opened, others are left alone."""

from typing import Any

import pytest

from armillary.clock import Clock
from armillary.container import Container
from armillary.database import STALE, Database
from armillary.errors import Refusal
from armillary.json import dump
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import Commit, Pause, Steps, drive
from armillary.store.catalog import Range, Split, cancel_split
from armillary.store.cuts import cut_range
from armillary.store.header import ONLINE, SEALED, Header, header_state
from armillary.store.items import Draft, Mode
from armillary.store.layout import CATALOG
from armillary.store.splitting import Phase, Splitting
from armillary.store.transaction import Moment

DEFINITION: dict[str, Any] = {"partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}


class Store:
    """One engine and whoever works on it now."""

    def __init__(self) -> None:
        self.engine = MemoryEngine()
        self.outcomes: list[object] = []
        self.start()
        owner = drive(self.engine, self.database.create_database("d", None))
        drive(self.engine, self.database.create_container(owner, "c", "nosql", DEFINITION, None, 2))

    def start(self) -> None:
        self.database = Database(self.engine, Clock(ticks=lambda: 10**15))
        drive(self.engine, self.database.recover())

    @property
    def container(self) -> Container:
        return self.database.container("d", "c")

    def write(self, key: str) -> None:
        item = {"id": "1", "pk": key}
        draft = Draft(dump(item)[:-1], 0, item)
        drive(self.engine, self.database.write_item(self.container, (key,), "1", draft, Mode.UPSERT))

    def seal(self, at: int) -> Split:
        """Split a range up to its seal, and no further."""
        place = self.container.row.ranges[at]
        point = self.database.plan_split(self.container, place, cut_range).point.hex().upper()
        split = drive(self.engine, self.database.start_split(self.container, place, point, "test"))
        splitting = self.go_on(split)
        while splitting.phase is not Phase.REST:
            splitting.step()
        return split

    def go_on(self, split: Split) -> Splitting:
        container = self.container
        return Splitting(self.engine, container.row, split, container.rules, lambda: Moment(10**15, bytes(16)))

    def state(self, at: int) -> int:
        with self.engine.read(self.container.row.ranges[at].partition) as reader:
            return header_state(reader.header)[0]


@pytest.fixture
def store() -> Store:
    return Store()


def test_a_seal_whose_split_was_cancelled_is_opened(store: Store) -> None:
    split = store.seal(0)
    store.engine.write(CATALOG, [cancel_split(store.container.row, split.id)])
    store.start()
    assert store.state(0) != SEALED
    for key in ("a", "b", "c", "d", "e"):
        store.write(key)
    assert store.database.check().complaints == []


def test_a_seal_whose_split_is_recorded_waits_for_the_keeper(store: Store) -> None:
    split = store.seal(0)
    store.start()
    assert store.state(0) == SEALED
    splitting = store.go_on(split)
    while splitting.step() is not Phase.OVER:
        continue
    assert splitting.was_done
    store.database.forget()
    assert len(store.container.row.ranges) == 3


def test_a_sibling_that_is_behind_does_not_stop_a_start(store: Store) -> None:
    first = store.go_on(store.seal(0))
    while first.step() is not Phase.OVER:
        continue
    store.database.forget()
    store.seal(2)  # its siblings have not seen the new map yet
    store.start()
    assert store.state(2) == SEALED


def test_a_new_definition_waits_for_a_seal(store: Store) -> None:
    split = store.seal(0)
    steps = store.database.replace_container(store.container, lambda old: {**old, "defaultTtl": 5}, "")
    changed = drive_beside(store, steps, split)
    assert changed.rules.default_ttl == 5
    store.write("a")
    assert store.database.check().complaints == []


def drive_beside(store: Store, steps: Steps[Container], split: Split) -> Container:
    """Run an operation to its end; while it waits, the split takes a step, with what the catalog says now."""
    sent: object = None
    splitting = store.go_on(split)
    while True:
        try:
            step = steps.send(sent)
        except StopIteration as end:
            changed: Container = end.value
            return changed
        sent = store.engine.write(step.partition, [step.work])[0] if isinstance(step, Commit) else None
        if isinstance(step, Pause) and splitting.phase is not Phase.OVER:
            store.database.forget()
            splitting = store.go_on(split) if splitting.phase is Phase.HOLD else splitting
            splitting.step()


def test_a_deletion_that_was_taken_for_dead_is_not_decided(store: Store) -> None:
    """Its seal was opened by somebody who waited for too long; a split that runs there still needs its log."""
    place = store.container.row.ranges[0]
    point = store.database.plan_split(store.container, place, cut_range).point.hex().upper()
    splitting = store.go_on(drive(store.engine, store.database.start_split(store.container, place, point, "test")))
    splitting.step()
    store.database.forget()
    held = read_header(store, place).held
    deletion = store.database.delete_container(store.container, "")
    for _ in store.container.row.ranges:
        take(store, deletion)
    sealed = read_header(store, place)
    assert (sealed.state, sealed.held > 0) == (SEALED, True)
    store.database.resolve_seal(place.partition, sealed.seal)
    opened = read_header(store, place)
    assert (opened.state, opened.held) == (ONLINE, held)
    with pytest.raises(Refusal) as refused:
        drive(store.engine, rest_of(store, deletion))
    assert refused.value.kind in STALE
    for at in range(2):
        assert store.state(at) == ONLINE
    while splitting.step() is not Phase.OVER:
        continue
    store.database.forget()
    assert len(store.container.row.ranges) == 3
    store.write("a")
    assert store.database.check().complaints == []


def read_header(store: Store, place: Range) -> Header:
    with store.engine.read(place.partition) as reader:
        return Header(reader.header)


def take(store: Store, steps: Steps[None]) -> None:
    """Take a step of an operation, a commit; what came of it waits for the next."""
    sent = store.outcomes.pop() if store.outcomes else None
    step = steps.send(sent)
    assert isinstance(step, Commit)
    store.outcomes.append(store.engine.write(step.partition, [step.work])[0])


def rest_of(store: Store, steps: Steps[None]) -> Steps[None]:
    sent: object = store.outcomes.pop()
    while True:
        sent = yield steps.send(sent)
