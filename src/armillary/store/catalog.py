"""The catalog: databases, containers with their maps, and offers, in a partition of its own under a fixed id.

One commit changes it, so a container, its map, its name and its offer appear and go together. The law: a partition
exists before the catalog names it, and the catalog stops naming it before it is dropped; what is between is nobody's,
and is swept at the next start. Numbers come from counters and never return. Leaves out: what a definition means.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias

from armillary.clock import TICKS_PER_SECOND
from armillary.errors import Kind, Refusal
from armillary.json import dump, load
from armillary.keycode import encode_value
from armillary.kv.engine import Changes, Engine, Reader, View, Work
from armillary.store.header import new_header
from armillary.store.items import etag_text
from armillary.store.layout import (
    CATALOG,
    CONTAINER,
    COUNTERS,
    DATABASE,
    OFFER,
    container_key,
    database_key,
    family_end,
    name_key,
    offer_key,
)
from armillary.store.rids import RidKind, container_rid, database_rid, parse_rid
from armillary.store.transaction import Moment, Overlay

_NAME_BYTES: Final = 480
_MANY: Final = 1_000_000
_REMEMBERED: Final = 20

# The definition that takes the place of another; it may refuse to.
Redefine: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
# The versions of containers, by number, all of whose partitions were sealed.
Sealed: TypeAlias = Mapping[int, int]


class Stamp(NamedTuple):
    """What every resource carries: its etag without quotes, and when it was written, in seconds."""

    etag: str
    ts: int


class Range(NamedTuple):
    """A row of the map: `id` is what clients see, `partition` where the data is; neither is ever used again. `since` is
    the version of its container that brought it.
    """

    id: str
    low: str
    high: str
    partition: bytes
    birth: int
    parents: tuple[str, ...] = ()
    since: int = 1


class Split(NamedTuple):
    """A split that is being prepared. While its record is here it may still be cancelled; when it is done the map has
    the children, and when it is cancelled it has the parent: either way the record is gone.
    """

    id: str
    parent: str
    children: tuple[Range, ...]
    reason: str


class Ended(NamedTuple):
    """What became of a split: done, or cancelled."""

    id: str
    parent: str
    reason: str
    done: bool


@dataclass(frozen=True, slots=True)
class DatabaseRow:
    """A database."""

    number: int
    id: str
    stamp: Stamp
    offer: int | None = None

    @property
    def rid(self) -> str:
        return database_rid(self.number)


@dataclass(frozen=True, slots=True)
class ContainerRow:
    """A container: its definition as clients see it, without system properties, and its map.

    `version` grows with every change of definition or map; `births` counts the partitions it ever had; `ended` tells
    of the last splits.
    """

    database: int
    number: int
    id: str
    api: str
    definition: dict[str, Any]
    version: int
    births: int
    ranges: tuple[Range, ...]
    stamp: Stamp
    offer: int | None = None
    splits: tuple[Split, ...] = ()
    ended: tuple[Ended, ...] = ()

    @property
    def rid(self) -> str:
        return container_rid(self.database, self.number)


@dataclass(frozen=True, slots=True)
class OfferRow:
    """Throughput of a database or a container; `implicit` until a client asks for some.

    `per_minute`: there are units for each minute as well.
    """

    number: int
    owner: str
    resource: str
    throughput: int
    stamp: Stamp
    autoscale: dict[str, Any] | None = None
    implicit: bool = False
    highest: int = 0
    per_minute: bool = False


class Removed(NamedTuple):
    """What a deletion leaves behind: partitions that nobody names any more."""

    partitions: tuple[bytes, ...]


def make_catalog(engine: Engine) -> None:
    """Make the catalog of a new store."""
    engine.create(CATALOG, new_header(0, 0, 0))


def partitions_of(row: ContainerRow) -> tuple[bytes, ...]:
    """Every partition that a container names, those of running splits too."""
    places = (*row.ranges, *(child for split in row.splits for child in split.children))
    return tuple(place.partition for place in places)


def stamp_of(moment: Moment) -> Stamp:
    return Stamp(etag_text(moment.salt), moment.ticks // TICKS_PER_SECOND)


# ---- reading


def find_database(reader: Reader | Overlay, segment: str) -> DatabaseRow | None:
    """A database by rid or, if there is none, by name."""
    rid = parse_rid(segment)
    if rid is not None and rid.kind is RidKind.DATABASE:
        found = _database(reader.get(database_key(rid.number)))
        if found is not None:
            return found
    number = reader.get(name_key(0, _name_code(segment)))
    return None if number is None else _database(reader.get(database_key(int.from_bytes(number, "big"))))


def must_find_database(reader: Reader, segment: str) -> DatabaseRow:
    """The same for one that must be there."""
    row = find_database(reader, segment)
    if row is None:
        raise Refusal(Kind.DATABASE_MISSING, name=segment)
    return row


def find_container(reader: Reader | Overlay, database: DatabaseRow, segment: str) -> ContainerRow | None:
    """A container of this database by rid or, if there is none, by name."""
    rid = parse_rid(segment)
    if rid is not None and rid.kind is RidKind.CONTAINER and rid.database == database.number:
        found = _container(reader.get(container_key(rid.database, rid.container)))
        if found is not None:
            return found
    number = reader.get(name_key(database.number, _name_code(segment)))
    if number is None:
        return None
    return _container(reader.get(container_key(database.number, int.from_bytes(number, "big"))))


def get_container(reader: Reader | Overlay, database: int, number: int) -> ContainerRow | None:
    return _container(reader.get(container_key(database, number)))


def find_offer(reader: Reader | Overlay, number: int) -> OfferRow | None:
    return _offer(reader.get(offer_key(number)))


def list_databases(reader: Reader, after: int = -1) -> Iterator[DatabaseRow]:
    for value in _values(reader, database_key(after + 1), family_end(DATABASE)):
        yield _read_database(value)


def list_containers(reader: Reader, database: int | None = None, after: int = -1) -> Iterator[ContainerRow]:
    """The containers of one database, or of all."""
    start = CONTAINER if database is None else container_key(database, after + 1)
    stop = family_end(CONTAINER) if database is None else container_key(database + 1, 0)
    for value in _values(reader, start, stop):
        yield _read_container(value)


def list_offers(reader: Reader, after: int = -1) -> Iterator[OfferRow]:
    for value in _values(reader, offer_key(after + 1), family_end(OFFER)):
        yield _read_offer(value)


# ---- changing


def create_database(name: str, offer: OfferRow | None, moment: Moment) -> Work:
    def work(view: View) -> Changes:
        tx = Overlay(view)
        if tx.get(name_key(0, _name_code(name))) is not None:
            raise Refusal(Kind.DATABASE_EXISTS, name=name)
        number = _take(tx, "database", moment)
        row = DatabaseRow(number, name, stamp_of(moment))
        row = replace(row, offer=_add_offer(tx, offer, row.rid, f"dbs/{row.rid}/", moment))
        tx.put(name_key(0, _name_code(name)), number.to_bytes(4, "big"))
        tx.put(database_key(number), dump(_fields(row)))
        return Changes(tx.effects, None, row)

    return work


def delete_database(database: DatabaseRow, condition: str, sealed: Sealed) -> Work:
    """Remove a database and its containers, all of which were sealed."""

    def work(view: View) -> Changes:
        tx = Overlay(view)
        row = _database(tx.get(database_key(database.number)))
        if row is None:
            raise Refusal(Kind.DATABASE_MISSING, name=database.id)
        check_etag(row.stamp, condition)
        partitions: list[bytes] = []
        start, stop = container_key(row.number, 0), container_key(row.number + 1, 0)
        for _, value in tx.stored(start, stop, _MANY):
            partitions += _drop_container(tx, _read_container(value), sealed)
        _drop_offer(tx, row.offer)
        tx.delete(name_key(0, _name_code(row.id)))
        tx.delete(database_key(row.number))
        return Changes(tx.effects, None, Removed(tuple(partitions)))

    return work


def create_container(draft: ContainerRow, offer: OfferRow | None, moment: Moment) -> Work:
    """Add a container whose partitions exist already; its number is taken here."""

    def work(view: View) -> Changes:
        tx = Overlay(view)
        name = name_key(draft.database, _name_code(draft.id))
        if tx.get(database_key(draft.database)) is None:
            raise Refusal(Kind.DATABASE_MISSING, name=database_rid(draft.database))
        if tx.get(name) is not None:
            raise Refusal(Kind.CONTAINER_EXISTS, name=draft.id)
        number = _take(tx, "container", moment)
        row = replace(draft, number=number, stamp=stamp_of(moment))
        link = f"dbs/{database_rid(row.database)}/colls/{row.rid}/"
        row = replace(row, offer=_add_offer(tx, offer, row.rid, link, moment))
        tx.put(name, number.to_bytes(4, "big"))
        _put_container(tx, row)
        return Changes(tx.effects, None, row)

    return work


def replace_container(row: ContainerRow, redefine: Redefine, condition: str, moment: Moment) -> Work:
    """A new definition made of the one there is, and with it a new version that every partition follows."""

    def work(view: View) -> Changes:
        tx = Overlay(view)
        now = _must_get(tx, row)
        check_etag(now.stamp, condition)
        changed = replace(now, definition=redefine(now.definition), version=now.version + 1, stamp=stamp_of(moment))
        _put_container(tx, changed)
        return Changes(tx.effects, None, changed)

    return work


def delete_container(row: ContainerRow, condition: str, sealed: Sealed) -> Work:
    """Remove a container that was sealed: nobody writes to its partitions by what he remembers."""

    def work(view: View) -> Changes:
        tx = Overlay(view)
        now = _must_get(tx, row)
        check_etag(now.stamp, condition)
        return Changes(tx.effects, None, Removed(tuple(_drop_container(tx, now, sealed))))

    return work


def start_split(row: ContainerRow, split: Split) -> Work:
    """Record a split whose children have been made; refused when the map has moved on."""

    def work(view: View) -> Changes:
        tx = Overlay(view)
        now = _must_get(tx, row)
        if any(other.parent == split.parent for other in now.splits):
            raise Refusal(Kind.SPLIT_RUNS, range=split.parent)
        if now.births != row.births or all(place.id != split.parent for place in now.ranges):
            raise Refusal(Kind.SPLIT_OVER, id=split.id)
        births = max(child.birth for child in split.children) + 1
        changed = replace(now, births=births, splits=(*now.splits, split))
        _put_container(tx, changed)
        return Changes(tx.effects, None, changed)

    return work


def finish_split(row: ContainerRow, name: str) -> Work:
    """The one moment at which a split is done: the map has the children from here on."""

    def work(view: View) -> Changes:
        tx = Overlay(view)
        now, split = _must_find_split(tx, row, name)
        ranges: list[Range] = []
        for place in now.ranges:
            if place.id == split.parent:
                ranges += [child._replace(since=now.version + 1) for child in split.children]
            else:
                ranges.append(place)
        changed = replace(_end_split(now, split, done=True), ranges=tuple(ranges), version=now.version + 1)
        _put_container(tx, changed)
        return Changes(tx.effects, None, changed)

    return work


def cancel_split(row: ContainerRow, name: str) -> Work:
    """The other moment: from here on it can only be undone."""

    def work(view: View) -> Changes:
        tx = Overlay(view)
        changed = _end_split(*_must_find_split(tx, row, name), done=False)
        _put_container(tx, changed)
        return Changes(tx.effects, None, changed)

    return work


def renew_container(row: ContainerRow) -> Work:
    """The same in a new version: nobody deletes it any more by the seals of the one before."""

    def work(view: View) -> Changes:
        tx = Overlay(view)
        now = _must_get(tx, row)
        _put_container(tx, replace(now, version=now.version + 1))
        return Changes(tx.effects, None)

    return work


def replace_offer(offer: OfferRow, condition: str, moment: Moment) -> Work:
    """Store the offer as given, with what it was at its highest."""

    def work(view: View) -> Changes:
        tx = Overlay(view)
        now = find_offer(tx, offer.number)
        if now is None:
            raise Refusal(Kind.OFFER_MISSING, id=str(offer.number))
        check_etag(now.stamp, condition)
        highest = max(now.highest, offer.throughput)
        changed = replace(offer, stamp=stamp_of(moment), implicit=False, highest=highest)
        tx.put(offer_key(offer.number), dump(_fields(changed)))
        return Changes(tx.effects, None, changed)

    return work


def check_etag(stamp: Stamp, condition: str) -> None:
    """If-Match of a resource that is no item; without quotes, empty for none."""
    if condition not in ("", "*", stamp.etag):
        raise Refusal(Kind.ETAG_MISMATCH, etag=stamp.etag)


def _must_get(tx: Overlay, row: ContainerRow) -> ContainerRow:
    now = get_container(tx, row.database, row.number)
    if now is None:
        raise Refusal(Kind.CONTAINER_MISSING, name=row.id)
    return now


def _must_find_split(tx: Overlay, row: ContainerRow, name: str) -> tuple[ContainerRow, Split]:
    """The container as it is and a split of it that is still open; refused when it was decided already."""
    now = _must_get(tx, row)
    for split in now.splits:
        if split.id == name:
            return now, split
    raise Refusal(Kind.SPLIT_OVER, id=name)


def _end_split(row: ContainerRow, split: Split, *, done: bool) -> ContainerRow:
    ended = Ended(split.id, split.parent, split.reason, done)
    splits = tuple(other for other in row.splits if other.id != split.id)
    return replace(row, splits=splits, ended=(*row.ended, ended)[-_REMEMBERED:])


def _drop_container(tx: Overlay, row: ContainerRow, sealed: Sealed) -> list[bytes]:
    if sealed.get(row.number) != row.version:  # changed, split, or opened by others: whoever deletes looks again
        raise Refusal(Kind.DEFINITION_NEWER, partition=CATALOG.hex(), version=row.version)
    _drop_offer(tx, row.offer)
    tx.delete(name_key(row.database, _name_code(row.id)))
    tx.delete(container_key(row.database, row.number))
    return list(partitions_of(row))


def _add_offer(tx: Overlay, offer: OfferRow | None, owner: str, resource: str, moment: Moment) -> int | None:
    if offer is None:
        return None
    number = _take(tx, "offer", moment)
    row = replace(offer, number=number, owner=owner, resource=resource, stamp=stamp_of(moment))
    tx.put(offer_key(number), dump(_fields(replace(row, highest=row.throughput))))
    return number


def _drop_offer(tx: Overlay, number: int | None) -> None:
    if number is not None:
        tx.delete(offer_key(number))


def _take(tx: Overlay, name: str, moment: Moment) -> int:
    """The next number of a kind. A new store starts somewhere by chance: an older one's rids mean nothing in it."""
    stored = tx.get(COUNTERS)
    first = 1 + int.from_bytes(moment.salt[:2], "big")
    counters = load(stored) if stored is not None else {"database": first << 8, "container": first << 8, "offer": first}
    number: int = counters[name]
    counters[name] = number + 1
    tx.put(COUNTERS, dump(counters))
    return number


