"""The contract of an engine: partitions of ordered bytes, committed whole, in one order.

The partition is the unit of everything: storage, atomic commit, order (LSN), split and placement. Its id is random and
never used again. It has two stores:

    items   ordered keys, written only by `write`; reads show the partition's LSN and header
    terms   an ordered set of (term, item number), written only by `apply`, with a watermark kept beside it

Promised, and held by one contract suite (`tests/contract`) for every engine:

 1. `write` applies each member whole or not at all, at one LSN. LSNs are gapless and total: a commit of n applied
    members takes n of them, in order. What is answered as applied survives what `durable` states.
 2. A work is a pure function of its view. It may run several times; only its last run counts. It reads what the members
    before it in the same commit wrote. An exception drops that member only.
 3. One effect for each key (a mapping); the header is an effect of its own.
 4. A member ends as `Applied`, `Rejected` or `Unknown`; unknown is never reported as failed and can be asked again.
 5. Each `get` and each page of a scan is consistent in itself, shows every write acknowledged before it began, and says
    its LSN (`reader.lsn`, `reader.header` belong to the latest of them). Nothing promises one moment over several
    pages: `unchanged()` tells whether it was one.
 6. Limits are attributes; passing one is a clean refusal before anything is written.

Not promised: atomicity or order across partitions, cheap deletion at the front of a range, keys over
`limits.key_bytes`. Engines are synchronous and blocking; `local` says whether a call is short enough for the event
loop.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

Row: TypeAlias = tuple[bytes, bytes]
Term: TypeAlias = tuple[bytes, int]


class Limits(NamedTuple):
    """What one engine can take."""

    key_bytes: int
    value_bytes: int
    commit_bytes: int
    commit_works: int
    term_bytes: int


class Changes(NamedTuple):
    """What one work does: effects (None deletes), maybe a new header, and what its caller is told."""

    effects: Mapping[bytes, bytes | None]
    header: bytes | None = None
    result: Any = None


class View(Protocol):
    """What a work may read: the partition as the members before it left it."""

    @property
    def lsn(self) -> int:
        """The LSN this member takes if it is applied."""

    @property
    def header(self) -> bytes: ...

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = 100) -> list[Row]:
        """At most `limit` rows of [start, stop), from the end when reversed."""


Work: TypeAlias = Callable[[View], Changes]


class Applied(NamedTuple):
    """The member is in the partition, at this LSN."""

    lsn: int
    result: Any


class Rejected(NamedTuple):
    """The member left no trace; the error says why."""

    error: Exception


class Unknown(NamedTuple):
    """Nobody can say yet whether the member was applied; `settle` asks again."""

    commit: bytes
    lsn: int
    result: Any


Outcome: TypeAlias = Applied | Rejected | Unknown


class Page(NamedTuple):
    """A consistent piece of a scan and the LSN it shows."""

    lsn: int
    rows: list[Row]


class Reader(Protocol):
    """Reads of one partition. Hold it shortly: never over a yield to an event loop."""

    lsn: int
    header: bytes

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, start: bytes, stop: bytes, *, reverse: bool = False, page: int = 0) -> Iterator[Page]:
        """Pages of [start, stop) in key order, none empty; `page` rows each, 0 for the engine's choice."""

    def unchanged(self) -> bool:
        """Whether nothing was committed since this reader was opened."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class TermChanges(NamedTuple):
    """One step of an indexer: removes come before adds; the watermark is the LSN the terms now follow."""

    removes: Sequence[Term]
    adds: Sequence[Term]
    watermark: int


class TermReader(Protocol):
    """Reads of the terms of one partition, with the watermark they follow.

    `synced` is the watermark that no power failure can take back any more (never above `watermark`).
    """

    watermark: int
    synced: int

    def scan(self, start: Term, stop: Term, *, reverse: bool = False, page: int = 0) -> Iterator[list[Term]]:
        """Pages of the terms in [start, stop), ordered by (term, number)."""

    def seek(self, at: Term) -> Term | None:
        """The first term at or after `at`."""

    def count(self, start: Term, stop: Term) -> int: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Terms(Protocol):
    """The terms of one partition. They may be cleared at any time: an indexer builds them again."""

    def read(self) -> TermReader: ...

    def apply(self, step: Callable[[int], TermChanges | None]) -> int:
        """Run `step` with the watermark read inside the transaction; None changes nothing. Returns the watermark."""

    def clear(self) -> None: ...


class Engine(Protocol):
    """A set of partitions."""

    local: bool
    durable: str
    limits: Limits

    def create(self, partition: bytes, header: bytes) -> None:
        """Make an empty partition at LSN 0; durable when this returns. An id that exists is an error."""

    def drop(self, partition: bytes) -> None:
        """Remove a partition and its terms; a missing one is no error."""

    def partitions(self) -> list[bytes]: ...

    def read(self, partition: bytes) -> Reader: ...

    def write(self, partition: bytes, works: Sequence[Work]) -> list[Outcome]:
        """One commit of all works that do not refuse; an outcome for each, in order. Raises nothing of its own."""

    def settle(self, partition: bytes, unknown: Unknown) -> Outcome: ...

    def terms(self, partition: bytes) -> Terms: ...

    def close(self) -> None: ...
