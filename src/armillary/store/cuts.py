"""Where a partition can be cut in two, and what would lie on each side.

A cut is an effective key: what is below it goes to one side, the rest to the other. The law: a key value is never cut,
so neither are two values with one effective key; both sides must have a part of the range. By data, the cut leaves the
sides as equal in bytes as whole keys allow; by range, it halves the hashes.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from armillary.errors import Kind, Refusal
from armillary.json import dump, load
from armillary.keys.definition import KeyDefinition
from armillary.keys.ranges import EpkRange, halve_range
from armillary.kv.engine import Reader
from armillary.store.header import Header
from armillary.store.layout import ITEM, LOGICAL, family_end, read_body, read_envelope, read_logical
from armillary.values import UNDEFINED


class Heap(NamedTuple):
    """What lies at one effective key, or on one side of a cut."""

    items: int
    size: int


class Cut(NamedTuple):
    """An effective key and what lies below it and above."""

    point: bytes
    low: Heap
    high: Heap


class Partition(NamedTuple):
    """What a cut must know of the partition: the key of its container and its range."""

    key: KeyDefinition
    within: EpkRange
    name: str


def cut_data(reader: Reader, partition: Partition) -> Cut:
    """The cut that leaves both sides as equal as can be; refused when all the data is one key value's."""
    header = Header(reader.header)
    half = header.bytes / 2
    point, nearest = b"", half
    passed = 0
    for epk, heap in _heaps(reader, partition):
        if passed:
            if point and abs(passed - half) >= nearest:
                break
            point, nearest = epk, abs(passed - half)
        passed += heap.size
    if not point:
        raise _refuse(partition, reader)
    return weigh_cut(reader, partition, point)


def cut_range(reader: Reader, partition: Partition) -> Cut:
    """The cut that halves the hashes; where the range is too narrow for that, the one that halves the data."""
    point = halve_range(partition.within, partition.key.version)
    return cut_data(reader, partition) if point is None else weigh_cut(reader, partition, point)


def weigh_cut(reader: Reader, partition: Partition, point: bytes) -> Cut:
    """What lies on both sides of a point, which must be inside the range."""
    within = partition.within
    bound = point.rstrip(b"\0")
    if not within.start.rstrip(b"\0") < bound < within.stop.rstrip(b"\0"):
        low, high = within.texts
        reason = f"{point.hex().upper()} does not lie between {low or 'its beginning'} and {high}"
        raise Refusal(Kind.SPLIT_REFUSED, range=partition.name, reason=reason)
    sides = [[0, 0], [0, 0]]
    for epk, heap in _heaps(reader, partition):
        side = sides[epk >= bound]
        side[0] += heap.items
        side[1] += heap.size
    return Cut(point, Heap(*sides[0]), Heap(*sides[1]))


def _heaps(reader: Reader, partition: Partition) -> Iterator[tuple[bytes, Heap]]:
    """Effective keys in their order, each with what lies at it."""
    if partition.key.system_key:
        raise Refusal(Kind.SPLIT_REFUSED, range=partition.name, reason="its container has no key to divide by")
    for epk, rows in groupby(_logical(reader, partition.key), key=lambda row: row[0]):
        items = size = 0
        for _, heap in rows:
            items, size = items + heap.items, size + heap.size
        yield epk, Heap(items, size)


def _logical(reader: Reader, key: KeyDefinition) -> Iterator[tuple[bytes, Heap]]:
    for page in reader.scan(LOGICAL, family_end(LOGICAL)):
        for row, value in page.rows:
            code = row[1:]
            record = read_logical(value)
            yield code[: key.epk_size(code)], Heap(record.items, record.size)


def _refuse(partition: Partition, reader: Reader) -> Refusal:
    value = _show_key(partition.key, reader)
    reason = f"all its data has the key value {value}, which cannot be divided" if value else "it is empty"
    return Refusal(Kind.SPLIT_REFUSED, range=partition.name, reason=reason)


def _show_key(key: KeyDefinition, reader: Reader) -> str:
    """The key value of the first item, as JSON; empty where there is none."""
    for page in reader.scan(ITEM, family_end(ITEM), page=1):
        record = page.rows[0][1]
        values = key.values_of(load(read_body(record, read_envelope(record))))
        return dump([{} if value is UNDEFINED else value for value in values]).decode()
    return ""
