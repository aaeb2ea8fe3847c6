"""The one door: every API reads and writes through a `Database`, and everything it needs is handed to it.

It finds databases and containers, routes an operation to the partition of its key, turns it into a read or into one
work, and prices it. What commits or makes files is a generator of steps (`kv.steps`); what only reads is a plain call.

The law of stale knowledge: what this process remembers of a container may be old. An operation on items finds that out
in the partition's own header, inside its own transaction, and is refused with one of `STALE`; whoever called it forgets
the container, looks again and repeats the whole operation. What comes to no header, a refusal or an answer about the
container itself, is what the catalog says: see `look_up` and `is_current`.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from armillary.admission import Admission, Ticket
from armillary.answers import NO_SESSION, ChangeFeed, Feed, Read, Session, Wrote
from armillary.budget import PLAIN, Wish
from armillary.clock import Clock
from armillary.container import Container, compile_container
from armillary.errors import Kind, Refusal
from armillary.keys.ranges import divide_space, read_range
from armillary.kv.engine import Applied, Changes, Engine, Outcome, Reader, Rejected, Unknown, View, Work
from armillary.kv.steps import Block, Commit, Steps
from armillary.store import catalog
from armillary.store.catalog import (
    ContainerRow,
    DatabaseRow,
    OfferRow,
    Range,
    Redefine,
    Sealed,
    Split,
    Stamp,
    partitions_of,
)
from armillary.store.check import Findings, Report, check_container, find_orphans
from armillary.store.cuts import Cut, Partition
from armillary.store.feed import find_start, read_changes
from armillary.store.header import (
    FILLING,
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
from armillary.store.layout import CATALOG
from armillary.store.places import find_place
from armillary.store.reading import Scope, find_id, read_item, read_stretch
from armillary.store.rules import first_aging
from armillary.store.split import seal
from armillary.store.splitting import SealWatch, open_again, resolve_seal
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
            return catalog.must_find_database(reader, segment)

    def databases(self, after: int, limit: int) -> list[DatabaseRow]:
        """Databases in the order they were made, behind a number."""
        with self.engine.read(CATALOG) as reader:
            return _take(catalog.list_databases(reader, after), limit)

    def create_database(self, name: str, offer: OfferRow | None) -> Steps[DatabaseRow]:
        row: DatabaseRow = (yield from self._change(catalog.create_database(name, offer, self._moment()))).result
        return row

    def delete_database(self, row: DatabaseRow, condition: str) -> Steps[None]:
        catalog.check_etag(row.stamp, condition)
        with self.engine.read(CATALOG) as reader:
            containers = [self._compile(found, row) for found in catalog.list_containers(reader, row.number)]
        yield from self._remove(containers, partial(catalog.delete_database, row, condition))

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
        return self.look_up(database, segment) if known is None else known

    def look_up(self, database: str, segment: str) -> Container:
        """The same as the catalog has it now, for whatever is about the container and not about its items."""
        with self.engine.read(CATALOG) as reader:
            owner = catalog.must_find_database(reader, database)
            row = catalog.find_container(reader, owner, segment)
        if row is None:
            raise Refusal(Kind.CONTAINER_MISSING, name=segment)
        known = self._containers.get((database, segment))
        if known is None or (known.row, known.owner) != (row, owner):
            known = self._containers[database, segment] = self._compile(row, owner)
        return known

    def is_current(self, container: Container) -> bool:
        """Whether the catalog has this container, and this version of it."""
        return self._find_row(container) == container.row

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

    def replace_container(self, container: Container, redefine: Redefine, condition: str) -> Steps[Container]:
        """Store the new version, then let every partition follow it before this is answered."""
        work = catalog.replace_container(container.row, redefine, condition, self._moment())
        changed = self._compile((yield from self._change(work)).result, container.owner)
        yield from self.follow(changed)
        return changed

    def follow(self, container: Container) -> Steps[None]:
        """Let the partitions of a container follow its version; one that is sealed, as soon as it is open again."""
        for place in container.row.ranges:
            watch = SealWatch(self.clock, partial(self.resolve_seal, place.partition))
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
        """How many items each range of a container holds, and their bytes, in the partitions it has now."""
        row = self._find_row(container)
        usage = []
        for place in row.ranges if row is not None else ():
            try:
                with self.engine.read(place.partition) as reader:
                    header = Header(reader.header)
            except Refusal as refused:
                if refused.kind not in STALE:
                    raise
                continue  # dropped since
            usage.append((place, header.items, header.bytes))
        return usage

    def delete_container(self, container: Container, condition: str) -> Steps[None]:
        catalog.check_etag(container.row.stamp, condition)
        yield from self._remove([container], partial(catalog.delete_container, container.row, condition))

    def _remove(self, containers: Sequence[Container], decide: Callable[[Sealed], Work]) -> Steps[None]:
        """Seal all partitions, let the catalog decide, then drop them.

        Without seals, a process that remembers a container would write to it after the catalog has forgotten it, and
        for ever if this one dies then. Whoever meets such a seal looks at the catalog, as at a split's; whoever takes
        this process for dead opens it, and the catalog then refuses.
        """
        name = self.entropy(16)
        sealed = {container.row.number: container.row.version for container in containers}
        try:
            for container in containers:
                for place in container.row.ranges:
                    work = seal(place.partition, container.rules, self._moment(), name)
                    yield from self._commit(place.partition, work)
            removed: catalog.Removed = (yield from self._change(decide(sealed))).result
        except Refusal as refused:
            for container in containers if refused.kind is not Kind.OUTCOME_UNKNOWN else ():
                yield Block(partial(open_again, self.engine, container.row, name))
            raise
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

    def resolve_seal(self, partition: bytes, name: bytes) -> None:
        """See to it that a seal which nobody goes on with does not stay."""
        with self.engine.read(CATALOG) as reader:
            rows = [row for row in catalog.list_containers(reader) if partition in partitions_of(row)]
        for row in rows:
            resolve_seal(self.engine, row, name)
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
        place = container.route(spot.item)
        ticket = self.enter(container, place, wish, spot.logical, values)
        with self.engine.read(place.partition) as reader:
            lsn = self.check_reader(reader, container, place, session, ticket)
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
        place = container.route(spot.item)
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
        scope = container.scope(values)
        place = container.route(scope.start)
        with self.engine.read(place.partition) as reader:
            self._look_at(reader, container, place)
            return find_id(reader, number, scope)

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
            place, end = container.find_range(start)
            try:
                ticket = self.enter(container, place, wish, scope.key, scope.values)
            except Refusal:
                if done is None:
                    raise
                return done
            with self.engine.read(place.partition) as reader:
                lsn = self.check_reader(reader, container, place, session, ticket)
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
        place = container.route(scope.start)
        ticket = self.enter(container, place, wish, scope.key, scope.values)
        with self.engine.read(place.partition) as reader:
            lsn = self.check_reader(reader, container, place, NO_SESSION, ticket)
            if start is None:
                start = lsn
            elif since:
                start = find_start(reader, since)
            changes = read_changes(reader, scope, start, container.rules, self.clock.ticks(), limits)
        charge = price_feed(len(changes.items), changes.size)
        ticket.charge(charge, changes.size)
        return ChangeFeed(changes, place, lsn, charge, ticket.drawn)

    # ---- the whole

    def recover(self) -> Steps[list[bytes]]:
        """What a start owes: the catalog of a new store, and after a stop that was cut short, partitions that nobody
        names go, versions are followed, and seals of what was cancelled are opened. Nothing else may work on the store
        meanwhile.
        """
        if not self.exists():
            yield Block(partial(catalog.make_catalog, self.engine))
        containers = self.every_container()
        named = {partition for container in containers for partition in partitions_of(container.row)}
        orphans = find_orphans(self.engine, named)
        for container in containers:
            for place in container.row.ranges:
                if self._is_behind(place, container):
                    found = yield from self._follow_partition(container, place)
                    if found and all(split.id != found.hex() for split in container.row.splits):
                        yield Block(partial(self.resolve_seal, place.partition, found))
                        yield from self._follow_partition(container, place)
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
        named = {partition for container in containers for partition in partitions_of(container.row)}
        found = [self._check(container) for container in containers]
        notes = [f"partition {orphan.hex()} is named by nobody" for orphan in find_orphans(self.engine, named)]
        complaints = [complaint for each in found for complaint in each.complaints]
        return Report(len(containers), len(named), sum(each.items for each in found), complaints, notes)

    def _check(self, container: Container) -> Findings:
        """Walk one container; where others change it meanwhile, what is there then."""
        found = check_container(self.engine, f"{container.owner.id}/{container.row.id}", container.subjects())
        row = self._find_row(container)
        if not found.complaints or row == container.row:
            return found
        return Findings([], 0) if row is None else self._check(self._compile(row, container.owner))

    # ---- the ways down

    def check_reader(self, reader: Reader, container: Container, place: Range, session: Session, ticket: Ticket) -> int:
        """Whether this partition may be read for this container, and by a caller who has seen so much; its LSN."""
        lsn = self._look_at(reader, container, place)
        asked = session(place)
        if lsn < asked:
            raise ticket.refuse(Refusal(Kind.SESSION_AHEAD, asked=asked, lsn=lsn, place=place))
        return lsn

    def _look_at(self, reader: Reader, container: Container, place: Range) -> int:
        """Whether this partition may be read for this container; its LSN.

        A sealed one is the latest there is until the catalog names others: looked up after the snapshot was taken.
        """
        raw = reader.header
        state, version, base = header_glance(raw)
        if state != ONLINE and (state != SEALED or not self._is_named(container, place)):
            check_header(raw, place.partition, container.rules.version)
        if version > container.rules.version:
            check_header(raw, place.partition, container.rules.version)
        return reader.lsn + base

    def _is_named(self, container: Container, place: Range) -> bool:
        row = self._find_row(container)
        return row is not None and place in row.ranges

    def _find_row(self, container: Container) -> ContainerRow | None:
        """What the catalog says of it now; None when it was deleted, even if there is another of its name."""
        with self.engine.read(CATALOG) as reader:
            return catalog.get_container(reader, container.row.database, container.row.number)

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
        """Remove partitions that nobody can use any more: never named, or sealed before they were forgotten."""
        for partition in partitions:
            yield Block(partial(self.engine.drop, partition))

    def _is_behind(self, place: Range, container: Container) -> bool:
        """Whether a partition has to follow its container, or cannot now."""
        with self.engine.read(place.partition) as reader:
            state, version = header_state(reader.header)
        return state == SEALED or version < container.rules.version


def _take(rows: Any, limit: int) -> list[Any]:
    return [row for row, _ in zip(rows, range(limit), strict=False)]
