"""Plans to programs, and programs to values: pull iterators over batches of rows.

    program = compile_plan(plan, SQL)
    for batch in program(run):        a list of values for each batch of the source, often empty
        ...

Between two batches a program can be left alone for as long as anybody likes, or for good: a batch is the unit in which
queries share a processor. So a node that collects (Sort, Group) hands on an empty batch for each that it takes in, and
one that multiplies (Unnest) cuts what it makes into pieces. Inner queries run to their end within one row.

The law: the values are those of the plan read as plain set algebra, whatever the batches; a stream asks for a batch
only when all of the last one has been taken. Leaves out: spilling. A query that would hold more rows than `MOST_ROWS`
is refused.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final, TypeAlias

from armillary.errors import Kind, Refusal
from armillary.query.aggregates import AGGREGATES, Fold
from armillary.query.expressions import Compiled, Row, Values, compile_scalar
from armillary.query.numbers import whole
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
)
from armillary.query.scalars import RUN, Constant, Scalar
from armillary.query.semantics import Semantics
from armillary.query.source import Run
from armillary.values import UNDEFINED

Rows: TypeAlias = Callable[[Row], Iterator[list[Row]]]
Program: TypeAlias = Callable[[Run], Iterator[list[object]]]

PIECE: Final = 1_000
MOST_ROWS: Final = 500_000


def compile_plan(plan: Plan, semantics: Semantics) -> Program:
    """The program of a plan: compiled once, run as often as wanted, also at the same time."""
    values = _compile_values(plan, semantics)
    return lambda run: values((run,))


def list_values(program: Program, run: Run) -> list[object]:
    """All values of a run."""
    return [value for batch in program(run) for value in batch]


def _compile_values(plan: Plan, semantics: Semantics) -> Values:
    match plan:
        case Project(below, value):
            return _project(_compile_rows(below, semantics), _scalar(value, semantics))
        case Distinct(below):
            return _distinct(_compile_values(below, semantics), semantics.canonical)
        case Slice(below, offset, limit):
            return _slice(_compile_values(below, semantics), _scalar(offset, semantics), _scalar(limit, semantics))
        case _:
            raise TypeError(f"{type(plan).__name__} has rows and no values: a plan ends with Project")


def _compile_rows(plan: Plan, semantics: Semantics) -> Rows:
    match plan:
        case Single():
            return lambda row: iter(([row],))
        case Scan():
            return _scan
        case Bind(below, value):
            return _bind(_compile_rows(below, semantics), _scalar(value, semantics))
        case Unnest(below, value):
            return _unnest(_compile_rows(below, semantics), _scalar(value, semantics))
        case Derive(below):
            return _derive(_compile_values(below, semantics))
        case Filter(_, Constant(value)) if value is not True:
            return lambda _: iter(())
        case Filter(below, condition):
            return _filter(_compile_rows(below, semantics), _scalar(condition, semantics))
        case Sort(below, keys, omit, most):
            values = [(_scalar(key.value, semantics), key.descending) for key in keys]
            bounds = [_scalar(bound, semantics) for bound in most]
            return _sort(_compile_rows(below, semantics), values, omit, bounds, semantics)
        case Group(below, group_keys, calls):
            folds = [(AGGREGATES[call.name], _scalar(call.argument, semantics)) for call in calls]
            grouped = [_scalar(key, semantics) for key in group_keys]
            return _group(_compile_rows(below, semantics), grouped, folds, semantics)
        case _:
            raise TypeError(f"{type(plan).__name__} has values and no rows")


def _scalar(scalar: Scalar, semantics: Semantics) -> Compiled:
    return compile_scalar(scalar, semantics, lambda plan: _compile_values(plan, semantics))


def _scan(row: Row) -> Iterator[list[Row]]:
    for batch in row[RUN].source.scan():
        yield [(*row, item) for item in batch]


def _bind(below: Rows, value: Compiled) -> Rows:
    def run(outer: Row) -> Iterator[list[Row]]:
        for batch in below(outer):
            yield [(*row, found) for row in batch if (found := value(row)) is not UNDEFINED]

    return run


def _unnest(below: Rows, value: Compiled) -> Rows:
    def run(outer: Row) -> Iterator[list[Row]]:
        for batch in below(outer):
            made: list[Row] = []
            for row in batch:
                found = value(row)
                if type(found) is list:
                    made += [(*row, element) for element in found]
                    while len(made) > PIECE:
                        yield made[:PIECE]
                        made = made[PIECE:]
            yield made

    return run


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


def _sort(
    below: Rows, keys: list[tuple[Compiled, bool]], omit: bool, most: list[Compiled], semantics: Semantics
) -> Rows:
    order_key = semantics.order_key
    read = [value for value, _ in keys]

    def arrange(rows: list[tuple[list[Any], Row]]) -> None:
        for place in range(len(keys) - 1, -1, -1):
            rows.sort(key=lambda pair: pair[0][place], reverse=keys[place][1])

    def run(outer: Row) -> Iterator[list[Row]]:
        wanted = sum(_read_count(bound(outer)) for bound in most) if most else MOST_ROWS
        rows: list[tuple[list[Any], Row]] = []
        for batch in below(outer):
            for row in batch:
                values = [value(row) for value in read]
                if not (omit and UNDEFINED in values):
                    rows.append(([order_key(value) for value in values], row))
            if len(rows) > 2 * wanted + PIECE:
                arrange(rows)
                del rows[wanted:]
            _check_held(len(rows))
            yield []
        arrange(rows)
        for start in range(0, min(len(rows), wanted), PIECE):
            yield [row for _, row in rows[start : start + PIECE]]

    return run


def _check_held(count: int) -> None:
    if count > MOST_ROWS:
        reason = f"The query would hold more than {MOST_ROWS} rows to sort, group or tell them apart; narrow it down"
        raise Refusal(Kind.BAD_REQUEST, reason=reason)


def _group(
    below: Rows,
    keys: list[Compiled],
    calls: list[tuple[Callable[[Semantics], Fold], Compiled]],
    semantics: Semantics,
) -> Rows:
    canonical = semantics.canonical
    arguments = [argument for _, argument in calls]

    def start() -> list[Fold]:
        return [aggregate(semantics) for aggregate, _ in calls]

    def run(outer: Row) -> Iterator[list[Row]]:
        groups: dict[Hashable, tuple[list[object], list[Fold]]] = {} if keys else {(): ([], start())}
        for batch in below(outer):
            for row in batch:
                values = [key(row) for key in keys]
                place = tuple(map(canonical, values))
                group = groups.get(place)
                if group is None:
                    group = groups[place] = (values, start())
                for fold, argument in zip(group[1], arguments, strict=True):
                    fold.add(argument(row))
            _check_held(len(groups))
            yield []
        made = [(*outer, *values, *(fold.result() for fold in folds)) for values, folds in groups.values()]
        for at in range(0, len(made), PIECE):
            yield made[at : at + PIECE]

    return run


def _project(below: Rows, value: Compiled) -> Values:
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
            _check_held(len(seen))
            yield fresh

    return run


def _slice(below: Values, offset: Compiled, limit: Compiled) -> Values:
    def run(outer: Row) -> Iterator[list[object]]:
        skipped, left = _read_count(offset(outer)), _read_count(limit(outer))
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


def _read_count(value: object) -> int:
    count = whole(value)
    if count is None or count < 0:
        reason = "The counts of TOP, OFFSET and LIMIT must be whole numbers from 0 on"
        raise Refusal(Kind.BAD_REQUEST, reason=reason)
    return count
