"""What a commit is before anybody sends it: works run over a head, folded to one effect for each key, as one batch.

    head(lsn 7) -> work, work, work -> draft(8, 9; one refused) -> UPDATE lsn = 9, fence = id IF lsn = 7 AND fence = ...
                                                                   INSERT 00 + 8 = id     whose commit began at LSN 8
                                                                   the effects and the header

The row of a commit decides outcomes: once the LSN has passed 7, the row of 8 names the only commit that can ever have
begun there. Nothing here talks to anybody: reading goes through `Source`, which holds everything to one LSN.

`ADVANCE` compares the LSN and also the fence, the id of whoever moved last. So a doubtful commit can be shut out for
ever by a new fence at the same LSN: an LSN without a member would break the promise that they are gapless.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from armillary.errors import Kind, Refusal
from armillary.kv.cassandra_cql import Command, Statement
from armillary.kv.engine import Applied, Changes, Limits, Outcome, Rejected, Row, Unknown, Work
from armillary.kv.rules import weigh_changes

# Several members share a batch up to this size; a longer one costs every member in it more than another round trip.
GROUP_BYTES: Final = 1 << 20
# What an effect weighs beside its own bytes: as a part of the message, and as a row with its timestamps.
EFFECT_BYTES: Final = 80
# Rows of commits must outlive the longest doubt. 100,000 LSNs are a minute at 1,700 works a second on one partition,
# and a few MB at worst (a work to a commit); the deadline of a doubt is seconds.
KEPT: Final = 100_000
TRIMMED_AT_ONCE: Final = 10_000


class Head(NamedTuple):
    """Where a partition is: the LSN, whoever moved it there, and the header."""

    lsn: int
    fence: bytes
    header: bytes


class MovedError(Exception):
    """The partition is not where the draft began: run the works again."""


class Source(Protocol):
    """Reads of one partition at one LSN; raises what stands in the way, `MovedError` among it."""

    def get(self, key: bytes) -> bytes | None: ...

    def iter_rows(self, start: bytes, stop: bytes, *, reverse: bool, size: int) -> Iterator[Row]: ...


@dataclass(slots=True)
class Draft:
    """The members of one commit so far."""

    base: Head
    source: Source
    header: bytes
    lsn: int
    effects: dict[bytes, bytes | None] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    weight: int = 0
    broken: Exception | None = None

    @property
    def first(self) -> int:
        return self.base.lsn + 1


class DraftView:
    """What a member reads: the partition at the base, under the effects of the members before it."""

    __slots__ = ("_draft",)

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    @property
    def lsn(self) -> int:
        return self._draft.lsn + 1

    @property
    def header(self) -> bytes:
        return self._draft.header

    def get(self, key: bytes) -> bytes | None:
        draft = self._draft
        if key in draft.effects:
            return draft.effects[key]
        with _Watch(draft):
            return draft.source.get(key)

    def scan(self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = 100) -> list[Row]:
        draft = self._draft
        over = sorted(((key, value) for key, value in draft.effects.items() if start <= key < stop), reverse=reverse)
        rows: list[Row] = []
        with _Watch(draft):
            below = draft.source.iter_rows(start, stop, reverse=reverse, size=limit + len(over))
            for row in overlay(below, over, reverse=reverse):
                if len(rows) == limit:
                    break
                rows.append(row)
        return rows


class _Watch:
    """Notes what broke a read: the work that sees it may swallow it, but nothing it then says counts."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def __enter__(self) -> None:
        if self._draft.broken is not None:
            raise self._draft.broken

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception):
            self._draft.broken = error


def overlay(below: Iterator[Row], over: Sequence[tuple[bytes, bytes | None]], *, reverse: bool) -> Iterator[Row]:
    """Rows of the partition with newer effects laid over them; both in the same order."""
    at = 0
    for row in below:
        while at < len(over) and (over[at][0] > row[0] if reverse else over[at][0] < row[0]):
            yield from _keep(over[at])
            at += 1
        if at < len(over) and over[at][0] == row[0]:
            yield from _keep(over[at])
            at += 1
        else:
            yield row
    for effect in over[at:]:
        yield from _keep(effect)


