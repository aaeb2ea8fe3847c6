"""Who commits to one partition of Cassandra: attempts, outcomes that nobody told, and asking again later.

An attempt ends in one of four ways. Applied. Refused: the head moved, so the works run again over the new one. Turned
away: nothing was done. Or in doubt: then a SERIAL read of the head finishes or buries what is pending and decides,

    the head is where the attempt began     not applied so far: the same batch goes out again, under the same commit id
    the head has passed, the row is ours    applied, by this attempt or by one that arrived late
    the head has passed, the row is not     can never be applied any more: the works run again

All attempts of one commit carry one id, so whichever of them wins is known as ours. What is still in doubt at the
deadline ends as `Unknown`; `settle` asks the same question later, and where the answer is "not so far" it moves the
fence first, so that "rejected" is true for ever.

One thread of a process commits to a partition at a time; group commit is what makes this engine fast, and contention is
what makes it slow. Between processes only the fence stands: it keeps two committers harmless, not quick. The lease that
gives a partition one owner among the servers belongs to the issue that runs several of them.
"""

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from typing import Final

from armillary.errors import Kind, Refusal
from armillary.kv.cassandra_commits import (
    Draft,
    Head,
    MovedError,
    build_batch,
    doubt_outcomes,
    draft_commit,
    mark_commit,
    read_ticket,
)
from armillary.kv.cassandra_cql import Batch, DoubtError, Found, Link, Statement, UnreachedError
from armillary.kv.engine import Applied, Outcome, Rejected, Row, Unknown, Work
from armillary.kv.rules import FIRST

PAGE: Final = 1000


class Verdict(Enum):
    """What became of an attempt."""

    OURS = auto()
    LOST = auto()
    OPEN = auto()
    UNKNOWN = auto()


class SteadySource:
    """Reads of a partition that must not have left one LSN."""

    def __init__(self, link: Link, partition: bytes, lsn: int) -> None:
        self._link = link
        self._partition = partition
        self._lsn = lsn

    def get(self, key: bytes) -> bytes | None:
        if key < FIRST:
            return None
        found = self._link.read(Statement.GET, {"partition": self._partition, "key": key})
        if not found or found[0][2] != self._lsn:
            raise MovedError
        return next((value for name, value, _ in found if name == key), None)

    def iter_rows(self, start: bytes, stop: bytes, *, reverse: bool, size: int) -> Iterator[Row]:
        for lsn, rows in iter_pages(self._link, self._partition, start, stop, reverse=reverse, size=min(size, PAGE)):
            if lsn != self._lsn:
                raise MovedError
            yield from rows


def iter_pages(
    link: Link, partition: bytes, start: bytes, stop: bytes, *, reverse: bool, size: int
) -> Iterator[tuple[int, list[Row]]]:
    """Pages of rows with the LSN each shows; what the engine keeps under the byte zero is never among them."""
    start = max(start, FIRST)
    if start >= stop:
        return
    statement = Statement.SCAN_BACK if reverse else Statement.SCAN
    values = {"partition": partition, "start": start, "stop": stop}
    position: bytes | None = None
    while True:
        found, position = link.read_page(statement, values, size, position)
        if found:
            yield found[0][2], [(key, value) for key, value, _ in found]
        if position is None:
            return


