"""A source over lists: items on several shelves, with an index where one is wanted; it can be split and written to.

A shelf is a partition. An item stands where the effective key of its `/pk` falls, under its number; the number is its
identity. With an index, a shelf serves one condition of a wish (the first that has a path it knows), or the order when
there is one and it is of one path; positions are then (value, number), else (key, number).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from armillary.keys import EpkRange, define_key, divide_space
from armillary.query.semantics import order_key
from armillary.query.source import EACH, Entry, Interval, Path, Stream, Wish
from armillary.values import UNDEFINED

KEY: Final = define_key("/pk")


@dataclass
class Shelves:
    """Items in `parts` partitions, handed out `size` at a time."""

    items: Sequence[Any]
    parts: int = 1
    size: int = 3
    indexed: bool = False
    bounds: list[EpkRange] = field(default_factory=list)
    stored: dict[int, tuple[bytes, Any]] = field(default_factory=dict)
    batches: int = 0

    def __post_init__(self) -> None:
        self.bounds = divide_space(self.parts)
        for item in self.items:
            self.put(item)

    def put(self, item: Any, number: int | None = None) -> int:
        """Store an item; under a number of an item that is there already it takes its place."""
        number = max(self.stored, default=-1) + 1 if number is None else number
        key = KEY.values_of(item) if isinstance(item, dict) else (UNDEFINED,)
        self.stored[number] = (KEY.epk(key), item)
        return number

    def split(self, at: int) -> None:
        """Divide a partition in two where its items are about even."""
        whole = self.bounds[at]
        keys = sorted(epk for epk, _ in self.stored.values() if whole.contains(epk))
        middle = keys[len(keys) // 2] if keys else whole.start + b"\x01"
        if whole.start < middle < whole.stop:
            self.bounds[at : at + 1] = [EpkRange(whole.start, middle), EpkRange(middle, whole.stop)]

    def merge(self, at: int) -> None:
        one, other = self.bounds[at : at + 2]
        self.bounds[at : at + 2] = [EpkRange(one.start, other.stop)]

    def partitions(self, within: EpkRange) -> list["Shelf"]:
        cut = [EpkRange(max(one.start, within.start), min(one.stop, within.stop)) for one in self.bounds]
        return [Shelf(self, found) for found in cut if found.start < found.stop]


@dataclass
class Shelf:
    """One partition, or a part of it."""

    shelves: Shelves
    range: EpkRange

    def open(self, wish: Wish, after: bytes | None, *, again: bool) -> Stream:
        ordered = self.shelves.indexed and len(wish.order) == 1
        if ordered:
            ((path, descending),) = wish.order
            own = [found.intervals for found in wish.conditions if found.path == path]
            walk = self._walk(path, own[-1] if own else None, after, again=again, descending=descending)
            return Stream(walk, is_ordered=True)
        if self.shelves.indexed and wish.conditions:
            first = wish.conditions[-1]
            return Stream(self._walk(first.path, first.intervals, after, again=again))
        return Stream(self._scan(after, again=again))

    def _items(self) -> list[tuple[bytes, int, Any]]:
        found = self.shelves.stored.items()
        return sorted((epk, number, item) for number, (epk, item) in found if self.range.contains(epk))

    def _scan(self, after: bytes | None, *, again: bool) -> Iterator[Sequence[Entry]]:
        while True:
            entries = [(epk + _number(number), _number(number), item) for epk, number, item in _sorted(self._items())]
            left = [entry for entry in entries if entry[0] > (after or b"") or (again and entry[0] == after)]
            batch, again = left[: self.shelves.size], False
            if not batch:
                return
            self.shelves.batches += 1
            yield batch
            after = batch[-1][0]

    def _walk(
        self,
        path: Path,
        intervals: Sequence[Interval] | None,
        after: bytes | None,
        *,
        again: bool,
        descending: bool = False,
    ) -> Iterator[Sequence[Entry]]:
        while True:
            terms = []
            for _, number, item in self._items():
                values = [
                    value
                    for value in values_at(item, path)
                    if intervals is None or any(holds(interval, value) for interval in intervals)
                ]
                if values:
                    value = min(values, key=order_key)
                    terms.append((order_key(value), number, value, item))
            terms.sort(key=lambda term: term[:2], reverse=descending)
            if after is not None:
                last = _read(after)
                terms = [
                    term for term in terms if _is_behind(term[:2], last, descending) or (again and term[:2] == last)
                ]
                again = False
            if not terms:
                return
            self.shelves.batches += 1
            batch = [(_write(value, number), _number(number), item) for _, number, value, item in terms]
            yield batch[: self.shelves.size]
            after = batch[: self.shelves.size][-1][0]


def _sorted(found: list[tuple[bytes, int, Any]]) -> list[tuple[bytes, int, Any]]:
    return sorted(found, key=lambda entry: entry[:2])


def _number(number: int) -> bytes:
    return number.to_bytes(8, "big")


def _write(value: object, number: int) -> bytes:
    return json.dumps([[] if value is UNDEFINED else [value], number]).encode()


def _read(position: bytes) -> tuple[Any, int]:
    packed, number = json.loads(position)
    return order_key(packed[0] if packed else UNDEFINED), number


def _is_behind(term: Any, last: Any, descending: bool) -> bool:
    return bool(term < last if descending else term > last)


def values_at(item: object, path: Path) -> list[object]:
    """The values that an index would hold for a path; undefined where there is none."""
    found = [item]
    for name in path:
        if name == EACH:
            found = [element for value in found if isinstance(value, list) for element in value]
        else:
            found = [value[name] if isinstance(value, dict) and name in value else UNDEFINED for value in found]
    return found


def holds(interval: Interval, value: object) -> bool:
    """Whether a value belongs to an interval."""
    low, high, with_low, with_high, across, prefix = interval
    if value is UNDEFINED:
        return False
    if prefix:
        return isinstance(value, str) and isinstance(low, str) and value.startswith(low)
    key = order_key(value)
    for bound, closed, sign in ((low, with_low, 1), (high, with_high, -1)):
        if bound is UNDEFINED:
            continue
        edge = order_key(bound)
        if (key < edge if sign > 0 else key > edge) or (key == edge and not closed):
            return False
        if not across and (low is UNDEFINED or high is UNDEFINED) and _type(edge) != _type(key):
            return False
    return True


def _type(key: tuple[Any, ...]) -> int:
    return 2 if key[0] == 3 else int(key[0])
