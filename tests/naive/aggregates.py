"""Aggregates over the values of one expression in all rows of a group, in the order of the rows."""

from collections.abc import Callable
from typing import Final

from tests.naive.values import UNDEFINED, Value, identity, kind, number, rank


def count(values: list[Value]) -> Value:
    return float(len(defined(values)))


def count_true(values: list[Value]) -> Value:
    return float(sum(value is True for value in values))


def add(values: list[Value]) -> Value:
    """Nothing sums up to 0; one value that is no number makes the sum undefined."""
    if any(kind(value) != "number" for value in defined(values)):
        return UNDEFINED
    return number(sum(defined(values), 0.0))


def average(values: list[Value]) -> Value:
    total, size = add(values), len(defined(values))
    return UNDEFINED if total is UNDEFINED or not size else number(total / size)


def least(values: list[Value]) -> Value:
    return extreme(values, min)


def greatest(values: list[Value]) -> Value:
    return extreme(values, max)


def extreme(values: list[Value], choose: Callable[..., Value]) -> Value:
    """The first or last in the order of types and values; arrays and objects have no place in it."""
    if any(kind(value) in ("array", "object") for value in values):
        return UNDEFINED
    return choose(defined(values), key=rank, default=UNDEFINED)


def median(values: list[Value]) -> Value:
    if any(kind(value) != "number" for value in defined(values)) or not defined(values):
        return UNDEFINED
    ordered = sorted(defined(values))
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else number((ordered[middle - 1] + ordered[middle]) / 2)


def make_set(values: list[Value]) -> Value:
    """Without repetitions, in the order of first appearance."""
    return list({identity(value): value for value in reversed(defined(values))}.values())[::-1]


def defined(values: list[Value]) -> list[Value]:
    return [value for value in values if value is not UNDEFINED]


AGGREGATES: Final[dict[str, Callable[[list[Value]], Value]]] = {
    "AVG": average,
    "COUNT": count,
    "COUNTIF": count_true,
    "MAKELIST": defined,
    "MAKESET": make_set,
    "MAX": greatest,
    "MIN": least,
    "SUM": add,
}
