"""Functions that ask what a value is: they answer true or false for every value, undefined too."""

from collections.abc import Callable
from typing import Final

from armillary.query.functions.function import Function
from armillary.query.functions.moments import read_moment
from armillary.query.numbers import NUMBERS, whole
from armillary.values import UNDEFINED

_PRIMITIVES: Final = (str, int, float, type(None))  # a boolean is an int


def _is_of(kind: type) -> Callable[[object], bool]:
    def check(value: object) -> bool:
        return type(value) is kind

    return check


def is_defined(value: object) -> bool:
    return value is not UNDEFINED


def is_number(value: object) -> bool:
    return type(value) in NUMBERS


def is_finite_number(value: object) -> bool:
    """Numbers of JSON are finite, and so is every number that leaves an operator."""
    return type(value) in NUMBERS


def is_integer(value: object) -> bool:
    """Whether this is a whole number of 64 bits with a sign; the largest is one as a double, as the service has it."""
    number = whole(value)
    return number is not None and -(1 << 63) <= number <= 1 << 63


def is_primitive(value: object) -> bool:
    return isinstance(value, _PRIMITIVES)


def is_datetime(value: object) -> bool:
    return read_moment(value) is not None


TYPES: Final = (
    Function("IS_ARRAY", 1, 1, _is_of(list)),
    Function("IS_BOOL", 1, 1, _is_of(bool)),
    Function("IS_DATETIME", 1, 1, is_datetime),
    Function("IS_DEFINED", 1, 1, is_defined),
    Function("IS_FINITE_NUMBER", 1, 1, is_finite_number),
    Function("IS_INTEGER", 1, 1, is_integer),
    Function("IS_NULL", 1, 1, _is_of(type(None))),
    Function("IS_NUMBER", 1, 1, is_number),
    Function("IS_OBJECT", 1, 1, _is_of(dict)),
    Function("IS_PRIMITIVE", 1, 1, is_primitive),
    Function("IS_STRING", 1, 1, _is_of(str)),
)
