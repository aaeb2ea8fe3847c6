"""The terms of one partition of Cassandra: plain writes that arrive in any order and mean the same.

Cassandra keeps the write with the highest timestamp, and of equal ones the deletion. So every step of an indexer gets a
stamp of its own, removes and adds are folded to one effect for each term, and all of them carry the stamp:

    stamp = watermark x 65,536                     a step that follows the log further: two indexers that follow it at
                                                   once give the same stamps to the same news, whoever is late loses
          = the highest stamp taken + 1            a step at the same watermark (a path that is being built), or a
                                                   second attempt at one: what it adds wins over what was removed before

A step reserves its stamp first (an attempt that died half-way never shares one with the next), then writes its terms,
and the watermark last: a reader takes the watermark, then the terms, and never believes more than is there.

`clear` moves to a new generation instead of deleting: deletions would win over terms that are built again with older
stamps. `synced` is the watermark: an acknowledged write is in the commit logs of a majority, and what their operator's
sync period can lose there it can also lose of the commits.
"""

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple, Self

from armillary.errors import Kind, Refusal
from armillary.kv.cassandra_cql import Command, Link, Statement
from armillary.kv.engine import Term, TermChanges
from armillary.kv.rules import check_terms

PAGE: Final = 1000
BATCH: Final = 200
SPREAD: Final = 1 << 16
# What a term weighs in a batch beside its own bytes.
TERM_BYTES: Final = 80


class Mark(NamedTuple):
    """The row that is no term: the watermark, the stamp of the step that set it, and the highest stamp ever taken."""

    generation: int
    watermark: int
    finished: int
    reserved: int


class TermTable:
    """The terms of one partition, for all threads of this process: one step at a time."""

    def __init__(self, link: Link, partition: bytes) -> None:
        self._link = link
        self._partition = partition
        self._turn = threading.Lock()
        self._generation: int | None = None

    def read(self) -> "CassandraTermReader":
        mark = self._find_mark()
        return CassandraTermReader(self._link, self._partition, mark)

    def apply(self, step: Callable[[int], TermChanges | None]) -> int:
        with self._turn:
            mark = self._find_mark()
            changes = step(mark.watermark)
            if changes is None:
                return mark.watermark
            check_terms(changes, self._link.limits)
            place = {"partition": self._partition, "generation": mark.generation}
            stamp = choose_stamp(mark, changes.watermark)
            self._link.write([[(Statement.RESERVE, {**place, "stamp": stamp})]])
            commands = fold_terms(changes, {**place, "stamp": stamp})
            self._link.write(cut_batches(commands, self._link.limits.term_bytes, self._link.wall))
            self._link.write([[(Statement.MARK, {**place, "watermark": changes.watermark, "stamp": stamp})]])
            return changes.watermark

    def clear(self) -> None:
        with self._turn:
            mark = self._find_mark()
            open_generation(self._link, self._partition, mark.generation + 1)
            self._generation = mark.generation + 1
            drop_generation(self._link, self._partition, mark.generation)

    def _find_mark(self) -> Mark:
        """The mark of the generation known here; where it is gone, of the one that counts."""
        if self._generation is not None and (mark := self._read_mark(self._generation)):
            return mark
        for _ in range(3):
            found = self._link.read(Statement.GENERATION, {"partition": self._partition})
            if not found:
                raise Refusal(Kind.PARTITION_MISSING, partition=self._partition.hex())
            self._generation = int(found[0][0])
            if mark := self._read_mark(self._generation):
                return mark
        raise Refusal(Kind.STORE_BROKEN, detail=f"the terms of {self._partition.hex()} have no watermark")

    def _read_mark(self, generation: int) -> Mark | None:
        found = self._link.read(Statement.MARKED, {"partition": self._partition, "generation": generation})
        return Mark(generation, *found[0]) if found else None


class CassandraTermReader:
    """Terms at or after a watermark: what is newer than it belongs to items that are judged by themselves."""

    def __init__(self, link: Link, partition: bytes, mark: Mark) -> None:
        self._link = link
        self._place = {"partition": partition, "generation": mark.generation}
        self.watermark = mark.watermark
        self.synced = mark.watermark

    def scan(self, start: Term, stop: Term, *, reverse: bool = False, page: int = 0) -> Iterator[list[Term]]:
        if start >= stop:
            return
        statement = Statement.TERMS_BACK if reverse else Statement.TERMS
        values = self._bound(start, stop)
        position: bytes | None = None
        while True:
            found, position = self._link.read_page(statement, values, page or PAGE, position)
            if found:
                yield [(term, number) for term, number in found]
            if position is None:
                return

    def seek(self, at: Term) -> Term | None:
        term, number = max(at, FIRST_TERM)
        found = self._link.read(Statement.SEEK_TERM, {**self._place, "start": term, "start_number": number})
        return (found[0][0], found[0][1]) if found else None

    def count(self, start: Term, stop: Term) -> int:
        if start >= stop:
            return 0
        return int(self._link.read(Statement.COUNT_TERMS, self._bound(start, stop))[0][0])

    def _bound(self, start: Term, stop: Term) -> dict[str, object]:
        term, number = max(start, FIRST_TERM)
        return {**self._place, "start": term, "start_number": number, "stop": stop[0], "stop_number": stop[1]}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to give back."""


# The mark is below it.
FIRST_TERM: Final[Term] = (b"", 0)


def choose_stamp(mark: Mark, watermark: int) -> int:
    """The timestamp of a step: above every step that is finished, and shared with no other at its watermark."""
    forward = watermark * SPREAD
    if forward > mark.finished and mark.reserved // SPREAD != watermark:
        return forward
    return max(mark.finished, mark.reserved) + 1


def fold_terms(changes: TermChanges, common: dict[str, object]) -> Iterator[Command]:
    """One effect for each term: removes come before adds, so a term in both stays."""
    adds = set(changes.adds)
    for statement, terms in ((Statement.REMOVE_TERM, set(changes.removes) - adds), (Statement.ADD_TERM, adds)):
        for term, number in sorted(terms):
            yield statement, {**common, "term": term, "number": number}


def cut_batches(commands: Iterator[Command], longest: int, wall: int) -> Iterator[list[Command]]:
    """Batches of a moderate number of terms; fewer where so many of the longest would be too much for the cluster."""
    size = max(1, min(BATCH, wall // (TERM_BYTES + longest)))
    while batch := list(islice(commands, size)):
        yield batch


def open_generation(link: Link, partition: bytes, generation: int) -> None:
    """Make an empty generation the one that counts. Stamps of steps are above the one it begins with."""
    place = {"partition": partition, "generation": generation}
    link.write([[(Statement.MARK, {**place, "watermark": 0, "stamp": 1})]])
    link.write([[(Statement.SET_GENERATION, place)]])


def drop_generation(link: Link, partition: bytes, generation: int) -> None:
    link.write([[(Statement.DROP_TERMS, {"partition": partition, "generation": generation})]])
