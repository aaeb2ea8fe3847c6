"""Reads of one partition of Cassandra: nothing is held open, every answer is a moment of its own.

A point read asks for the header row and the wanted row in one statement, so that a miss still tells the LSN; the header
costs nothing beside a `get`. A page of a scan shows the LSN in its rows but not the header: who asks for the header
after a page that shows a newer LSN reads it again. All reads are at QUORUM, which sees every acknowledged commit.
"""

from collections.abc import Iterator
from typing import Self

from armillary.errors import Kind, Refusal
from armillary.kv.cassandra_cql import Link, Statement
from armillary.kv.cassandra_writer import PAGE, iter_pages
from armillary.kv.engine import Page
from armillary.kv.rules import FIRST


class CassandraReader:
    """Reads of one partition, opened by the first of them."""

    lsn: int
    header: bytes

    def __init__(self, link: Link, partition: bytes) -> None:
        self._link = link
        self._partition = partition
        self._opened: int | None = None

    def __getattr__(self, name: str) -> object:
        """The LSN and the header before anything was read, and the header that an overtaking page made stale."""
        if name not in ("lsn", "header"):
            raise AttributeError(name)
        self._look()
        return self.__dict__[name]

    def get(self, key: bytes) -> bytes | None:
        if key < FIRST:
            return None
        found = self._link.read(Statement.GET, {"partition": self._partition, "key": key})
        if not found:
            raise self._miss()
        _, header, lsn = found[0]
        self._note(lsn, header)
        return next((value for name, value, _ in found if name == key), None)

    def scan(self, start: bytes, stop: bytes, *, reverse: bool = False, page: int = 0) -> Iterator[Page]:
        if self._opened is None:
            self._look()  # an empty range tells nothing, not even that the partition is missing
        pages = iter_pages(self._link, self._partition, start, stop, reverse=reverse, size=page or PAGE)
        for lsn, rows in pages:
            if lsn != self.lsn:
                self.lsn = lsn
                self.__dict__.pop("header", None)
            yield Page(lsn, rows)

    def unchanged(self) -> bool:
        if self._opened is None:
            self._look()
            return True
        found = self._link.read(Statement.HEAD, {"partition": self._partition})
        return bool(found) and found[0][1] == self._opened

    def _look(self) -> None:
        found = self._link.read(Statement.HEAD, {"partition": self._partition})
        if not found:
            raise self._miss()
        self._note(found[0][1], found[0][0])

    def _note(self, lsn: int, header: bytes) -> None:
        self.lsn = lsn
        self.header = header
        if self._opened is None:
            self._opened = lsn

    def _miss(self) -> Refusal:
        return Refusal(Kind.PARTITION_MISSING, partition=self._partition.hex())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to give back."""
