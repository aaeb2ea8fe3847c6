"""Plans to programs, and programs to values: pull iterators over batches of rows.

    program = compile_plan(plan, SQL)
    for batch in program(run):        a list of values for each batch of the source, often empty
        ...

Between two batches a program can be left alone for as long as anybody likes, or for good: a batch is the unit in which
queries share a processor. So a node that collects (Sort, Group) hands on an empty batch for each that it takes in, and
one that multiplies (Unnest) cuts what it makes into pieces. Inner queries run to their end within one row.

The law: the values are those of the plan read as plain set algebra, whatever the batches; a stream asks for a batch
only when all of the last one has been taken. Leaves out: pages (`pages`), and spilling. A query that would hold more
rows than `MOST_ROWS` is refused, and so is an inner query that makes more than `MOST_INNER_ROWS` of one row.
"""

from collections.abc import Callable, Hashable, Iterator
from operator import itemgetter
from typing import Final, TypeAlias

from armillary.errors import Kind, Refusal
from armillary.query.aggregates import AGGREGATES
from armillary.query.expressions import Compiled, Row, Values, compile_scalar
from armillary.query.groups import Groups
from armillary.query.numbers import whole
from armillary.query.ordering import Rank, make_ranker
from armillary.query.plan import (
    Bind,
    Derive,
    Distinct,
    Filter,
    Group,
    Plan,
    Project,
    Scan,
    Single,
    Slice,
    Sort,
    Unnest,
    nodes_of,
    scalars_of,
)
from armillary.query.scalars import PLACE, RUN, Constant, Scalar, builds, path_of
from armillary.query.semantics import Semantics
from armillary.query.source import IDENTITY, ITEM, Run, Wish
from armillary.query.wishes import compile_wish
from armillary.values import UNDEFINED

Rows: TypeAlias = Callable[[Row], Iterator[list[Row]]]
Program: TypeAlias = Callable[[Run], Iterator[list[object]]]

PIECE: Final = 1_000
MOST_ROWS: Final = 500_000
MOST_INNER_ROWS: Final = 200_000
MOST_PARTS: Final = 100_000


def compile_plan(plan: Plan, semantics: Semantics) -> Program:
    """The program of a plan: compiled once, run as often as wanted, also at the same time."""
    values = compile_values(plan, semantics)
    return lambda run: values(begin(run))


def begin(run: Run) -> Row:
    """The row that all rows of a run begin with."""
    return (run, None)


def compile_values(plan: Plan, semantics: Semantics) -> Values:
    """The values of a plan for the row from outside."""
    match plan:
        case Project(below, value):
            grows = builds(value) and _builds_below(below)
            return _project(compile_rows(below, semantics), compile_inner(value, semantics), grows=grows)
        case Distinct(below):
            return _distinct(compile_values(below, semantics), semantics.canonical)
        case Slice(below, offset, limit):
            return _slice(
                compile_values(below, semantics), compile_inner(offset, semantics), compile_inner(limit, semantics)
            )
        case _:
            raise TypeError(f"{type(plan).__name__} has rows and no values: a plan ends with Project")


def compile_rows(plan: Plan, semantics: Semantics) -> Rows:
    """The rows of a plan for the row from outside."""
    match plan:
        case Single():
            return lambda row: iter(([row],))
        case Scan():
            return _scan(compile_wish(plan, lambda scalar: compile_inner(scalar, semantics)))
        case Bind(below, value):
            grows = builds(value) and _builds_below(below)
            return _bind(compile_rows(below, semantics), compile_inner(value, semantics), grows=grows)
        case Unnest(below, value):
            is_inner = not any(isinstance(node, Scan | Derive) for node in nodes_of(plan))
            return _unnest(compile_rows(below, semantics), compile_inner(value, semantics), is_inner=is_inner)
        case Derive(below):
            return _derive(compile_values(below, semantics))
        case Filter(_, Constant(value)) if value is not True:
            return lambda _: iter(())
        case Filter(below, condition):
            return _filter(compile_rows(below, semantics), compile_inner(condition, semantics))
        case Sort(below):
            return _sort(compile_rows(below, semantics), plan, semantics)
        case Group(below):
            return _group(compile_rows(below, semantics), open_groups(plan, semantics))
        case _:
            raise TypeError(f"{type(plan).__name__} has values and no rows")


