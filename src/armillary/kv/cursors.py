"""Walks along a sorted file: rows of items, and terms, by a cursor of the kind LMDB has.

Bounds may be longer than any key: LMDB does not compare such bounds rightly, so the cursor is placed by their beginning
and the rest is compared here. A term's number is stored as a duplicate value of 8 bytes, which sorts as numbers do.
"""

from collections.abc import Iterator
from typing import Protocol

from armillary.kv.engine import Row, Term
from armillary.kv.rules import EMBEDDED, FIRST

KEY: int = EMBEDDED.key_bytes
TERM: int = EMBEDDED.term_bytes


class Cursor(Protocol):
    """The part of a cursor that is used here; moves answer whether there is something at the new place."""

    def key(self) -> bytes: ...

    def value(self) -> bytes: ...

    def last(self) -> bool: ...

    def prev(self) -> bool: ...

    def next_nodup(self) -> bool: ...

    def set_range(self, key: bytes, /) -> bool: ...

    def set_range_dup(self, key: bytes, value: bytes) -> bool: ...

    def count(self) -> int: ...

    def iternext(self) -> Iterator[Row]: ...

    def iterprev(self) -> Iterator[Row]: ...


def walk(cursor: Cursor, start: bytes, stop: bytes, *, reverse: bool) -> Iterator[Row]:
    """Rows of [start, stop), without those of the engine itself."""
    start = max(start, FIRST)
    if stop <= start:
        return iter(())
    return _walk_back(cursor, start, stop) if reverse else _walk_on(cursor, start, stop)


def _walk_on(cursor: Cursor, start: bytes, stop: bytes) -> Iterator[Row]:
    if cursor.set_range(start[:KEY]):
        for row in cursor.iternext():
            if row[0] >= stop:
                return
            if row[0] >= start:
                yield row


def _walk_back(cursor: Cursor, start: bytes, stop: bytes) -> Iterator[Row]:
    found = cursor.set_range(stop[:KEY]) or cursor.last()
    if found and cursor.key() >= stop:
        found = cursor.prev()
    if found:
        for row in cursor.iterprev():
            if row[0] < start:
                return
            yield row


def pack_number(number: int) -> bytes:
    return number.to_bytes(8)


def seek_term(cursor: Cursor, at: Term) -> bool:
    """Place the cursor on the first term at or after `at`."""
    term, number = at
    if len(term) <= TERM and cursor.set_range_dup(term, pack_number(number)):
        return True
    if not cursor.set_range(term[:TERM]):
        return False
    return cursor.key() > term or cursor.next_nodup()


def read_term(cursor: Cursor) -> Term:
    return cursor.key(), int.from_bytes(cursor.value())


def list_terms(cursor: Cursor, start: Term, stop: Term, *, reverse: bool) -> Iterator[Term]:
    """The terms of [start, stop)."""
    if stop <= start:
        return iter(())
    return _list_back(cursor, start, stop) if reverse else _list_on(cursor, start, stop)


def _list_on(cursor: Cursor, start: Term, stop: Term) -> Iterator[Term]:
    if seek_term(cursor, start):
        for term, number in cursor.iternext():
            row = term, int.from_bytes(number)
            if row >= stop:
                return
            yield row


def _list_back(cursor: Cursor, start: Term, stop: Term) -> Iterator[Term]:
    if cursor.prev() if seek_term(cursor, stop) else cursor.last():
        for term, number in cursor.iterprev():
            row = term, int.from_bytes(number)
            if row < start:
                return
            yield row


def count_terms(cursor: Cursor, start: Term, stop: Term) -> int:
    """How many terms lie in [start, stop): the file counts whole terms, those cut by a bound are walked along."""
    total = 0
    while start < stop and seek_term(cursor, start):
        term = cursor.key()
        if term >= stop[0]:
            return total + sum(1 for _ in _list_on(cursor, start, stop))
        after = (term + b"\x00", 0)
        whole = cursor.count()
        if term == start[0] and start[1]:
            total += sum(1 for _ in _list_on(cursor, start, after))
        else:
            total += whole
        start = after
    return total
