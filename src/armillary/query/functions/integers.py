"""Functions over whole numbers of 64 bits: results wrap around, a shift takes its count modulo 64.

An argument that is not whole or does not fit is no argument: the answer is undefined. A result leaves as a double, like
every number.
"""

import operator
from collections.abc import Callable
from typing import Final

from armillary.query.functions.function import Function
from armillary.query.numbers import narrow, whole
from armillary.values import UNDEFINED

_LIMIT: Final = 1 << 63
_MASK: Final = (1 << 64) - 1


def read_integer(value: object) -> int | None:
    """The value as a whole number of 64 bits; None where it is none."""
    number = whole(value)
    return number if number is not None and -_LIMIT <= number < _LIMIT else None


def _integral(compute: Callable[..., int | None]) -> Callable[..., object]:
    def call(*values: object) -> object:
        numbers = [number for number in map(read_integer, values) if number is not None]
        result = compute(*numbers) if len(numbers) == len(values) else None
        return UNDEFINED if result is None else narrow(_wrap(result))

    return call


def _wrap(number: int) -> int:
    return (number + _LIMIT & _MASK) - _LIMIT


def _divide(one: int, other: int) -> int | None:
    """Cut towards zero."""
    if other == 0:
        return None
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _remain(one: int, other: int) -> int | None:
    """With the sign of the first."""
    if other == 0:
        return None
    rest = abs(one) % abs(other)
    return -rest if one < 0 else rest


def _shift_left(number: int, count: int) -> int:
    return number << (count & 63)


def _shift_right(number: int, count: int) -> int:
    return number >> (count & 63)


INTEGERS: Final = (
    Function("IntAdd", 2, 2, _integral(operator.add)),
    Function("IntBitAnd", 2, 2, _integral(operator.and_)),
    Function("IntBitLeftShift", 2, 2, _integral(_shift_left)),
    Function("IntBitNot", 1, 1, _integral(operator.invert)),
    Function("IntBitOr", 2, 2, _integral(operator.or_)),
    Function("IntBitRightShift", 2, 2, _integral(_shift_right)),
    Function("IntBitXor", 2, 2, _integral(operator.xor)),
    Function("IntDiv", 2, 2, _integral(_divide)),
    Function("IntMod", 2, 2, _integral(_remain)),
    Function("IntMul", 2, 2, _integral(operator.mul)),
    Function("IntSub", 2, 2, _integral(operator.sub)),
)