def compile_inner(scalar: Scalar, semantics: Semantics) -> Compiled:
    """The closure of an expression, with the queries inside it."""
    return compile_scalar(scalar, semantics, lambda plan: compile_values(plan, semantics))


def _scan(wish: Callable[[Row], Wish]) -> Rows:
    def run(outer: Row) -> Iterator[list[Row]]:
        present: Run = outer[RUN]
        for batch in present.reading.read(wish(outer)):
            yield [(present, entry, entry[ITEM]) for entry in batch]

    return run


def _bind(below: Rows, value: Compiled, *, grows: bool) -> Rows:
    value = _weighed(value) if grows else value

    def run(outer: Row) -> Iterator[list[Row]]:
        for batch in below(outer):
            yield [(*row, found) for row in batch if (found := value(row)) is not UNDEFINED]

    return run


def _builds_below(plan: Plan) -> bool:
    """Whether a slot may hold what an expression has made: made again and again, it can grow without end."""
    return any(isinstance(node, Derive) or builds(scalar) for node in nodes_of(plan) for scalar in scalars_of(node))


def _weighed(value: Compiled) -> Compiled:
    def read(row: Row) -> object:
        found = value(row)
        _check_weight(found)
        return found

    return read


def _check_weight(value: object) -> None:
    left, waiting = MOST_PARTS, [value]
    while waiting:
        found = waiting.pop()
        parts = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
        left -= len(parts)
        if left < 0:
            reason = f"The query makes a value of more than {MOST_PARTS} parts out of itself"
            raise Refusal(Kind.BAD_REQUEST, reason=reason)
        waiting += parts


def _unnest(below: Rows, value: Compiled, *, is_inner: bool) -> Rows:
    def run(outer: Row) -> Iterator[list[Row]]:
        count = 0
        for batch in below(outer):
            made: list[Row] = []
            for row in batch:
                found = value(row)
                if type(found) is not list:
                    continue
                for start in range(0, len(found), PIECE):
                    made += [(*row, element) for element in found[start : start + PIECE]]
                    if len(made) >= PIECE:
                        count += len(made)
                        _check_inner(count if is_inner else 0)
                        yield made
                        made = []
            yield made

    return run


def _check_inner(count: int) -> None:
    if count > MOST_INNER_ROWS:
        reason = f"A subquery makes more than {MOST_INNER_ROWS} rows of one item; narrow it down"
        raise Refusal(Kind.BAD_REQUEST, reason=reason)


def _derive(below: Values) -> Rows:
    def run(outer: Row) -> Iterator[list[Row]]:
        for batch in below(outer):
            yield [(*outer, value) for value in batch]

    return run


def _filter(below: Rows, condition: Compiled) -> Rows:
    def run(outer: Row) -> Iterator[list[Row]]:
        for batch in below(outer):
            yield [row for row in batch if condition(row) is True]

    return run


class Sorter:
    """What a Sort does with one row: its rank, or None where it is left out. Ranks sort in the direction `reverse`."""

    def __init__(self, sort: Sort, semantics: Semantics) -> None:
        self._read = [compile_inner(key.value, semantics) for key in sort.keys]
        self._rank = make_ranker(semantics.order_key, [key.descending for key in sort.keys])
        self.reverse = sort.keys[0].descending
        path = path_of(sort.keys[0].value)
        self._path = path[1] if path is not None else None
        self._omit = sort.omit

    def omits(self, run: Run) -> bool:
        """Whether rows without a value for the key are left out."""
        return self._omit and self._path not in run.listed

    def values(self, row: Row) -> list[object]:
        """The values of the keys."""
        return [read(row) for read in self._read]

    def rank(self, values: list[object], identity: bytes) -> Rank:
        """The rank of such values."""
        return self._rank(values, identity)


