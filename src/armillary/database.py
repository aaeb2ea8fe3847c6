"""The one door: every API reads and writes through a `Database`, and everything it needs is handed to it.

It finds databases and containers, routes an operation to the partition of its key, turns it into a read or into one
work, and prices it. What commits or makes files is a generator of steps (`kv.steps`); what only reads is a plain call.

The law of stale knowledge: what this process knows of a container may be old, and every operation finds that out in the
partition's own header, inside its own transaction. Then it is refused with one of `STALE`; whoever called it forgets
the container, looks again and repeats the whole operation.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from armillary.admission import Admission, Ticket
from armillary.answers import NO_SESSION, ChangeFeed, Feed, Read, Report, Session, Wrote
from armillary.budget import PLAIN, Wish
from armillary.clock import Clock
from armillary.container import Container, compile_container
from armillary.errors import Kind, Refusal
from armillary.keys.ranges import divide_space, read_range
from armillary.kv.engine import Applied, Changes, Engine, Outcome, Reader, Rejected, Unknown, View, Work
from armillary.kv.steps import Block, Commit, Steps
from armillary.store import catalog
from armillary.store.catalog import ContainerRow, DatabaseRow, OfferRow, Range, Split, Stamp, partitions_of
from armillary.store.check import Subject, check_partition, check_ranges, find_orphans
from armillary.store.cuts import Cut, Partition
from armillary.store.feed import find_start, read_changes
from armillary.store.header import (
    FILLING,
    GONE,
    ONLINE,
    SEALED,
    Header,
    header_glance,
    header_state,
    new_header,
)
from armillary.store.items import (
    NO_CONDITION,
    Condition,
    Draft,
    Edit,
    Mode,
    Place,
    Written,
    apply_changes,
    delete_item,
    put_item,
)
from armillary.store.layout import CATALOG, ITEM, LOGICAL
from armillary.store.places import find_place, logical_code
from armillary.store.reading import Scope, find_id, read_item, read_stretch, scope_of
from armillary.store.rules import first_aging
from armillary.store.splitting import SealWatch, resolve_seal
from armillary.store.transaction import Moment, Transaction, check_header
from armillary.units import price_feed, price_read, price_write
from armillary.values import KeyValue

__all__ = [
    "NO_SESSION",
    "STALE",
    "ChangeFeed",
    "Container",
    "Database",
    "Feed",
    "Read",
    "Report",
    "Wrote",
    "compile_container",
]

STALE: Final = frozenset((Kind.PARTITION_MISSING, Kind.PARTITION_CLOSED, Kind.DEFINITION_NEWER))
_SETTLE_TRIES: Final = 5


class Database:
    """An account: all databases of one engine."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        entropy: Callable[[int], bytes] = os.urandom,
        admission: Admission | None = None,
    ) -> None:
        self.engine = engine
        self.clock = clock
        self.entropy = entropy
        self.admission = admission or Admission(engine)
        self.admission.on_change = self.forget
        self.limits = self.admission.options.limits
        self._compile = partial(compile_container, limits=self.limits)
        self._containers: dict[tuple[str, str], Container] = {}

    def exists(self) -> bool:
        """Whether this store was ever used; until then only `recover` may be called."""
        return CATALOG in self.engine.partitions()

    # ---- databases and offers

    def database(self, segment: str) -> DatabaseRow:
        """A database by its rid or its name."""
        with self.engine.read(CATALOG) as reader:
            return _must_find(reader, segment)

    def databases(self, after: int, limit: int) -> list[DatabaseRow]:
        """Databases in the order they were made, behind a number."""
        with self.engine.read(CATALOG) as reader:
            return _take(catalog.list_databases(reader, after), limit)

    def create_database(self, name: str, offer: OfferRow | None) -> Steps[DatabaseRow]:
        row: DatabaseRow = (yield from self._change(catalog.create_database(name, offer, self._moment()))).result
        return row

    def delete_database(self, row: DatabaseRow, condition: str) -> Steps[None]:
        removed = (yield from self._change(catalog.delete_database(row, condition))).result
        yield from self._drop(removed.partitions)

    def offer(self, number: int) -> OfferRow | None:
        with self.engine.read(CATALOG) as reader:
            return catalog.find_offer(reader, number)

    def offers(self, after: int, limit: int) -> list[OfferRow]:
        with self.engine.read(CATALOG) as reader:
            return _take(catalog.list_offers(reader, after), limit)

    def replace_offer(self, offer: OfferRow, condition: str) -> Steps[OfferRow]:
        row: OfferRow = (yield from self._change(catalog.replace_offer(offer, condition, self._moment()))).result
        return row

    # ---- containers

    def container(self, database: str, segment: str) -> Container:
        """A container by the rids or names of it and its database; remembered until it is found to be stale."""
        known = self._containers.get((database, segment))
        if known is None:
            with self.engine.read(CATALOG) as reader:
                owner = _must_find(reader, database)
                row = catalog.find_container(reader, owner, segment)
            if row is None:
                raise Refusal(Kind.CONTAINER_MISSING, name=segment)
            known = self._compile(row, owner)
            self._containers[(database, segment)] = known
        return known

    def containers(self, owner: DatabaseRow, after: int, limit: int) -> list[ContainerRow]:
        with self.engine.read(CATALOG) as reader:
            return _take(catalog.list_containers(reader, owner.number, after), limit)

    def forget(self) -> None:
        """Look at the catalog again for every container and its offer."""
        self._containers.clear()
        self.admission.forget()

    def create_container(
        self,
        owner: DatabaseRow,
        name: str,
        api: str,
        definition: dict[str, Any],
        offer: OfferRow | None,
        parts: int = 1,
    ) -> Steps[Container]:
        """Make the partitions, then let the catalog name them. A system key has one: its items are one key's."""
        with self.engine.read(CATALOG) as reader:
            if catalog.find_container(reader, owner, name) is not None:
                raise Refusal(Kind.CONTAINER_EXISTS, name=name)
        draft = ContainerRow(owner.number, 0, name, api, definition, 1, 1, (), Stamp("", 0))
        compiled = self._compile(draft, owner)
        rules = compiled.rules
        bounds = divide_space(1 if compiled.key.system_key else parts, compiled.key.version)
        ranges = tuple(Range(str(at), *bound.texts, self.entropy(16), at) for at, bound in enumerate(bounds))
        for place in ranges:
            header = new_header(place.birth, rules.version, first_aging(rules))
            yield Block(partial(self.engine.create, place.partition, header))
        draft = ContainerRow(owner.number, 0, name, api, definition, 1, len(ranges), ranges, Stamp("", 0))
        row = yield from self._name(ranges, catalog.create_container(draft, offer, self._moment()))
        return self._compile(row, owner)

    def replace_container(self, container: Container, definition: dict[str, Any], condition: str) -> Steps[Container]:
        """Store the new version, then let every partition follow it before this is answered."""
        work = catalog.replace_container(container.row, definition, condition, self._moment())
        changed = self._compile((yield from self._change(work)).result, container.owner)
        yield from self.follow(changed)
        return changed

    def follow(self, container: Container) -> Steps[None]:
        """Let the partitions of a container follow its version; one that is sealed, as soon as it is open again."""
        watch = SealWatch(self.clock, partial(self.resolve_seal, container))
        for place in container.row.ranges:
            while True:
                seal = yield from self._follow_partition(container, place)
                if not seal or not self._is_named(container, place):
                    break
                yield from watch.wait(seal)

    def _follow_partition(self, container: Container, place: Range) -> Steps[bytes]:
        """The seal that it meets, if any. One that was split or dropped has nothing to follow any more."""
        moment = self._moment()

        def work(view: View) -> Changes:
            return apply_changes(Transaction(view, place.partition, container.rules, moment), None)

        try:
            yield from self._commit(place.partition, work)
        except Refusal as refused:
            if refused.kind not in STALE:
                raise
            seal = refused.context.get("seal")
            return seal if isinstance(seal, bytes) else b""
        return b""

    def usage(self, container: Container) -> list[tuple[Range, int, int]]:
        """How many items each range of a container holds, and their bytes."""
        usage = []
        for place in container.row.ranges:
            with self.engine.read(place.partition) as reader:
                header = Header(reader.header)
            usage.append((place, header.items, header.bytes))
        return usage

    def delete_container(self, container: Container, condition: str) -> Steps[None]:
        removed = (yield from self._change(catalog.delete_container(container.row, condition))).result
        yield from self._drop(removed.partitions)

    # ---- splits

    def plan_split(self, container: Container, place: Range, cut: Callable[[Reader, Partition], Cut]) -> Cut:
        """Where a range would be cut, and what would lie on each side."""
        with self.engine.read(place.partition) as reader:
            return cut(reader, Partition(container.key, read_range(place.low, place.high), place.id))

    def start_split(self, container: Container, place: Range, point: str, reason: str) -> Steps[Split]:
        """Prepare a split of a range at an effective key: make the children, then record it. The keeper takes it up."""
        row = container.row
        parents = (*place.parents, place.id)
        births = (row.births, row.births + 1)
        bounds = ((place.low, point), (point, place.high))
        children = tuple(
            Range(str(birth), *bound, self.entropy(16), birth, parents)
            for birth, bound in zip(births, bounds, strict=True)
        )
        for child in children:
            header = new_header(child.birth, container.rules.version, first_aging(container.rules), FILLING)
            yield Block(partial(self.engine.create, child.partition, header))
        split = Split(self.entropy(16).hex(), place.id, children, reason)
        yield from self._name(children, catalog.start_split(row, split))
        return split

    def resolve_seal(self, container: Container, seal: bytes) -> None:
        """See to it that a seal which nobody goes on with does not stay."""
        resolve_seal(self.engine, container.row, seal)
        self.forget()

    # ---- items

    def enter(
        self,
        container: Container,
        place: Range,
        wish: Wish = PLAIN,
        key: bytes | None = None,
        values: Sequence[KeyValue] = (),
    ) -> Ticket:
        """Admit an operation on one partition, or one page of a long one; whoever gets the ticket charges it."""
        return self.admission.gate(container.row, container.owner, place).admit(wish, key, values)

    def read_item(
        self,
        container: Container,
        values: Sequence[KeyValue],
        name: str,
        session: Session = NO_SESSION,
        factor: float = 1.0,
        wish: Wish = PLAIN,
    ) -> Read:
        """A point read; `session` tells the LSN that the caller has seen of a range."""
        spot = find_place(container.key, values, name)
        place = self.route(container, spot.item)
        ticket = self.enter(container, place, wish, spot.logical, values)
        with self.engine.read(place.partition) as reader:
            lsn = self._check_reader(reader, container, place, session, ticket)
            item = read_item(reader, spot, container.rules, self.clock.ticks())
        if item is None:
            raise ticket.refuse(Refusal(Kind.ITEM_MISSING, id=name, lsn=lsn, place=place))
        size = len(item.body)
        charge = price_read(size, factor)
        ticket.charge(charge, size)
        return Read(item, place, lsn, charge, ticket.drawn)

    def write_item(
        self,
        container: Container,
        values: Sequence[KeyValue],
        name: str,
        draft: Draft | Edit,
        mode: Mode,
        condition: Condition = NO_CONDITION,
        wish: Wish = PLAIN,
    ) -> Steps[Wrote]:
        spot = find_place(container.key, values, name)

        def change(tx: Transaction) -> Written:
            return put_item(tx, spot, draft, mode, condition)

        wrote = yield from self._write(container, spot, values, wish, change)
        return wrote

    def delete_item(
        self,
        container: Container,
        values: Sequence[KeyValue],
        name: str,
        condition: Condition = NO_CONDITION,
        wish: Wish = PLAIN,
    ) -> Steps[Wrote]:
        spot = find_place(container.key, values, name)

        def change(tx: Transaction) -> Written:
            return delete_item(tx, spot, condition)

        wrote = yield from self._write(container, spot, values, wish, change)
        return wrote

    def _write(
        self,
        container: Container,
        spot: Place,
        values: Sequence[KeyValue],
        wish: Wish,
        change: Callable[[Transaction], Written],
    ) -> Steps[Wrote]:
        place = self.route(container, spot.item)
        ticket = self.enter(container, place, wish, spot.logical, values)
        partition, rules, moment = place.partition, container.rules, self._moment()

        def work(view: View) -> Changes:
            tx = Transaction(view, partition, rules, moment)
            return apply_changes(tx, change(tx))

        written: Written = (yield from self._commit(partition, work, ticket)).result
        size = len(written.item.body)
        charge = price_write(size, written.old_size)
        ticket.charge(charge, size)
        return Wrote(written, place, written.lsn, charge, ticket.drawn)

    def id_of(self, container: Container, values: Sequence[KeyValue], number: int) -> str | None:
        """The id of the item that has this number, the last part of its rid."""
        scope = self.scope(container, values)
        with self.engine.read(self.route(container, scope.start).partition) as reader:
            return find_id(reader, number, scope)

    def scope(self, container: Container, values: Sequence[KeyValue]) -> Scope:
        """The items of one logical partition, or of all that begin with a prefix of a hierarchical key."""
        if not container.key.is_complete(values):
            return scope_of(container.key.range_of(values))
        code = logical_code(container.key, values)[0]
        return Scope(ITEM + code, ITEM + code + b"\xff", LOGICAL + code, values)

    def read_feed(
        self,
        container: Container,
        scope: Scope,
        limits: tuple[int, int],
        session: Session = NO_SESSION,
        factor: float = 1.0,
        wish: Wish = PLAIN,
    ) -> Feed:
        """A page of the items of a scope; `limits` are items and bytes. Ranges with nothing in them are passed over.

        Each range that is looked into is admitted and charged by itself. Where one refuses behind others that were
        empty, the page ends before it, empty too: what was done so far is not thrown away.
        """
        total = 0.0
        start = scope.start
        done: Feed | None = None
        while True:
            place, end = self._route_scope(container, start)
            try:
                ticket = self.enter(container, place, wish, scope.key, scope.values)
            except Refusal:
                if done is None:
                    raise
                return done
            with self.engine.read(place.partition) as reader:
                lsn = self._check_reader(reader, container, place, session, ticket)
                page = read_stretch(reader, start, min(end, scope.stop), container.rules, self.clock.ticks(), limits)
            charge = price_feed(len(page.items), page.size, factor=factor)
            ticket.charge(charge, page.size)
            total += charge
            if not page.next and end < scope.stop:
                page = page._replace(next=end)
            done = Feed(page, place, lsn, round(total, 2), ticket.drawn)
            if page.items or not page.next:
                return done
            start = page.next

    def read_changes(
        self,
        container: Container,
        scope: Scope,
        start: int | None,
        since: int,
        limits: tuple[int, int],
        wish: Wish = PLAIN,
    ) -> ChangeFeed:
        """What changed among the items of a scope, in one partition: behind a position, since a moment in ticks when
        that is positive, or from now on when the start is None.
        """
        place = self.route(container, scope.start)
        ticket = self.enter(container, place, wish, scope.key, scope.values)
        with self.engine.read(place.partition) as reader:
            lsn = self._check_reader(reader, container, place, NO_SESSION, ticket)
            if start is None:
                start = lsn
            elif since:
                start = find_start(reader, since)
            changes = read_changes(reader, scope, start, container.rules, self.clock.ticks(), limits)
        charge = price_feed(len(changes.items), changes.size)
        ticket.charge(charge, changes.size)
        return ChangeFeed(changes, place, lsn, charge, ticket.drawn)

    def route(self, container: Container, key: bytes) -> Range:
        """The range that an item key falls into."""
        return self._route_scope(container, key)[0]

    def _route_scope(self, container: Container, key: bytes) -> tuple[Range, bytes]:
        """The same, and the item key at which the range ends."""
        bounds = container.bounds
        at = bisect_right(bounds, key) - 1 if len(bounds) > 2 else 0
        return container.row.ranges[at], bounds[at + 1]

    # ---- the whole

    def recover(self) -> Steps[list[bytes]]:
        """What a start owes: the catalog of a new store, and after a stop that was cut short, partitions that nobody
        names go, versions are followed, and seals of splits that were cancelled are opened. Nothing else may work on
        the store meanwhile.
        """
        if not self.exists():
            yield Block(partial(catalog.make_catalog, self.engine))
        with self.engine.read(CATALOG) as reader:
            containers = list(catalog.list_containers(reader))
            owners = {row.number: row for row in catalog.list_databases(reader)}
        orphans = find_orphans(self.engine, {partition for row in containers for partition in partitions_of(row)})
        for row in containers:
            container = self._compile(row, owners[row.database])
            for place in row.ranges:
                if self._is_behind(place, container):
                    seal = yield from self._follow_partition(container, place)
                    if seal and all(split.id != seal.hex() for split in row.splits):
                        yield Block(partial(self.resolve_seal, container, seal))
        for orphan in orphans:
            yield Block(partial(self.engine.drop, orphan))
        return orphans

    def every_container(self) -> list[Container]:
        if not self.exists():
            return []
        with self.engine.read(CATALOG) as reader:
            owners = {row.number: row for row in catalog.list_databases(reader)}
            return [self._compile(row, owners[row.database]) for row in catalog.list_containers(reader)]

    def check(self) -> Report:
        """Walk everything that is stored."""
        containers = self.every_container()
        complaints: list[str] = []
        items = 0
        named: set[bytes] = set()
        exist = set(self.engine.partitions())
        for container in containers:
            name = f"{container.owner.id}/{container.row.id}"
            complaints += check_ranges(name, list(container.ranges))
            named.update(partitions_of(container.row))
            for place, bounds in zip(container.row.ranges, container.ranges, strict=True):
                where = f"{name} range {place.id} ({place.partition.hex()})"
                if place.partition not in exist:
                    complaints.append(f"{where}: the partition does not exist")
                    continue
                subject = Subject(where, place.partition, place.birth, bounds, container.key, container.rules)
                complaints += check_partition(self.engine, subject)
                with self.engine.read(place.partition) as reader:
                    items += Header(reader.header).items
        notes = [f"partition {orphan.hex()} is named by nobody" for orphan in find_orphans(self.engine, named)]
        return Report(len(containers), len(named), items, complaints, notes)

    # ---- the ways down

    def _check_reader(
        self, reader: Reader, container: Container, place: Range, session: Session, ticket: Ticket
    ) -> int:
        """Whether this partition may be read for this container, and by a caller who has seen so much; its LSN.

        A sealed one is the latest there is until the catalog names others: looked up after the snapshot was taken.
        """
        raw = reader.header
        state, version, base = header_glance(raw)
        if state != ONLINE and (state != SEALED or not self._is_named(container, place)):
            check_header(raw, place.partition, container.rules.version)
        if version > container.rules.version:
            check_header(raw, place.partition, container.rules.version)
        lsn = reader.lsn + base
        asked = session(place)
        if lsn < asked:
            raise ticket.refuse(Refusal(Kind.SESSION_AHEAD, asked=asked, lsn=lsn, place=place))
        return lsn

    def _is_named(self, container: Container, place: Range) -> bool:
        with self.engine.read(CATALOG) as reader:
            row = catalog.get_container(reader, container.row.database, container.row.number)
        return row is not None and place in row.ranges

    def _moment(self) -> Moment:
        return Moment(self.clock.ticks(), self.entropy(16))

    def _change(self, work: Work) -> Steps[Applied]:
        """Change the catalog; what is known of containers is old from then on."""
        done = yield from self._commit(CATALOG, work)
        self.forget()
        return done

    def _name(self, made: Sequence[Range], work: Work) -> Steps[Any]:
        """Let the catalog name partitions that were just made; where it refuses, they go again."""
        try:
            return (yield from self._change(work)).result
        except Refusal as refused:
            if refused.kind is not Kind.OUTCOME_UNKNOWN:
                yield from self._drop([place.partition for place in made])
            raise

    def _commit(self, partition: bytes, work: Work, ticket: Ticket | None = None) -> Steps[Applied]:
        """Commit a work; where it is refused, its ticket is charged for finding that out."""
        outcome: Outcome = yield Commit(partition, work)
        for _ in range(_SETTLE_TRIES):
            if not isinstance(outcome, Unknown):
                break
            outcome = yield Block(partial(self.engine.settle, partition, outcome))
        if isinstance(outcome, Rejected):
            if ticket is not None and isinstance(outcome.error, Refusal):
                raise ticket.refuse(outcome.error)
            raise outcome.error
        if isinstance(outcome, Unknown):
            raise Refusal(Kind.OUTCOME_UNKNOWN)
        return outcome

    def _drop(self, partitions: Sequence[bytes]) -> Steps[None]:
        """Close partitions to everybody who still knows them, then remove them."""
        for partition in partitions:
            yield from self._commit(partition, _close)
            yield Block(partial(self.engine.drop, partition))

    def _is_behind(self, place: Range, container: Container) -> bool:
        """Whether a partition has to follow its container, or cannot now."""
        with self.engine.read(place.partition) as reader:
            state, version = header_state(reader.header)
        return state == SEALED or version < container.rules.version


def _close(view: View) -> Changes:
    header = Header(view.header)
    header.state = GONE
    return Changes({}, header.pack())


def _must_find(reader: Reader, segment: str) -> DatabaseRow:
    row = catalog.find_database(reader, segment)
    if row is None:
        raise Refusal(Kind.DATABASE_MISSING, name=segment)
    return row


def _take(rows: Any, limit: int) -> list[Any]:
    return [row for row, _ in zip(rows, range(limit), strict=False)]
