"""Functions on arrays, sets and objects. A set is an array in which equal values count once."""

from collections.abc import Callable, Mapping
from typing import Final

from tests.naive.aggregates import add, average, greatest, least, make_set, median
from tests.naive.values import UNDEFINED, Value, identity, kind, same


def contains(values: list[Value], wanted: Value, partial: bool = False) -> bool:
    test = fits if partial else same
    return any(test(wanted, value) for value in values)


def decide(values: list[Value], wanted: tuple[Value, ...], enough: bool) -> Value:
    """One answer like `enough` decides; else an undefined one leaves it open (the reference has such examples)."""
    found = [UNDEFINED if one is UNDEFINED else contains(values, one) for one in wanted]
    if any(one is enough for one in found):
        return enough
    return UNDEFINED if any(one is UNDEFINED for one in found) else not enough


def fits(wanted: Value, value: Value) -> bool:
    """Whether the value has everything that is wanted, and maybe more properties."""
    if kind(wanted) == "object" and kind(value) == "object":
        return all(name in value and fits(part, value[name]) for name, part in wanted.items())
    return same(wanted, value)


def try_contains(values: Value, wanted: Value, partial: Value = False) -> bool:
    return kind(values) == "array" and contains(values, wanted, partial is True)


def concat(*arrays: list[Value]) -> list[Value]:
    return [value for array in arrays for value in array]


def cut(values: list[Value], start: int, size: int | None = None) -> list[Value]:
    first = max(len(values) + start, 0) if start < 0 else start
    return values[first:] if size is None else values[first:][: max(size, 0)]


def choose(place: int, *values: Value) -> Value:
    return values[place - 1] if 1 <= place <= len(values) else UNDEFINED


def list_pairs(value: dict[str, Value], name: str = "k", content: str = "v") -> list[Value]:
    return [{name: key, content: held} for key, held in value.items()]


def subtract(left: list[Value], right: list[Value]) -> list[Value]:
    return [value for value in make_set(left) if not contains(right, value)]


def intersect(left: list[Value], right: list[Value]) -> list[Value]:
    return [value for value in make_set(left) if contains(right, value)]


def unite(left: list[Value], right: list[Value]) -> list[Value]:
    return list(make_set([*left, *right]))


def equal_sets(left: list[Value], right: list[Value]) -> bool:
    return {identity(value) for value in left} == {identity(value) for value in right}


TABLE: Final[Mapping[str, tuple[str, Callable[..., Value]]]] = {
    "ARRAY_AVG": ("a", average),
    "ARRAY_CONCAT": ("a a+", concat),
    "ARRAY_CONTAINS": ("a v b?", contains),
    "ARRAY_CONTAINS_ALL": ("a *+", lambda values, *wanted: decide(values, wanted, False)),
    "ARRAY_CONTAINS_ANY": ("a *+", lambda values, *wanted: decide(values, wanted, True)),
    "ARRAY_LENGTH": ("a", lambda values: float(len(values))),
    "ARRAY_MAX": ("a", greatest),
    "ARRAY_MEDIAN": ("a", median),
    "ARRAY_MIN": ("a", least),
    "ARRAY_SLICE": ("a i i?", cut),
    "ARRAY_SUM": ("a", add),
    "CHOOSE": ("i *+", choose),
    "OBJECTTOARRAY": ("o s? s?", list_pairs),
    "SETDIFFERENCE": ("a a", subtract),
    "SETEQUAL": ("a a", equal_sets),
    "SETINTERSECT": ("a a", intersect),
    "SETUNION": ("a a", unite),
    "_TRY_ARRAY_CONTAINS": ("* v *?", try_contains),
}
