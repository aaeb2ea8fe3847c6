"""JSON values as the naive evaluator sees them: undefined is a value of its own, and every number is a double.

A value is `UNDEFINED`, None, a bool, a float, a str, a list or a dict of values.
"""

import enum
import math
from decimal import Decimal
from typing import Any, Final

Value = Any

# The sources disagree whether values of two types are simply unequal or cannot be compared: "undefined" or "false".
CROSS_TYPE_EQUALITY = "undefined"

KINDS: Final = ("undefined", "null", "boolean", "number", "string", "array", "object")


class Missing(enum.Enum):
    """The type of undefined, which has one member."""

    UNDEFINED = "undefined"


UNDEFINED: Final = Missing.UNDEFINED


class QueryError(Exception):
    """A query that has no answer; `code` says why in one word (or is the code that the service gives)."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code


def kind(value: Value) -> str:
    """One of KINDS."""
    if value is UNDEFINED:
        return "undefined"
    if value is None:
        return "null"
    for name, types in (("boolean", bool), ("number", (int, float)), ("string", str), ("array", list)):
        if isinstance(value, types):  # a bool is an int too: the order of the rows matters
            return name
    return "object"


def take(value: Value) -> Value:
    """A value from outside: its numbers become doubles."""
    match kind(value):
        case "number":
            return float(value)
        case "array":
            return [take(item) for item in value]
        case "object":
            return {name: take(item) for name, item in value.items()}
    return value


def give(value: Value) -> Value:
    """A value for outside: whole numbers that a double holds exactly become ints, for the eye of the reader."""
    match kind(value):
        case "number":
            return int(value) if value.is_integer() and abs(value) <= 2**53 else value
        case "array":
            return [give(item) for item in value]
        case "object":
            return {name: give(item) for name, item in value.items()}
    return value


def number(value: float) -> Value:
    """The result of arithmetic: JSON has no infinity and no NaN."""
    return float(value) if math.isfinite(value) else UNDEFINED


def identity(value: Value) -> Any:
    """Something hashable that is equal for equal values: the order of properties does not count, the type does."""
    match kind(value):
        case "number":
            return ("number", float(value))
        case "array":
            return ("array", tuple(identity(item) for item in value))
        case "object":
            return ("object", frozenset((name, identity(item)) for name, item in value.items()))
    return (kind(value), value)


def same(left: Value, right: Value) -> bool:
    """Deep equality that is always true or false."""
    return bool(identity(left) == identity(right))


def equal(left: Value, right: Value) -> Value:
    """The operator `=`: true, false or undefined."""
    if left is UNDEFINED or right is UNDEFINED:
        return UNDEFINED
    if kind(left) != kind(right):
        return UNDEFINED if CROSS_TYPE_EQUALITY == "undefined" else False
    return same(left, right)


def rank(value: Value) -> tuple[Any, ...]:
    """A sort key: undefined < null < false < true < numbers < strings (UTF-16) < arrays < objects.

    The facts do not order arrays among themselves, nor objects: they are all tied.
    """
    place = KINDS.index(kind(value))
    match kind(value):
        case "boolean" | "number":
            return (place, float(value))
        case "string":
            return (place, utf16(value))
    return (place,)


def utf16(text: str) -> bytes:
    """Bytes that compare as the UTF-16 units of the text do."""
    return text.encode("utf-16-be", "surrogatepass")


def show_number(value: float) -> str:
    """A number as JavaScript writes it."""
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(repr(value)), "f")
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, rest = digits[0], "".join(map(str, digits[1:]))
    power = int(exponent) + len(digits) - 1
    return f"{'-' * sign}{first}{'.' * bool(rest)}{rest}e{power:+d}"
