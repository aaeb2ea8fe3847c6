"""The engine without a disk: the model the others are judged by, and what `--memory` serves from.

A partition is one value, replaced whole by its writer: whoever holds a `_State` reads one moment and needs no lock.
Writers of one partition take turns by its lock. Nothing survives the process.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, Self

from armillary.errors import Kind, Refusal
from armillary.kv.engine import (
    Applied,
    Changes,
    Outcome,
    Page,
    Rejected,
    Row,
    Term,
    TermChanges,
    Unknown,
    Work,
)
from armillary.kv.rules import EMBEDDED, check_terms, weigh_changes
from armillary.kv.tree import EMPTY, Edit, Tree

PAGE: Final = 256


class _State(NamedTuple):
    """One moment of a partition's items."""

    lsn: int
    header: bytes
    items: Tree[bytes, bytes]


class _Index(NamedTuple):
    """One moment of a partition's terms."""

    watermark: int
    terms: Tree[Term, bool]


class _Partition:
    """What one partition is now, and whose turn it is to change it."""

    __slots__ = ("dropped", "index", "index_turn", "state", "turn")

    def __init__(self, header: bytes) -> None:
        self.state = _State(0, header, EMPTY)
        self.index = _Index(0, EMPTY)
        self.turn = threading.Lock()
        self.index_turn = threading.Lock()
        self.dropped = False


class MemoryView:
    """What a work reads: the commit so far."""

    __slots__ = ("edit", "header", "lsn")

    def __init__(self, state: _State) -> None:
        self.edit: Edit[bytes, bytes] = Edit(state.items)
        self.lsn = state.lsn + 1
        self.header = state.header

    def get(self, key: bytes) -> bytes | None:
        return self.edit.tree.get(key)

    def scan(self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = 100) -> list[Row]:
        tree = self.edit.tree
        return list(islice(tree.scan_back(start, stop) if reverse else tree.scan(start, stop), limit))

    def apply(self, changes: Changes) -> None:
        for key, value in changes.effects.items():
            if value is None:
                self.edit.delete(key)
            else:
                self.edit.put(key, value)
        if changes.header is not None:
            self.header = changes.header
        self.lsn += 1


class MemoryReader:
    """One moment of a partition."""

    __slots__ = ("_items", "header", "lsn")

    def __init__(self, state: _State) -> None:
        self.lsn, self.header, self._items = state

    def get(self, key: bytes) -> bytes | None:
        return self._items.get(key)

    def scan(self, start: bytes, stop: bytes, *, reverse: bool = False, page: int = 0) -> Iterator[Page]:
        rows = self._items.scan_back(start, stop) if reverse else self._items.scan(start, stop)
        while found := list(islice(rows, page or PAGE)):
            yield Page(self.lsn, found)

    def unchanged(self) -> bool:
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to give back."""


class MemoryTermReader:
    """One moment of a partition's terms. There is no power failure to fear: all of it counts as synced."""

    __slots__ = ("_terms", "synced", "watermark")

    def __init__(self, index: _Index) -> None:
        self.watermark, self._terms = index
        self.synced = self.watermark

    def scan(self, start: Term, stop: Term, *, reverse: bool = False, page: int = 0) -> Iterator[list[Term]]:
        rows = self._terms.scan_back(start, stop) if reverse else self._terms.scan(start, stop)
        terms = (term for term, _ in rows)
        while found := list(islice(terms, page or PAGE)):
            yield found

    def seek(self, at: Term) -> Term | None:
        return next((term for term, _ in self._terms.scan(at, (b"\xff" * (EMBEDDED.term_bytes + 1), 0))), None)

    def count(self, start: Term, stop: Term) -> int:
        return sum(1 for _ in self._terms.scan(start, stop))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to give back."""


class MemoryTerms:
    """The terms of one partition."""

    def __init__(self, partition: _Partition | None, name: bytes) -> None:
        self._partition = partition
        self._name = name

    def read(self) -> MemoryTermReader:
        return MemoryTermReader(self._find().index)

    def apply(self, step: Callable[[int], TermChanges | None]) -> int:
        partition = self._find()
        with partition.index_turn:
            watermark, terms = partition.index
            changes = step(watermark)
            if changes is None:
                return watermark
            check_terms(changes, EMBEDDED)
            edit = Edit(terms)
            for term in changes.removes:
                edit.delete(term)
            for term in changes.adds:
                edit.put(term, True)
            partition.index = _Index(changes.watermark, edit.tree)
            return changes.watermark

    def clear(self) -> None:
        partition = self._find()
        with partition.index_turn:
            partition.index = _Index(0, EMPTY)

    def _find(self) -> _Partition:
        if self._partition is None or self._partition.dropped:
            raise Refusal(Kind.PARTITION_MISSING, partition=self._name.hex())
        return self._partition


class MemoryEngine:
    """Partitions in a dictionary."""

    local = True
    durable = "nothing survives the process"
    limits = EMBEDDED

    def __init__(self) -> None:
        self._partitions: dict[bytes, _Partition] = {}

    def create(self, partition: bytes, header: bytes) -> None:
        made = _Partition(header)
        if self._partitions.setdefault(partition, made) is not made:
            raise Refusal(Kind.PARTITION_EXISTS, partition=partition.hex())

    def drop(self, partition: bytes) -> None:
        found = self._partitions.pop(partition, None)
        if found is not None:
            with found.turn:
                found.dropped = True

    def partitions(self) -> list[bytes]:
        return sorted(self._partitions)

    def read(self, partition: bytes) -> MemoryReader:
        try:
            return MemoryReader(self._partitions[partition].state)
        except KeyError:
            raise _miss(partition) from None

    def write(self, partition: bytes, works: Sequence[Work]) -> list[Outcome]:
        found = self._partitions.get(partition)
        if found is None:
            return [Rejected(_miss(partition)) for _ in works]
        with found.turn:
            if found.dropped:
                return [Rejected(_miss(partition)) for _ in works]
            view = MemoryView(found.state)
            outcomes = [_run(work, view) for work in works]
            found.state = _State(view.lsn - 1, view.header, view.edit.tree)
            return outcomes

    def settle(self, partition: bytes, unknown: Unknown) -> Outcome:
        """No outcome of this engine is ever unknown."""
        raise ValueError(f"the commit {unknown.commit.hex()} is not one of the partition {partition.hex()}")

    def terms(self, partition: bytes) -> MemoryTerms:
        return MemoryTerms(self._partitions.get(partition), partition)

    def close(self) -> None:
        self._partitions.clear()


def _run(work: Work, view: MemoryView) -> Outcome:
    try:
        changes = work(view)
        weigh_changes(changes, EMBEDDED)
    except Exception as error:  # noqa: BLE001 - the outcome of this member, not of the commit
        return Rejected(error)
    lsn = view.lsn
    view.apply(changes)
    return Applied(lsn, changes.result)


def _miss(partition: bytes) -> Refusal:
    return Refusal(Kind.PARTITION_MISSING, partition=partition.hex())