def _keep(effect: tuple[bytes, bytes | None]) -> Iterator[Row]:
    key, value = effect
    if value is not None:
        yield key, value


def draft_commit(base: Head, source: Source, works: Sequence[Work], limits: Limits, wall: int) -> Draft:
    """Run works until one no longer fits beside the others; the rest begins another commit.

    Raises what broke a read: then no outcome counts.
    """
    draft = Draft(base, source, base.header, base.lsn)
    view = DraftView(draft)
    for work in works[: limits.commit_works]:
        try:
            changes = work(view)
            weigh_changes(changes, limits)
            weight = weigh_effects(changes)
            if weight > wall:
                raise Refusal(Kind.COMMIT_TOO_LARGE, size=weight, limit=wall)
        except Exception as error:  # noqa: BLE001 - the outcome of this member, not of the commit
            if draft.broken is None:
                draft.outcomes.append(Rejected(error))
        else:
            if draft.weight and draft.weight + weight > min(GROUP_BYTES, wall):
                break
            add_member(draft, changes, weight)
        if draft.broken is not None:
            raise draft.broken
    return draft


def add_member(draft: Draft, changes: Changes, weight: int) -> None:
    draft.effects.update(changes.effects)
    draft.header = draft.header if changes.header is None else changes.header
    draft.weight += weight
    draft.lsn += 1
    draft.outcomes.append(Applied(draft.lsn, changes.result))


def weigh_effects(changes: Changes) -> int:
    """What a member adds to a batch, with all that surrounds it."""
    effects = sum(EFFECT_BYTES + len(key) + len(value or b"") for key, value in changes.effects.items())
    return EFFECT_BYTES + effects + len(changes.header or b"")


def build_batch(partition: bytes, draft: Draft, commit: bytes) -> list[Command]:
    """The one conditional batch of a draft. No range deletion in it touches a key that it also writes."""
    base = draft.base
    advance: Mapping[str, object] = {
        "partition": partition,
        "next": draft.lsn,
        "fence": commit,
        "lsn": base.lsn,
        "found": base.fence,
    }
    batch: list[Command] = [(Statement.ADVANCE, advance), put(partition, mark_commit(draft.first), commit)]
    if draft.header != base.header:
        batch.append(put(partition, b"", draft.header))
    for key, value in draft.effects.items():
        if value is None:
            batch.append((Statement.DELETE, {"partition": partition, "key": key}))
        else:
            batch.append(put(partition, key, value))
    if draft.lsn // TRIMMED_AT_ONCE > base.lsn // TRIMMED_AT_ONCE and draft.first > KEPT:
        span = {"start": mark_commit(0), "stop": mark_commit(draft.first - KEPT)}
        batch.append((Statement.FORGET, {"partition": partition, **span}))
    return batch


def put(partition: bytes, key: bytes, value: bytes) -> Command:
    return Statement.PUT, {"partition": partition, "key": key, "value": value}


def mark_commit(lsn: int) -> bytes:
    """The key of the row that says which commit began at this LSN."""
    return b"\0" + lsn.to_bytes(8, "big")


def doubt_outcomes(draft: Draft, commit: bytes) -> list[Outcome]:
    """The outcomes of a commit that nobody can decide now: what was refused stays refused."""
    ticket = commit + draft.first.to_bytes(8, "big")
    return [
        Unknown(ticket, outcome.lsn, outcome.result) if isinstance(outcome, Applied) else outcome
        for outcome in draft.outcomes
    ]


def read_ticket(unknown: Unknown) -> tuple[bytes, int]:
    """The commit that is asked about, and the LSN it began at."""
    return unknown.commit[:-8], int.from_bytes(unknown.commit[-8:], "big")
