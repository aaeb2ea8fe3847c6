"""Readers over one read transaction: nothing they give outlives it, and it ends when the reader is left.

They hold a pin on the open file they read (`environments`), so that it stays open; making one costs a few microseconds,
because every point read makes one. The transaction has a slot in a table of the file until nothing refers to it, and an
exception refers to the readers of its frames: so a reader that was left refers to no transaction. Leaves out: how a
transaction begins, and the errors of the driver (`lmdb`).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from struct import Struct
from typing import Any, Final, NamedTuple, Protocol, Self

from armillary.kv.cursors import Cursor, count_terms, list_terms, read_term, seek_term, walk
from armillary.kv.engine import Page, Row, Term
from armillary.kv.rules import EMBEDDED, FIRST

PAGE_ROWS: Final = 256
PAGE_BYTES: Final = 1 << 20
LONGEST: Final = EMBEDDED.key_bytes

HEAD: Final = b"\x00"
STATE: Final = b"state"
_HEAD: Final = Struct(">QQ")
_STATE: Final = Struct(">QQ")


class Transaction(Protocol):
    """The part of a transaction that is used here."""

    def get(self, key: bytes, /) -> bytes | None: ...

    def cursor(self, db: Any = None, /) -> AbstractContextManager[Cursor]: ...

    def abort(self) -> None: ...


class Head(NamedTuple):
    """What stands first in the items of a partition; `commit` names the last commit."""

    lsn: int
    commit: int
    header: bytes


class State(NamedTuple):
    """What stands beside the terms: the LSN they follow, and the one they followed a commit earlier."""

    watermark: int
    synced: int


def read_head(transaction: Transaction) -> Head | None:
    """The head of a partition; None when it was dropped."""
    found = transaction.get(HEAD)
    if not found:
        return None
    lsn, commit = _HEAD.unpack_from(found)
    return Head(lsn, commit, found[_HEAD.size :])


def pack_head(head: Head) -> bytes:
    return _HEAD.pack(head.lsn, head.commit) + head.header


def read_state(transaction: Transaction) -> State:
    return State(*_STATE.unpack(transaction.get(STATE) or b""))


def pack_state(state: State) -> bytes:
    return _STATE.pack(*state)


class Stored:
    """What a write transaction finds in the items."""

    __slots__ = ("_transaction",)

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def get(self, key: bytes) -> bytes | None:
        return self._transaction.get(key) if key >= FIRST and len(key) <= LONGEST else None

    def scan(self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = 100) -> list[Row]:
        with self._transaction.cursor() as cursor:
            return list(islice(walk(cursor, start, stop, reverse=reverse), limit))


class SnapshotReader:
    """One moment of the items of a partition."""

    __slots__ = ("_get", "_pins", "_transaction", "header", "lsn")

    def __init__(self, transaction: Transaction, head: Head, pins: list[None]) -> None:
        self._transaction = transaction
        self._get = transaction.get
        self._pins = pins
        self.lsn, _, self.header = head

    def get(self, key: bytes) -> bytes | None:
        return self._get(key) if key >= FIRST and len(key) <= LONGEST else None

    def scan(self, start: bytes, stop: bytes, *, reverse: bool = False, page: int = 0) -> Iterator[Page]:
        most, full = (page, EMBEDDED.commit_bytes) if page else (PAGE_ROWS, PAGE_BYTES)
        rows: list[Row] = []
        size = 0
        with self._transaction.cursor() as cursor:
            for row in walk(cursor, start, stop, reverse=reverse):
                rows.append(row)
                size += len(row[1])
                if len(rows) == most or size >= full:
                    yield Page(self.lsn, rows)
                    rows, size = [], 0
            if rows:
                yield Page(self.lsn, rows)

    def unchanged(self) -> bool:
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._transaction.abort()
        del self._transaction, self._get
        self._pins.pop()


class SnapshotTermReader:
    """One moment of the terms of a partition; `terms` is the database that holds them."""

    __slots__ = ("_pins", "_terms", "_transaction", "synced", "watermark")

    def __init__(self, transaction: Transaction, terms: object, pins: list[None]) -> None:
        self._transaction = transaction
        self._terms = terms
        self._pins = pins
        self.watermark, self.synced = read_state(transaction)

    def scan(self, start: Term, stop: Term, *, reverse: bool = False, page: int = 0) -> Iterator[list[Term]]:
        with self._transaction.cursor(self._terms) as cursor:
            terms = list_terms(cursor, start, stop, reverse=reverse)
            while found := list(islice(terms, page or PAGE_ROWS)):
                yield found

    def seek(self, at: Term) -> Term | None:
        with self._transaction.cursor(self._terms) as cursor:
            return read_term(cursor) if seek_term(cursor, at) else None

    def count(self, start: Term, stop: Term) -> int:
        with self._transaction.cursor(self._terms) as cursor:
            return count_terms(cursor, start, stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._transaction.abort()
        del self._transaction
        self._pins.pop()


class NoTerms:
    """The terms of a partition that never had any: there is no file to read."""

    __slots__ = ("synced", "watermark")

    def __init__(self) -> None:
        self.watermark = self.synced = 0

    def scan(self, start: Term, stop: Term, *, reverse: bool = False, page: int = 0) -> Iterator[list[Term]]:  # noqa: ARG002 - the shape of the contract
        return iter(())

    def seek(self, at: Term) -> Term | None:  # noqa: ARG002 - the shape of the contract
        return None

    def count(self, start: Term, stop: Term) -> int:  # noqa: ARG002 - the shape of the contract
        return 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to give back."""
