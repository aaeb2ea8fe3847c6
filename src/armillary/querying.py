"""Items as a source of queries: partitions in key order, a slice at a time, each in a transaction of its own.

A query pays for every partition that it looks into, and is let in by each of them before it looks. There is no index
here yet: whatever a plan wishes, all items of the scopes are handed out, and the plan leaves out what it does not want.

The law: a position is an item key. So a stream goes on behind it after a write, a split or a restart; an item that
nobody touches meanwhile comes exactly once.
"""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Final, NamedTuple

from armillary.admission import Ticket
from armillary.answers import Session
from armillary.budget import Wish as Standing
from armillary.container import Container
from armillary.database import Database
from armillary.json import load
from armillary.keys.ranges import EpkRange
from armillary.query.source import Entry, Stream, Wish
from armillary.store.catalog import Range
from armillary.store.reading import Scope, read_stretch, scope_of
from armillary.units import price_query

__all__ = ["ItemSource", "Visit"]

_SLICE: Final = 0.0004  # seconds that one batch should take
_FIRST: Final = 32
_LEAST: Final = 4
_MOST: Final = 512
_SLICE_BYTES: Final = 1 << 18


class Visit:
    """What a query has done in one partition."""

    __slots__ = ("items", "lsn", "place", "size", "ticket")

    def __init__(self, place: Range, ticket: Ticket) -> None:
        self.place = place
        self.ticket = ticket
        self.lsn = 0
        self.items = 0
        self.size = 0

    def charge(self, factor: float) -> float:
        """Book the visit; what it costs."""
        cost = price_query(self.items, self.size, factor)
        self.ticket.charge(cost, self.size)
        return cost


class Standpoint(NamedTuple):
    """Who asks: what it has seen of each range, and its place in the budget."""

    session: Session
    standing: Standing


class ItemSource:
    """The items of some scopes of a container, which are in order and do not overlap; `visits` tells what was done."""

    def __init__(
        self, database: Database, container: Container, scopes: Sequence[Scope], standpoint: Standpoint
    ) -> None:
        self.database = database
        self.container = container
        self.scopes = scopes
        self.standpoint = standpoint
        self.visits: dict[str, Visit] = {}

    @property
    def size(self) -> int:
        """The bytes of all items that were read."""
        return sum(visit.size for visit in self.visits.values())

    def partitions(self, within: EpkRange) -> Sequence["Part"]:
        found = zip(self.container.row.ranges, self.container.ranges, strict=True)
        return [
            Part(self, place, EpkRange(max(bounds.start, within.start), min(bounds.stop, within.stop)))
            for place, bounds in found
            if bounds.overlaps(within)
        ]

    def visit(self, place: Range, scope: Scope) -> Visit:
        """The visit to a partition; the first of a page asks to be let in."""
        visit = self.visits.get(place.id)
        if visit is None:
            standing = self.standpoint.standing
            ticket = self.database.enter(self.container, place, standing, scope.key, scope.values)
            visit = self.visits[place.id] = Visit(place, ticket)
        return visit


class Part(NamedTuple):
    """One partition, cut to a range."""

    source: ItemSource
    place: Range
    range: EpkRange

    def open(self, wish: Wish, after: bytes | None, *, again: bool) -> Stream:  # noqa: ARG002 - there is no index yet
        return Stream(self._read(b"" if after is None else after if again else after + b"\0"))

    def _read(self, start: bytes) -> Iterator[Sequence[Entry]]:
        own = scope_of(self.range)
        for scope in self.source.scopes:
            first, stop = max(start, own.start, scope.start), min(own.stop, scope.stop)
            if first < stop:
                yield from self._read_scope(scope, first, stop)

    def _read_scope(self, scope: Scope, start: bytes, stop: bytes) -> Iterator[Sequence[Entry]]:
        source, most = self.source, _FIRST
        database, rules = source.database, source.container.rules
        visit = source.visit(self.place, scope)
        while start:
            began = perf_counter()
            with database.engine.read(self.place.partition) as reader:
                session = source.standpoint.session
                visit.lsn = database.check_reader(reader, source.container, self.place, session, visit.ticket)
                page = read_stretch(reader, start, stop, rules, database.clock.ticks(), (most, _SLICE_BYTES))
            visit.items += len(page.items)
            visit.size += page.size
            found = zip(page.keys, page.items, strict=True)
            yield [(key, item.envelope.number.to_bytes(8, "big"), load(item.body)) for key, item in found]
            took = perf_counter() - began
            most = min(_MOST, max(_LEAST, int(most * _SLICE / max(took, 1e-6))))
            start = page.next