def _sort(below: Rows, sort: Sort, semantics: Semantics) -> Rows:
    sorter = Sorter(sort, semantics)
    bounds = [compile_inner(bound, semantics) for bound in sort.most]

    def run(outer: Row) -> Iterator[list[Row]]:
        wanted = sum(read_count(bound(outer)) for bound in bounds) if bounds else MOST_ROWS
        omits = sorter.omits(outer[RUN])
        rows: list[tuple[Rank, Row]] = []
        for batch in below(outer):
            for row in batch:
                values = sorter.values(row)
                if not (omits and values[0] is UNDEFINED):
                    rows.append((sorter.rank(values, row[PLACE][IDENTITY]), row))
            if len(rows) > 2 * wanted + PIECE:
                rows.sort(key=_RANK, reverse=sorter.reverse)
                del rows[wanted:]
            check_held(len(rows))
            yield []
        rows.sort(key=_RANK, reverse=sorter.reverse)
        for start in range(0, min(len(rows), wanted), PIECE):
            yield [row for _, row in rows[start : start + PIECE]]

    return run


_RANK: Final = itemgetter(0)


def check_held(count: int) -> None:
    """Refuse to hold more rows than a run may."""
    if count > MOST_ROWS:
        reason = f"The query would hold more than {MOST_ROWS} rows to sort, group or tell them apart; narrow it down"
        raise Refusal(Kind.BAD_REQUEST, reason=reason)


def open_groups(group: Group, semantics: Semantics) -> Callable[[], Groups]:
    """What begins the groups of a run."""
    keys = [compile_inner(key, semantics) for key in group.keys]
    calls = [(AGGREGATES[call.name], compile_inner(call.argument, semantics)) for call in group.calls]
    return lambda: Groups(keys, calls, semantics, MOST_ROWS)


def _group(below: Rows, start: Callable[[], Groups]) -> Rows:
    def run(outer: Row) -> Iterator[list[Row]]:
        groups = start()
        for batch in below(outer):
            groups.add(batch)
            yield []
        made = [(*outer, *values) for values in groups.results()]
        for at in range(0, len(made), PIECE):
            yield made[at : at + PIECE]

    return run


def _project(below: Rows, value: Compiled, *, grows: bool) -> Values:
    value = _weighed(value) if grows else value

    def run(outer: Row) -> Iterator[list[object]]:
        for batch in below(outer):
            yield [found for row in batch if (found := value(row)) is not UNDEFINED]

    return run


def _distinct(below: Values, canonical: Callable[[object], Hashable]) -> Values:
    def run(outer: Row) -> Iterator[list[object]]:
        seen: set[Hashable] = set()
        for batch in below(outer):
            fresh = []
            for value in batch:
                form = canonical(value)
                if form not in seen:
                    seen.add(form)
                    fresh.append(value)
            check_held(len(seen))
            yield fresh

    return run


def _slice(below: Values, offset: Compiled, limit: Compiled) -> Values:
    def run(outer: Row) -> Iterator[list[object]]:
        skipped, left = read_count(offset(outer)), read_count(limit(outer))
        if not left:
            return
        for batch in below(outer):
            kept = batch[skipped : skipped + left]
            skipped -= min(skipped, len(batch))
            left -= len(kept)
            yield kept
            if not left:
                return

    return run


def read_count(value: object) -> int:
    """A count of a Slice."""
    count = whole(value)
    if count is None or count < 0:
        reason = "The counts of TOP, OFFSET and LIMIT must be whole numbers from 0 on"
        raise Refusal(Kind.BAD_REQUEST, reason=reason)
    return count