def _put_container(tx: Overlay, row: ContainerRow) -> None:
    fields = _fields(row)
    fields["ranges"] = [_show_range(place) for place in row.ranges]
    fields["splits"] = [_show_split(split) for split in row.splits]
    fields["ended"] = [[*ended] for ended in row.ended]
    tx.put(container_key(row.database, row.number), dump(fields))


def _fields(row: DatabaseRow | ContainerRow | OfferRow) -> dict[str, Any]:
    return {**asdict(row), "stamp": [*row.stamp]}


def _database(value: bytes | None) -> DatabaseRow | None:
    return None if value is None else _read_database(value)


def _container(value: bytes | None) -> ContainerRow | None:
    return None if value is None else _read_container(value)


def _offer(value: bytes | None) -> OfferRow | None:
    return None if value is None else _read_offer(value)


def _read_database(value: bytes) -> DatabaseRow:
    fields = load(value)
    return DatabaseRow(**{**fields, "stamp": Stamp(*fields["stamp"])})


def _read_container(value: bytes) -> ContainerRow:
    fields = load(value)
    ranges = tuple(_read_range(place) for place in fields["ranges"])
    splits = tuple(
        Split(name, parent, tuple(_read_range(child) for child in children), reason)
        for name, parent, children, reason in fields["splits"]
    )
    ended = tuple(Ended(*each) for each in fields.get("ended", ()))
    stamp = Stamp(*fields["stamp"])
    return ContainerRow(**{**fields, "stamp": stamp, "ranges": ranges, "splits": splits, "ended": ended})


def _show_split(split: Split) -> list[Any]:
    return [split.id, split.parent, [_show_range(child) for child in split.children], split.reason]


def _show_range(place: Range) -> list[Any]:
    return [*place[:3], place.partition.hex(), *place[4:]]


def _read_range(fields: list[Any]) -> Range:
    name, low, high, partition, birth, parents, since = fields
    return Range(name, low, high, bytes.fromhex(partition), birth, tuple(parents), since)


def _read_offer(value: bytes) -> OfferRow:
    fields = load(value)
    return OfferRow(**{**fields, "stamp": Stamp(*fields["stamp"])})


def _values(reader: Reader, start: bytes, stop: bytes) -> Iterator[bytes]:
    for page in reader.scan(start, stop):
        for _, value in page.rows:
            yield value


def _name_code(name: str) -> bytes:
    return encode_value(name, _NAME_BYTES)
