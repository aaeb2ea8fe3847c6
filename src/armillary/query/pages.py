"""Pages: a run that ends anywhere and goes on from a position, in this process or another.

    pages = paged.open(run, position)       behind the position of an earlier page, or None
    page = read_page(pages, 100)            values, and the position behind them; None at the end

Whoever shares a processor takes the steps apart: `begin(most)`, then `advance()` until it is false, which does one
batch of the source at a time, then `end()`. `end` may come earlier: a stream and groups end anywhere, what must see all
rows before it gives the first (an order, DISTINCT) has then given nothing, and its position is where it began.

    Project over Filter, Unnest, Bind, Scan        a stream: a page ends in the middle of an item
    Project over Sort                              ranked: each page looks at all rows and keeps only its own
    Group, Distinct, Derive                        ranked by the digests of the values

Ranked pages hold no more than a page. They ask again for what a page before them has seen, which an index makes cheap
for an order (`Run.left`) and a few large pages make rare for the rest.

The law: the pages of a run together are its values, each as often as it should come, whatever their sizes; what nobody
changes in between comes exactly once. Leaves out: keeping a run alive between two pages of one client, which the caller
may do as long as it likes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from armillary.query.execute import (
    PIECE,
    Rows,
    Sorter,
    begin,
    check_held,
    compile_inner,
    compile_rows,
    compile_values,
    open_groups,
    read_count,
)
from armillary.query.expressions import Compiled, Row, Values
from armillary.query.groups import Groups, pack, unpack
from armillary.query.ordering import Rank, digest
from armillary.query.plan import (
    Bind,
    Distinct,
    Filter,
    Group,
    Plan,
    Project,
    Scan,
    Slice,
    Sort,
    Unnest,
    fans_out,
    nodes_of,
)
from armillary.query.positions import Cut, Position, refuse_position
from armillary.query.scalars import PLACE
from armillary.query.semantics import Semantics
from armillary.query.source import IDENTITY, POSITION, Progress, Reading, Run
from armillary.query.wishes import left_behind
from armillary.values import UNDEFINED

_STREAMED: Final = (Scan, Filter, Unnest, Bind)


class Page(NamedTuple):
    """The values of a page and where they end; no position at the end of all."""

    values: list[object]
    position: Position | None


class Pages(Protocol):
    """The pages of a run."""

    can_end: bool

    def begin(self, most: int) -> None:
        """Begin a page of at most so many values."""

    def advance(self) -> bool:
        """Do one batch; false when the page is complete."""

    def end(self) -> Page:
        """The page as it stands."""


@dataclass(frozen=True, slots=True)
class Paged:
    """A plan compiled for pages."""

    open: Callable[[Run, Position | None], Pages]
    streams: bool


def read_page(pages: Pages, most: int) -> Page:
    """A whole page, in one go."""
    pages.begin(most)
    while pages.advance():
        continue
    return pages.end()


def compile_pages(plan: Plan, semantics: Semantics) -> Paged:
    """The pages of a plan: compiled once, opened as often as wanted."""
    cut = _compile_cut(plan, semantics)
    top = plan.input if isinstance(plan, Slice) else plan
    distinct = isinstance(top, Distinct)
    project = top.input if isinstance(top, Distinct) else top
    if not isinstance(project, Project):
        raise TypeError(f"{type(project).__name__} has rows and no values: a plan ends with Project")
    value, below = compile_inner(project.value, semantics), project.input
    if isinstance(below, Sort):
        rows, sorter = compile_rows(below.input, semantics), Sorter(below, semantics)
        ordered = _Ordered(rows, sorter, value, semantics, distinct)
        return Paged(lambda run, position: _Ranked(ordered, cut, run, position), streams=False)
    if isinstance(below, Group) and _is_streamed(below.input):
        grouped = _Grouped(compile_rows(below.input, semantics), open_groups(below, semantics), value)
        rank = partial(_Hashed, semantics=semantics, distinct=distinct, early=False)
        return Paged(lambda run, position: _Folding(grouped, rank, cut, run, position), streams=False)
    if _is_streamed(below) and not distinct:
        streamed = _Streamed(below, value, semantics)
        return Paged(lambda run, position: _Streaming(streamed, cut, run, position), streams=True)
    hashed = _Hashed(compile_values(project, semantics), semantics, distinct=distinct, early=_is_streamed(below))
    return Paged(lambda run, position: _Ranked(hashed, cut, run, position), streams=False)


def _is_streamed(plan: Plan) -> bool:
    """Whether each row of the plan was made of one item."""
    nodes = list(nodes_of(plan))
    return isinstance(nodes[-1], Scan) and all(isinstance(node, _STREAMED) for node in nodes)


def _compile_cut(plan: Plan, semantics: Semantics) -> Callable[[Run], Cut]:
    if not isinstance(plan, Slice):
        return lambda _: Cut()
    offset, limit = compile_inner(plan.offset, semantics), compile_inner(plan.limit, semantics)

    def read(run: Run) -> Cut:
        row = begin(run)
        return Cut(read_count(offset(row)), read_count(limit(row)))

    return read


def _room(cut: Cut, most: int) -> int:
    """How many values a page can give."""
    return most if cut.left is None else min(most, cut.left)


def _spend(cut: Cut, given: int) -> Cut:
    return Cut(0, None if cut.left is None else cut.left - given)


# streams


class _Streamed:
    """Rows in the order of the source, and what SELECT makes of each; `fans` when one item can make several."""

    def __init__(self, plan: Plan, value: Compiled, semantics: Semantics) -> None:
        self.rows = compile_rows(plan, semantics)
        self.value = value
        self.fans = fans_out(plan)


class _Streaming:
    """A stream: it ends anywhere."""

    can_end = True

    def __init__(self, streamed: _Streamed, cut: Callable[[Run], Cut], run: Run, position: Position | None) -> None:
        if position is not None:
            if position.pending is None:
                raise refuse_position()
            run.reading.pending = list(position.pending)
        self._streamed = streamed
        self._reading: Reading = run.reading
        self._cut = cut(run) if position is None else position.cut
        self._pieces = streamed.rows(begin(run))
        self._rows: Iterator[Row] = iter(())
        self._values: list[object] = []
        self._most = 0
        self._done = False
        self._mark = 0
        self._item: bytes | None = None  # the last item since the last mark, and how many values it gave
        self._taken = 0

    def begin(self, most: int) -> None:
        self._most = max(1, most)
        self._values = []

    def advance(self) -> bool:
        if self._is_full():
            return False
        for row in self._rows:
            self._take(row)
            if self._is_full():
                return False
        piece = next(self._pieces, None)
        if piece is None:
            self._done = True
            return False
        if self._reading.marks != self._mark:
            self._mark, self._item, self._taken = self._reading.marks, None, 0
        self._rows = iter(piece)
        return True

    def _is_full(self) -> bool:
        if self._cut.left == 0:
            self._done = True
        return self._done or len(self._values) >= self._most

    def _take(self, row: Row) -> None:
        item = row[PLACE][POSITION]
        if item != self._item:
            self._item, self._taken = item, 0
        found = self._streamed.value(row)
        if found is UNDEFINED:
            return
        self._taken += 1
        part = self._reading.pending[0]
        if item == part.after and self._taken <= part.taken:
            return
        if self._cut.skip:
            self._cut = replace(self._cut, skip=self._cut.skip - 1)
        else:
            self._values.append(found)
            self._cut = _spend(self._cut, 1)

    def end(self) -> Page:
        if self._done or not self._reading.pending:
            return Page(self._values, None)
        pending = list(self._reading.pending)
        if self._item is not None:
            taken = self._taken if self._streamed.fans else 0
            pending[0] = Progress(pending[0].range, self._item, taken)
        return Page(self._values, Position(self._cut, tuple(pending)))


# ranks


class _Found(NamedTuple):
    """A value, its rank, what a position keeps of it, and what it shares with its like where DISTINCT asks."""

    rank: Rank
    keys: tuple[object, ...]
    identity: bytes
    value: object
    like: bytes = b""


class _Ordered:
    """Rows in the order of a Sort."""

    early = False
    hashed = False

    def __init__(self, rows: Rows, sorter: Sorter, value: Compiled, semantics: Semantics, distinct: bool) -> None:
        self._rows = rows
        self._sorter = sorter
        self._value = value
        self._canonical = semantics.canonical
        self.reverse = sorter.reverse
        self.distinct = distinct

    def find(self, run: Run) -> Iterator[list[_Found]]:
        omits = self._sorter.omits(run)
        for batch in self._rows(begin(run)):
            made = []
            for row in batch:
                keys = self._sorter.values(row)
                value = self._value(row)
                if value is UNDEFINED or (omits and keys[0] is UNDEFINED):
                    continue
                identity = row[PLACE][IDENTITY]
                like = digest(self._canonical(value)) if self.distinct else b""
                made.append(_Found(self._sorter.rank(keys, identity), tuple(keys), identity, value, like))
            yield made

    def rank_of(self, position: Position) -> Rank:
        return self._sorter.rank([unpack(key) for key in position.keys], position.identity or b"")

    def narrow(self, run: Run, position: Position) -> Run:
        """The run without what the order has left behind."""
        if not position.keys:
            raise refuse_position()
        if not self._sorter.omits(run):
            return run
        return run._replace(left=left_behind(unpack(position.keys[0]), descending=self.reverse))


class _Hashed:
    """Values in the order of their digests."""

    reverse = False
    hashed = True

    def __init__(self, values: Values, semantics: Semantics, *, distinct: bool, early: bool) -> None:
        self._values = values
        self._canonical = semantics.canonical
        self.distinct = distinct
        self.early = early and distinct

    def find(self, run: Run) -> Iterator[list[_Found]]:
        for batch in self._values(begin(run)):
            made = []
            for value in batch:
                identity = digest(self._canonical(value))
                made.append(_Found((identity,), (), identity, value, identity))
            yield made

    def rank_of(self, position: Position) -> Rank:
        return (position.identity or b"",)

    def narrow(self, run: Run, _: Position) -> Run:
        """Nothing can be left out."""
        return run


class _Ranked:
    """The first values behind a rank: all are looked at, a page of them is kept."""

    def __init__(
        self, ranking: _Ordered | _Hashed, cut: Callable[[Run], Cut], run: Run, position: Position | None
    ) -> None:
        if position is not None and (position.pending is not None or position.groups is not None):
            raise refuse_position()
        self._ranking = ranking
        self._run = run
        self._reading = run.reading
        self._cut = cut(run) if position is None else position.cut
        self._position = None if position is None or position.identity is None else position
        self._most = 0
        self._batches: Iterator[list[_Found]] = iter(())
        self._kept: list[_Found] = []
        self._likes: dict[bytes, _Found] = {}
        self._taken = 0
        self._equal = 0
        self._last: Rank | None = None
        self._worst: Rank | None = None
        self._done = False
        self.can_end = False

    def begin(self, most: int) -> None:
        self._most = max(1, most)
        run = self._run._replace(reading=self._run.reading.again())
        if self._position is not None:
            self._last = self._ranking.rank_of(self._position)
            self._taken = self._position.taken
            run = self._ranking.narrow(run, self._position)
        self._reading = run.reading
        self._batches = self._ranking.find(run)
        self._kept, self._likes = [], {}
        self._equal, self._worst, self._done = 0, None, False
        self.can_end = False

    @property
    def _wanted(self) -> int:
        return self._cut.skip + _room(self._cut, self._most) + 1

    def advance(self) -> bool:
        batch = None if self._cut.left == 0 or self._done else next(self._batches, None)
        if batch is None:
            self.can_end = True
            return False
        for found in batch:
            if self._is_too_far(found):
                self._reading.leave()
                break
            if self._ranking.distinct:
                self._keep_first(found)
            elif self._is_left(found):
                self._kept.append(found)
        if len(self._kept) + len(self._likes) > self._wanted + (0 if self._reading.is_ordered else PIECE):
            self._prune()
        check_held(len(self._kept) + len(self._likes))
        self._done = self._is_enough()
        return True

    def _is_too_far(self, found: _Found) -> bool:
        """Whether this and all that follow in an ordered stream come behind what is kept."""
        if self._worst is None or not self._reading.is_ordered or self._ranking.distinct:
            return False
        return self._is_before(self._worst[:-1], found.rank[:-1])

    def _is_before(self, one: Rank, other: Rank) -> bool:
        return bool(other < one) if self._ranking.reverse else bool(one < other)

    def _is_left(self, found: _Found) -> bool:
        """Whether a value was not given by an earlier page."""
        if self._last is None or self._is_before(self._last, found.rank):
            return True
        if found.rank != self._last:
            return False
        self._equal += 1
        return self._equal > self._taken

    def _keep_first(self, found: _Found) -> None:
        """Keep the first of what is alike; where that is, all rows must have been seen to know."""
        if self._ranking.hashed and self._last is not None and not self._is_before(self._last, found.rank):
            return
        known = self._likes.get(found.like)
        if known is None or self._is_before(found.rank, known.rank):
            self._likes.pop(found.like, None)  # equal ranks stay in the order in which they came
            self._likes[found.like] = found

    def _is_enough(self) -> bool:
        """Whether what is kept is all that can still be wanted: any distinct values end an answer with a bound."""
        left = self._cut.left
        return self._ranking.early and left is not None and left <= self._most and len(self._likes) >= self._wanted

    def _prune(self) -> None:
        if self._ranking.distinct:
            if self._ranking.hashed:
                self._likes = {found.like: found for found in sorted(self._likes.values())[: self._wanted]}
            return
        self._kept.sort(key=_rank_of, reverse=self._ranking.reverse)
        del self._kept[self._wanted :]
        if len(self._kept) == self._wanted:
            self._worst = self._kept[-1].rank

    def _settle(self) -> None:
        """Order what is kept, and leave out what earlier pages gave."""
        if self._ranking.distinct:
            self._kept = list(self._likes.values())
        self._kept.sort(key=_rank_of, reverse=self._ranking.reverse)
        if self._ranking.distinct and not self._ranking.hashed:
            self._kept = [found for found in self._kept if self._is_left(found)]

    def end(self) -> Page:
        if not self.can_end:
            return Page([], self._position or Position(self._cut))
        self._settle()
        skip, room = self._cut.skip, _room(self._cut, self._most)
        given = self._kept[skip : skip + room]
        is_last = len(self._kept) <= skip + room or self._cut.left == len(given)
        if is_last or not given:
            return Page([found.value for found in given], None)
        last = given[-1]
        taken = sum(found.rank == last.rank for found in self._kept[: skip + room])
        if self._last == last.rank:
            taken += self._taken
        cut = _spend(self._cut, len(given))
        keys = tuple(map(pack, last.keys))
        self._position = Position(cut, identity=last.identity, taken=taken, keys=keys)
        self._cut = cut
        return Page([found.value for found in given], self._position)


def _rank_of(found: _Found) -> Rank:
    return found.rank


# groups


class _Grouped:
    """Groups of rows, and the values that a query makes of them when all rows are in."""

    def __init__(self, rows: Rows, start: Callable[[], Groups], value: Compiled) -> None:
        self.rows = rows
        self.start = start
        self._value = value

    def values(self, groups: Groups, outer: Row) -> list[object]:
        made = [self._value((*outer, *values)) for values in groups.results()]
        return [value for value in made if value is not UNDEFINED]


class _Folding:
    """Groups that can be put down anywhere; when all rows are in, their values are ranked."""

    can_end = True

    def __init__(
        self,
        grouped: _Grouped,
        rank: Callable[[Values], _Hashed],
        cut: Callable[[Run], Cut],
        run: Run,
        position: Position | None,
    ) -> None:
        self._grouped = grouped
        self._rank = rank
        self._cut = cut
        self._run = run
        self._position = position
        self._most = 0
        self._groups = grouped.start()
        if position is not None and position.groups is not None:
            run.reading.pending = list(position.pending or ())
            _take_up(self._groups, position.groups)
        self._pieces = grouped.rows(begin(run))
        self._mark = 0
        self._ranked: _Ranked | None = None

    def begin(self, most: int) -> None:
        self._most = most
        if self._ranked is not None:
            self._ranked.begin(most)

    def advance(self) -> bool:
        if self._ranked is None:
            if self._fold():
                return True
            self._ranked = self._finish()
            self._ranked.begin(self._most)
        return self._ranked.advance()

    def _fold(self) -> bool:
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._groups.add(piece)
        return True

    def _finish(self) -> _Ranked:
        values = self._grouped.values(self._groups, begin(self._run))
        ranking = self._rank(lambda _: iter((values,)))
        position = self._position and replace(self._position, pending=None, groups=None)
        return _Ranked(ranking, self._cut, self._run, position)

    def end(self) -> Page:
        if self._ranked is not None:
            while self._ranked.advance():  # over values in memory
                continue
            return self._ranked.end()
        marks = self._run.reading.marks
        while self._run.reading.marks == marks and self._fold():  # what has been folded must be behind the position
            continue
        position = self._position or Position(self._cut(self._run))
        pending = tuple(self._run.reading.pending)
        return Page([], replace(position, pending=pending, groups=self._groups.put_down()))


def _take_up(groups: Groups, state: list[Any]) -> None:
    try:
        groups.take_up(state)
    except (ValueError, TypeError, AttributeError, IndexError):
        raise refuse_position() from None
