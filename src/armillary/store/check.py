"""The invariants of a whole store, walked and verified; what is wrong is said in words, with where it is.

For each partition, in one moment of it:

    items = log        each live item has exactly one entry at its own LSN; others wait, counted, to be trimmed
    items = numbers    each item number leads to its item
    items = logical    the records add up to the items, and the header to the records
    items = unique     each rule has one entry for each item
    items = expiry     what expires can be found by its moment
    items = places     the body's own key and id say where it lives, inside the range of its partition

and for the whole: the ranges of each container leave no gap and their partitions exist. A partition that nobody names
is left from a creation or deletion that was cut short: a note, not a complaint; the next start sweeps it.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from armillary.clock import TICKS_PER_SECOND
from armillary.errors import Kind, Refusal
from armillary.json import load
from armillary.keys.definition import KeyDefinition
from armillary.keys.ranges import EpkRange
from armillary.kv.engine import Engine, Reader
from armillary.store.header import Header
from armillary.store.layout import (
    AGE,
    CATALOG,
    DELETED,
    DUE,
    EXPIRED,
    FAMILIES,
    FORMAT,
    ITEM,
    LOG,
    LOGICAL,
    META,
    NO_TTL,
    NUMBER,
    PLAIN,
    UNIQUE,
    Envelope,
    birth_of,
    family_end,
    log_key,
    log_place,
    logical_of,
    moment_key,
    number_key,
    read_body,
    read_entry,
    read_envelope,
    read_logical,
    unique_key,
)
from armillary.store.places import find_place
from armillary.store.rids import document_rid
from armillary.store.rules import COMPLETE, OFF, Rules
from armillary.store.unique import digest_item

_TRIES: Final = 3


class Subject(NamedTuple):
    """One partition to be checked, with what its container says of it."""

    name: str
    partition: bytes
    birth: int
    within: EpkRange
    key: KeyDefinition
    rules: Rules


class Findings(NamedTuple):
    """What was found in one container: what is wrong, and how many items there are."""

    complaints: list[str]
    items: int


class Report(NamedTuple):
    """What a check of everything found. `notes` are no faults."""

    containers: int
    partitions: int
    items: int
    complaints: list[str]
    notes: list[str]


class Walk:
    """What the items of a partition say must be in its other families."""

    def __init__(self, subject: Subject, header: Header, lsn: int) -> None:
        self.subject = subject
        self.header = header
        self.lsn = lsn
        self.complaints: list[str] = []
        self.numbers: dict[bytes, bytes] = {}
        self.entries: dict[bytes, tuple[int, bytes]] = {}
        self.logical: dict[bytes, list[int]] = {}
        self.unique: dict[bytes, bytes] = {}
        self.due: dict[bytes, bytes] = {}
        self.age: dict[bytes, bytes] = {}

    def complain(self, text: str) -> None:
        self.complaints.append(f"{self.subject.name}: {text}")


def check_container(engine: Engine, name: str, subjects: list[Subject]) -> Findings:
    """Its ranges together, and each of its partitions."""
    complaints = check_ranges(name, [subject.within for subject in subjects])
    items = 0
    for subject in subjects:
        try:
            complaints += check_partition(engine, subject)
            with engine.read(subject.partition) as reader:
                items += Header(reader.header).items
        except Refusal as refused:
            if refused.kind is not Kind.PARTITION_MISSING:
                raise
            complaints.append(f"{subject.name}: the partition does not exist")
    return Findings(complaints, items)


def check_partition(engine: Engine, subject: Subject) -> list[str]:
    """What is wrong with one partition; looked at again when it changed meanwhile."""
    for _ in range(_TRIES):
        with engine.read(subject.partition) as reader:
            complaints = _check_once(reader, subject)
            if reader.unchanged():
                return complaints
    return complaints


def check_ranges(name: str, ranges: list[EpkRange]) -> list[str]:
    """Whether ranges cover everything once."""
    ordered = sorted(ranges)
    bounds = [b"", *(found.stop for found in ordered)]
    complaints = [
        f"{name}: the map has a gap or an overlap at {bound.hex().upper() or 'its beginning'}"
        for bound, found in zip(bounds, ordered, strict=False)
        if found.start.rstrip(b"\0") != bound.rstrip(b"\0")
    ]
    return complaints if bounds[-1] == b"\xff" else [*complaints, f"{name}: the map does not reach FF"]


def find_orphans(engine: Engine, named: set[bytes]) -> list[bytes]:
    """Partitions that the catalog does not name."""
    return [partition for partition in engine.partitions() if partition not in named and partition != CATALOG]


def _check_once(reader: Reader, subject: Subject) -> list[str]:
    header = Header(reader.header)
    walk = Walk(subject, header, reader.lsn + header.base)
    for key, record in _rows(reader, ITEM):
        _see_item(walk, key, record)
    _check_header(walk)
    for check in _CHECKS:
        check(walk, reader)
    for key, _ in _all(reader):
        if key[:1] not in FAMILIES:
            walk.complain(f"a key of no known family: {key.hex()}")
    return walk.complaints


def _see_item(walk: Walk, key: bytes, record: bytes) -> None:
    envelope = read_envelope(record)
    where = f"item {key.hex()}"
    if envelope.format != FORMAT:
        walk.complain(f"{where} has the format {envelope.format}")
        return
    body = read_body(record, envelope)
    item = load(body)
    rules = walk.subject.rules
    walk.numbers[number_key(envelope.number)] = key
    walk.entries[log_key(envelope.lsn, envelope.origin, envelope.position)] = (envelope.number, key)
    logical = logical_of(key, envelope)
    sums = walk.logical.setdefault(logical, [0, 0, 0])
    sums[0] += len(body)
    sums[1] += 1
    sums[2] = max(sums[2], envelope.lsn)
    for rule, digest in enumerate(digest_item(rules.unique, item)):
        walk.unique[unique_key(logical, rule, digest)] = envelope.number.to_bytes(8, "big")
    if envelope.ttl > 0:
        walk.due[moment_key(DUE, envelope.time + envelope.ttl * TICKS_PER_SECOND, envelope.number)] = key
    elif envelope.ttl == NO_TTL:
        walk.age[moment_key(AGE, envelope.time, envelope.number)] = key
    _check_item(walk, where, key, envelope, item)


def _check_item(walk: Walk, where: str, key: bytes, envelope: Envelope, item: dict[str, object]) -> None:
    subject = walk.subject
    birth, counter = birth_of(envelope.number)
    if birth > subject.birth or (birth == subject.birth and counter >= walk.header.counter):
        walk.complain(f"{where} has the number {envelope.number}, which was not given out yet")
    if envelope.lsn > walk.lsn:
        walk.complain(f"{where} has the LSN {envelope.lsn}, above the partition's {walk.lsn}")
    if item.get("_rid") != document_rid(*subject.rules.owner, envelope.number):
        walk.complain(f"{where} has the rid {item.get('_rid')!r}, not the one of its number")
    name = item.get("id")
    place = find_place(subject.key, subject.key.values_of(item), name) if isinstance(name, str) else None
    if place is None or place.item != key:
        walk.complain(f"{where} does not live where its key and id say")
    if not subject.within.contains(key[1:]):
        walk.complain(f"{where} is outside the range of its partition")


def _check_header(walk: Walk) -> None:
    header = walk.header
    sums = walk.logical.values()
    for what, said, found in (
        ("items", header.items, sum(each[1] for each in sums)),
        ("bytes", header.bytes, sum(each[0] for each in sums)),
        ("birth", header.birth, walk.subject.birth),
    ):
        if said != found:
            walk.complain(f"the header says {said} {what}, there are {found}")
    if header.version > walk.subject.rules.version:
        walk.complain(f"the header follows version {header.version}, newer than the catalog's")


def _check_numbers(walk: Walk, reader: Reader) -> None:
    _compare(walk, dict(_rows(reader, NUMBER)), walk.numbers)


def _check_log(walk: Walk, reader: Reader) -> None:
    header = walk.header
    loose = 0
    time = 0
    seen = set()
    for key, value in _rows(reader, LOG):
        entry = read_entry(value)
        lsn = log_place(key)[0]
        if entry.time < time:
            walk.complain(f"log entry {key.hex()} is older than the one before it")
        time = entry.time
        if walk.entries.get(key) == (entry.number, entry.item) and entry.kind not in (DELETED, EXPIRED):
            seen.add(key)
            continue
        loose += 1
        if lsn <= header.trimmed:
            walk.complain(f"log entry {key.hex()} should have been trimmed (up to {header.trimmed})")
    for key in walk.entries.keys() - seen:
        walk.complain(f"the item {walk.entries[key][1].hex()} has no entry in the log at {key.hex()}")
    if loose != header.loose:
        walk.complain(f"the header says {header.loose} log entries to trim, there are {loose}")
    if time > header.time:
        walk.complain(f"the header's time {header.time} is before the last log entry's {time}")


def _check_logical(walk: Walk, reader: Reader) -> None:
    unusual = 0
    for key, value in _rows(reader, LOGICAL):
        record = read_logical(value)
        size, items, lsn = walk.logical.pop(key, [0, 0, 0])
        unusual += record.state != PLAIN
        if (record.size, record.items) != (size, items) or record.lsn < lsn:
            walk.complain(
                f"logical partition {key.hex()} says {record.items} items, {record.size} bytes, LSN {record.lsn};"
                f" there are {items}, {size}, LSN {lsn}"
            )
    for key in walk.logical:
        walk.complain(f"logical partition {key.hex()} has items and no record")
    if unusual != walk.header.unusual:
        walk.complain(f"the header says {walk.header.unusual} logical partitions are not plain, there are {unusual}")


def _check_unique(walk: Walk, reader: Reader) -> None:
    _compare(walk, dict(_rows(reader, UNIQUE)), walk.unique)


def _check_expiry(walk: Walk, reader: Reader) -> None:
    _compare(walk, dict(_rows(reader, DUE)), walk.due)
    age = dict(_rows(reader, AGE))
    expected = walk.age if walk.header.aging == COMPLETE else {} if walk.header.aging == OFF else None
    if expected is None:
        expected = {key: item for key, item in walk.age.items() if key in age}
    _compare(walk, age, expected)


def _compare(walk: Walk, found: dict[bytes, bytes], expected: dict[bytes, bytes]) -> None:
    """Both ways: what is missing, what should not be there, what says something else."""
    for key in expected.keys() - found.keys():
        walk.complain(f"{FAMILIES[key[:1]]} entry {key.hex()} is missing")
    for key, value in found.items():
        if key not in expected:
            walk.complain(f"{FAMILIES[key[:1]]} entry {key.hex()} belongs to no item")
        elif expected[key] != value:
            walk.complain(f"{FAMILIES[key[:1]]} entry {key.hex()} leads to {value.hex()}, not {expected[key].hex()}")


def _rows(reader: Reader, family: bytes) -> Iterator[tuple[bytes, bytes]]:
    for page in reader.scan(family, family_end(family)):
        yield from page.rows


def _all(reader: Reader) -> Iterator[tuple[bytes, bytes]]:
    """Whatever lies outside the known families of a container's partition."""
    known = sorted((META, ITEM, NUMBER, LOGICAL, LOG, UNIQUE, DUE, AGE))
    bounds = [b"", *(family_end(family) for family in known)]
    for start, stop in zip(bounds, [*known, b"\xff" * 8], strict=True):
        if start < stop:
            for page in reader.scan(start, stop):
                yield from page.rows


_CHECKS: Final[tuple[Callable[[Walk, Reader], None], ...]] = (
    _check_numbers,
    _check_log,
    _check_logical,
    _check_unique,
    _check_expiry,
)
