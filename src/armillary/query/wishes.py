"""From plans to wishes: which conditions and which order of a plan an index could serve.

    Sort c.a DESC                         Sort c.a DESC
      Filter (c.b = @b) AND (c.d > 1)       Filter (c.b = @b) AND (c.d > 1)
        Scan c                                Scan c [b = @b, d > 1; a DESC]

Nothing is taken away from the plan: a source that serves a wish badly, or not at all, makes it slower and never wrong.
Tests hold scalars, since parameters differ from run to run; `compile_wish` turns them into values.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from armillary.query.expressions import Compiled, Row
from armillary.query.plan import Bind, Filter, Plan, Scan, Sort, Test, Unnest, input_of, rewrite_everywhere, with_input
from armillary.query.scalars import RUN, Among, Apply, Constant, Invoke, Parameter, Scalar, Variable, path_of
from armillary.query.source import EACH, Condition, Interval, Run, Wish
from armillary.values import UNDEFINED

_FLIPPED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def wish_terms(plan: Plan) -> Plan:
    """Write on the scan what filters and sort above it let an index do."""

    def wish(node: Plan) -> Plan:
        match node:
            case Filter(Scan() as scan, condition):
                tests = tuple(filter(None, (_test(part, scan.slot) for part in conjuncts_of(condition))))
                return replace(node, input=replace(scan, tests=tests))
            case Sort():
                return _wish_order(node)
            case _:
                return node

    return rewrite_everywhere(plan, wish)


def conjuncts_of(condition: Scalar) -> list[Scalar]:
    """The conditions that must all be true; a filter keeps a row for nothing less."""
    if isinstance(condition, Apply) and condition.op == "AND":
        return [part for operand in condition.operands for part in conjuncts_of(operand)]
    return [condition]


def _wish_order(sort: Sort) -> Plan:
    paths = [path_of(key.value) for key in sort.keys]

    def wish(node: Plan) -> Plan:
        if isinstance(node, Scan):
            found = [path[1] for path in paths if path is not None and path[0].slot == node.slot]
            if len(found) == len(sort.keys):
                directions = [key.descending for key in sort.keys]
                return replace(node, order=tuple(zip(found, directions, strict=True)), omit=sort.omit)
        below = input_of(node)
        return with_input(node, wish(below)) if below and isinstance(node, Filter | Bind | Unnest) else node

    return replace(sort, input=wish(sort.input))


# tests


def _test(condition: Scalar, slot: int) -> Test | None:
    """The condition as a test of one path; None where it is none."""
    match condition:
        case Apply("=" | "<" | "<=" | ">" | ">=" as op, (left, right)):
            return _compare(left, op, right, slot) or _compare(right, _FLIPPED[op], left, slot)
        case Apply("BETWEEN", (value, *bounds)):
            return _make(value, "BETWEEN", tuple(bounds), slot)
        case Apply("OR", operands):
            parts = [_test(operand, slot) for operand in operands]
            known = [part for part in parts if part is not None]
            alike = len(known) == len(parts) and len({part.path for part in known}) == 1
            return Test(known[0].path, "OR", tuple(known)) if alike else None
        case Among(value, items):
            return _make(value, "IN", items, slot)
        case Invoke("IS_DEFINED", (value,)):
            return _make(value, "IS_DEFINED", (), slot)
        case Invoke("STARTSWITH", (value, prefix)):
            return _make(value, "STARTSWITH", (prefix,), slot)
        case Invoke("ARRAY_CONTAINS", (value, member)):
            found = _make(value, "=", (member,), slot)
            return found and replace(found, path=(*found.path, EACH))
        case _:
            return None


def _compare(value: Scalar, op: str, other: Scalar, slot: int) -> Test | None:
    return _make(value, op, (other,), slot)


def _make(value: Scalar, op: str, operands: tuple[Scalar, ...], slot: int) -> Test | None:
    found = path_of(value)
    if found is None or found[0] != Variable(slot, found[0].name) or not found[1]:
        return None
    return Test(found[1], op, operands) if all(isinstance(part, Constant | Parameter) for part in operands) else None


# values


def compile_wish(scan: Scan, compiled: Callable[[Scalar], Compiled]) -> Callable[[Row], Wish]:
    """What makes the wish of a scan when a run begins."""
    makers = [(test.path, _compile_test(test, compiled)) for test in scan.tests]
    first = scan.order[0][0] if scan.omit and scan.order else None

    def make(row: Row) -> Wish:
        run: Run = row[RUN]
        conditions = [Condition(path, tuple(make(row))) for path, make in makers]
        if first is not None and first not in run.listed:
            conditions.append(Condition(first, run.left or (Interval(),)))
        return Wish(tuple(conditions), scan.order)

    return make


def _compile_test(test: Test, compiled: Callable[[Scalar], Compiled]) -> Callable[[Row], Iterable[Interval]]:
    if test.op == "OR":
        parts = [_compile_test(part, compiled) for part in test.operands if isinstance(part, Test)]
        return lambda row: [interval for part in parts for interval in part(row)]
    values = [compiled(operand) for operand in test.operands if not isinstance(operand, Test)]
    make = _INTERVALS[test.op]
    return lambda row: make(*[value(row) for value in values])


def _equal(*values: object) -> list[Interval]:
    return [Interval(value, value) for value in values if value is not UNDEFINED]


def _from(value: object, *, closed: bool) -> list[Interval]:
    return [] if value is UNDEFINED else [Interval(low=value, with_low=closed)]


def _up_to(value: object, *, closed: bool) -> list[Interval]:
    return [] if value is UNDEFINED else [Interval(high=value, with_high=closed)]


def _between(low: object, high: object) -> list[Interval]:
    return [] if low is UNDEFINED or high is UNDEFINED else [Interval(low, high)]


def _starting(prefix: object) -> list[Interval]:
    return [Interval(low=prefix, prefix=True)] if isinstance(prefix, str) else []


_INTERVALS: Final[dict[str, Callable[..., list[Interval]]]] = {
    "=": _equal,
    "IN": _equal,
    ">": lambda value: _from(value, closed=False),
    ">=": lambda value: _from(value, closed=True),
    "<": lambda value: _up_to(value, closed=False),
    "<=": lambda value: _up_to(value, closed=True),
    "BETWEEN": _between,
    "STARTSWITH": _starting,
    "IS_DEFINED": lambda: [Interval()],
}


def left_behind(value: object, *, descending: bool) -> tuple[Interval, ...]:
    """What an order without undefined has left at a value of its first path: that value and what follows."""
    return (Interval(high=value, across=True) if descending else Interval(low=value, across=True),)