class Committer:
    """The turn of one partition, and where it was left."""

    def __init__(self, link: Link, partition: bytes, draw: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self._link = link
        self._partition = partition
        self._draw = draw
        self._turn = threading.Lock()
        self._head: Head | None = None

    def write(self, works: Sequence[Work]) -> list[Outcome]:
        """Commit all works, in as many batches as their sizes ask for."""
        outcomes: list[Outcome] = []
        with self._turn:
            until = self._link.monotonic() + self._link.patience
            while len(outcomes) < len(works):
                outcomes += self._commit(works[len(outcomes) :], until)
        return outcomes

    def _commit(self, works: Sequence[Work], until: float) -> list[Outcome]:
        """Commit the first of the works, at least one; says what became of each."""
        commit = self._draw(16)
        attempt = 0
        while True:
            try:
                draft = self._draft(works, until)
                verdict = Verdict.LOST if draft is None else self._push(draft, commit, until)
            except Refusal as refusal:
                # Nothing was sent, or what was sent was turned away.
                self._head = None
                return [Rejected(refusal)] * len(works)
            if draft is not None and verdict is not Verdict.LOST:
                return draft.outcomes if verdict is Verdict.OURS else doubt_outcomes(draft, commit)
            if self._link.monotonic() > until:
                return [Rejected(Refusal(Kind.BUSY, partition=self._partition.hex()))] * len(works)
            attempt += 1
            self._link.pause(attempt)

    def _draft(self, works: Sequence[Work], until: float) -> Draft | None:
        """Run works over the head; None when it moved meanwhile."""
        head = self._head or self._load(until)
        self._head = None
        source = SteadySource(self._link, self._partition, head.lsn)
        try:
            return draft_commit(head, source, works, self._link.limits, self._link.wall)
        except MovedError:
            return None

    def _load(self, until: float) -> Head:
        """The head when a committer starts or was overtaken; SERIAL, so that nothing older is pending behind it."""
        found = self._link.read(Statement.HEAD, {"partition": self._partition}, serial=True, until=until)
        if not found:
            raise Refusal(Kind.PARTITION_MISSING, partition=self._partition.hex())
        header, lsn, fence = found[0]
        return Head(lsn, fence, header)

    def _push(self, draft: Draft, commit: bytes, until: float) -> Verdict:
        """Attempts until the draft is decided; raises a refusal when none of them can have been applied."""
        if draft.lsn == draft.base.lsn:
            return self._confirm(draft, until)
        batch = build_batch(self._partition, draft, commit)
        doubtful = False
        attempt = 0
        while True:
            try:
                verdict = self._send(batch, commit)
            except Refusal:
                if not doubtful:
                    raise
                verdict = Verdict.OPEN
            doubtful = doubtful or verdict is Verdict.UNKNOWN
            if doubtful and verdict in (Verdict.UNKNOWN, Verdict.LOST):
                verdict = self._resolve(draft, commit, until)
            if verdict is Verdict.OURS:
                self._head = Head(draft.lsn, commit, draft.header)
            if verdict is not Verdict.OPEN:
                return verdict
            if self._link.monotonic() > until:
                if doubtful:
                    return Verdict.UNKNOWN
                raise Refusal(Kind.STORE_BROKEN, detail="too few replicas of the partition are alive")
            attempt += 1
            self._link.pause(attempt)

    def _send(self, batch: Batch, commit: bytes) -> Verdict:
        """One attempt; a refusal that shows our own fence was applied before the answer was made."""
        try:
            against = self._link.attempt(batch)
        except DoubtError:
            return Verdict.UNKNOWN
        except UnreachedError:
            return Verdict.OPEN
        return Verdict.OURS if against is None or against.get("fence") == commit else Verdict.LOST

    def _confirm(self, draft: Draft, until: float) -> Verdict:
        """Nothing to commit: what was refused was refused rightly if the head is still where it was read."""
        found = self._link.read(Statement.HEAD, {"partition": self._partition}, until=until)
        if found and found[0][1:] == (draft.base.lsn, draft.base.fence):
            self._head = draft.base
            return Verdict.OURS
        return Verdict.LOST

    def _resolve(self, draft: Draft, commit: bytes, until: float) -> Verdict:
        try:
            found = self._ask_owner(draft.first, until)
        except Refusal:
            return Verdict.UNKNOWN
        return judge(found, commit, draft.first, draft.base.fence)

    def _ask_owner(self, first: int, until: float) -> list[Found]:
        values = {"partition": self._partition, "key": mark_commit(first)}
        return self._link.read(Statement.OWNER, values, serial=True, until=until)

    def settle(self, unknown: Unknown) -> Outcome:
        """Ask again what became of a commit; shuts it out where it has not arrived."""
        commit, first = read_ticket(unknown)
        with self._turn:
            self._head = None
            until = self._link.monotonic() + self._link.patience
            verdict, attempt = Verdict.OPEN, 0
            while verdict is Verdict.OPEN and self._link.monotonic() <= until:
                try:
                    verdict = self._settle_once(commit, first, until)
                except (Refusal, DoubtError, UnreachedError):
                    attempt += 1
                    self._link.pause(attempt)
        if verdict is Verdict.OURS:
            return Applied(unknown.lsn, unknown.result)
        if verdict is Verdict.LOST:
            return Rejected(Refusal(Kind.BUSY, partition=self._partition.hex()))
        return unknown

    def _settle_once(self, commit: bytes, first: int, until: float) -> Verdict:
        found = self._ask_owner(first, until)
        if found and found[0][2] < first:
            _, _, lsn, fence = found[0]
            moved = {"partition": self._partition, "next": lsn, "fence": self._draw(16), "lsn": lsn, "found": fence}
            return Verdict.LOST if self._link.attempt([(Statement.ADVANCE, moved)]) is None else Verdict.OPEN
        return judge(found, commit, first, b"")

    def forget(self) -> None:
        with self._turn:
            self._head = None


def judge(found: Sequence[Found], commit: bytes, first: int, fence: bytes) -> Verdict:
    """What the head and the row of a commit say about it; `fence` is the one it was sent against.

    No head: the partition was dropped, and what it held may have been moved elsewhere before. No row below the head: it
    was trimmed. Neither is "not applied", and both are said to the caller.
    """
    if not found:
        return Verdict.UNKNOWN
    _, _, lsn, held = found[0]
    if lsn < first:
        return Verdict.OPEN if held == fence else Verdict.LOST
    owner = next((value for key, value, *_ in found if key), None)
    if owner is None:
        return Verdict.UNKNOWN
    return Verdict.OURS if owner == commit else Verdict.LOST
