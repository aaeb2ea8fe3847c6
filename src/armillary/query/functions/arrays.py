"""Functions over arrays and objects; what is no array (or object) where one is expected makes the answer undefined.

Members are compared as `=` does: 1 and 1.0 are one, 1 and true are two, and objects are equal whatever the order of
their properties. Sets are arrays without duplicates.
"""

from collections.abc import Callable, Hashable, Iterable
from functools import reduce
from statistics import median
from typing import Any, Final

from armillary.query.functions.function import UNBOUNDED, Function
from armillary.query.numbers import NUMBERS, narrow, whole
from armillary.query.semantics import both, canonical, either, is_same, order_key
from armillary.query.texts import LONGEST
from armillary.values import UNDEFINED

_NODES: Final = frozenset((list, dict))


def concatenate(*arrays: object) -> object:
    """ARRAY_CONCAT."""
    joined: list[object] = []
    for array in arrays:
        if not isinstance(array, list) or len(joined) + len(array) > LONGEST:
            return UNDEFINED
        joined += array
    return joined


def contains(array: object, wanted: object, partly: object = False) -> object:
    """ARRAY_CONTAINS: partly, an object is found where its properties are."""
    partly = False if partly is UNDEFINED else partly
    if not isinstance(array, list) or wanted is UNDEFINED or not isinstance(partly, bool):
        return UNDEFINED
    if partly and isinstance(wanted, dict):
        return any(isinstance(member, dict) and _holds(member, wanted) for member in array)
    return any(is_same(member, wanted) for member in array)


def _holds(member: dict[str, object], wanted: dict[str, object]) -> bool:
    return all(name in member and is_same(member[name], value) for name, value in wanted.items())


def _gathering(gather: Callable[[object, object], object]) -> Callable[..., object]:
    """ARRAY_CONTAINS_ALL and ARRAY_CONTAINS_ANY: AND and OR over ARRAY_CONTAINS."""

    def call(array: object, *wanted: object) -> object:
        return reduce(gather, [contains(array, value) for value in wanted])

    return call


def count_members(array: object) -> object:
    return len(array) if isinstance(array, list) else UNDEFINED


def take_slice(array: object, start: object, *length: object) -> object:
    """ARRAY_SLICE: a negative start counts from the end; a length that is not positive takes nothing."""
    first = whole(start)
    count = whole(length[0]) if length else len(array) if isinstance(array, list) else None
    if not isinstance(array, list) or first is None or count is None:
        return UNDEFINED
    if first < 0:
        first = max(0, first + len(array))
    return array[first : first + max(0, count)]


def _numeric(compute: Callable[[list[Any]], float], empty: object = UNDEFINED) -> Callable[[object], object]:
    """The function over arrays of numbers only."""

    def call(array: object) -> object:
        if not isinstance(array, list) or not NUMBERS.issuperset(map(type, array)):
            return UNDEFINED
        return narrow(compute(array)) if array else empty

    return call


def _add(numbers: Iterable[float]) -> float:
    total: float = 0
    for number in numbers:  # one after the other, as doubles: sum() of Python 3.12 is more exact than the service
        total += number
    return total


def _average(numbers: list[float]) -> float:
    return _add(numbers) / len(numbers)


def _extreme(pick: Callable[..., object]) -> Callable[[object], object]:
    """The function over arrays of primitive values, in the order of all types."""

    def call(array: object) -> object:
        if not isinstance(array, list) or not array or not _NODES.isdisjoint(map(type, array)):
            return UNDEFINED
        return pick(array, key=order_key)

    return call


def list_properties(value: object, name: object = "k", content: object = "v") -> object:
    """ObjectToArray."""
    if not isinstance(value, dict) or not isinstance(name, str) or not isinstance(content, str):
        return UNDEFINED
    return [{name: key, content: child} for key, child in value.items()]


def _index(members: Iterable[object]) -> dict[Hashable, object]:
    """The members without duplicates, in their order, by what makes them equal."""
    found: dict[Hashable, object] = {}
    for member in members:
        found.setdefault(canonical(member), member)
    return found


def _on_sets(compute: Callable[[list[object], list[object]], object]) -> Callable[[object, object], object]:
    def call(one: object, other: object) -> object:
        return compute(one, other) if isinstance(one, list) and isinstance(other, list) else UNDEFINED

    return call


def _intersect(one: list[object], other: list[object]) -> list[object]:
    kept = _index(one)  # the answer has the order of the second, as the service's has
    return [member for form, member in _index(other).items() if form in kept]


def _subtract(one: list[object], other: list[object]) -> list[object]:
    left_out = _index(other)
    return [member for form, member in _index(one).items() if form not in left_out]


def _unite(one: list[object], other: list[object]) -> list[object]:
    return list(_index(one + other).values())


def _are_equal(one: list[object], other: list[object]) -> bool:
    return _index(one).keys() == _index(other).keys()


ARRAYS: Final = (
    Function("_TRY_ARRAY_CONTAINS", 2, 3, contains),
    Function("ARRAY_AVG", 1, 1, _numeric(_average)),
    Function("ARRAY_CONCAT", 2, UNBOUNDED, concatenate),
    Function("ARRAY_CONTAINS", 2, 3, contains),
    Function("ARRAY_CONTAINS_ALL", 2, UNBOUNDED, _gathering(both)),
    Function("ARRAY_CONTAINS_ANY", 2, UNBOUNDED, _gathering(either)),
    Function("ARRAY_LENGTH", 1, 1, count_members),
    Function("ARRAY_MAX", 1, 1, _extreme(max)),
    Function("ARRAY_MEDIAN", 1, 1, _numeric(median)),
    Function("ARRAY_MIN", 1, 1, _extreme(min)),
    Function("ARRAY_SLICE", 2, 3, take_slice),
    Function("ARRAY_SUM", 1, 1, _numeric(_add, empty=0)),
    Function("ObjectToArray", 1, 3, list_properties),
    Function("SetDifference", 2, 2, _on_sets(_subtract)),
    Function("SetEqual", 2, 2, _on_sets(_are_equal)),
    Function("SetIntersect", 2, 2, _on_sets(_intersect)),
    Function("SetUnion", 2, 2, _on_sets(_unite)),
)
