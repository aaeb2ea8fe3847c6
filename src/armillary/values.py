"""The values that partition keys and ids are made of.

    undefined   nothing there: a missing path, an object or an array where a key value is looked for
    null        JSON null; not the same as undefined
    false, true
    number      an IEEE double whatever its spelling: 5 and 5.0 are one value, 0.0 and -0.0 are two
    string      Unicode text

The law: one value has one meaning everywhere. `True` is never the number 1, and numbers are compared as the doubles
they stand for, so use `is_same` and not `==`. Leaves out: the order of values (`keycode` and the query engine have
their own) and everything that is not a scalar.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, Literal, TypeAlias, TypeGuard


class Undefined(Enum):
    """The type of `UNDEFINED`: one member, so it stays itself when copied or pickled. It is false in a condition."""

    UNDEFINED = "undefined"

    def __repr__(self) -> str:
        return "undefined"

    def __bool__(self) -> Literal[False]:
        return False


UNDEFINED: Final = Undefined.UNDEFINED

KeyValue: TypeAlias = Undefined | bool | float | int | str | None

_NUMBERS: Final = (int, float)
_SCALARS: Final = (str, int, float, Undefined)  # bool is an int; a tuple is checked faster than a union


def key_value(found: object) -> KeyValue:
    """What was found, taken as a key value: scalars are themselves, objects and arrays count as undefined.

    >>> key_value("a"), key_value(None), key_value({"a": 1}), key_value([1])
    ('a', None, undefined, undefined)
    """
    if found is None or isinstance(found, _SCALARS):
        return found
    return UNDEFINED


def value_at(item: Mapping[str, object], names: Sequence[str]) -> KeyValue:
    """The key value at a path of property names; undefined where the path leads nowhere.

    >>> value_at({"address": {"zip": "98052"}}, ("address", "zip"))
    '98052'
    >>> value_at({"address": ["98052"]}, ("address", "0"))
    undefined
    """
    found: object = item
    for name in names:
        if not isinstance(found, Mapping):
            return UNDEFINED
        found = found.get(name, UNDEFINED)
    return key_value(found)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number; a boolean is none."""
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def is_same(one: KeyValue, other: KeyValue) -> bool:
    """Whether two key values are one.

    >>> is_same(5, 5.0), is_same(1, True), is_same(0.0, -0.0), is_same(None, UNDEFINED)
    (True, False, False, False)
    """
    if is_number(one) and is_number(other):
        return repr(float(one)) == repr(float(other))  # the shortest spelling is exact, and tells the two zeros apart
    return type(one) is type(other) and one == other
