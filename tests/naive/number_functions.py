"""Mathematics, on doubles and on integers of 64 bits. A result that is no finite number is undefined."""

import math
import random
from collections.abc import Callable, Mapping
from typing import Final

from tests.naive.values import UNDEFINED, Value, number

INT64: Final = 2**63


def finite(body: Callable[..., float]) -> Callable[..., Value]:
    """A function of floats whose every failure is undefined."""

    def run(*arguments: float) -> Value:
        try:
            return number(body(*arguments))
        except (ValueError, OverflowError, ZeroDivisionError):
            return UNDEFINED

    return run


def whole(body: Callable[..., int]) -> Callable[..., Value]:
    """A function of integers of 64 bits; a result that does not fit is undefined."""

    def run(*arguments: int) -> Value:
        try:
            result = body(*arguments)
        except (ValueError, OverflowError, ZeroDivisionError):
            return UNDEFINED
        fit = all(-INT64 <= value < INT64 for value in (*arguments, result))
        return float(result) if fit else UNDEFINED

    return run


def logarithm(value: float, base: float | None = None) -> float:
    return math.log(value) if base is None else math.log(value) / math.log(base)


def power(base: float, exponent: float) -> float:
    return math.pow(base, exponent)


def round_half_away(value: float, digits: int = 0) -> float:
    scale = 10.0**digits
    scaled = value * scale
    near = math.trunc(scaled)
    if abs(scaled - near) >= 0.5:
        near += 1 if scaled > 0 else -1
    return near / scale


def sign(value: float) -> float:
    return (value > 0) - (value < 0)


def bin_number(value: float, size: float = 1.0) -> float:
    """The greatest multiple of the size that is not above the value."""
    if size <= 0:
        raise ValueError(size)
    return math.floor(value / size) * size


def divide(left: int, right: int) -> int:
    """Towards zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder(left: int, right: int) -> int:
    return left - right * divide(left, right)


def shift_left(value: int, count: int) -> int:
    if count < 0:
        raise ValueError(count)
    return 0 if count >= 64 else (value * 2**count + INT64) % (2 * INT64) - INT64


def shift_right(value: int, count: int) -> int:
    if count < 0:
        raise ValueError(count)
    return value >> min(count, 64)


TABLE: Final[Mapping[str, tuple[str, Callable[..., Value]]]] = {
    "ABS": ("n", finite(abs)),
    "ACOS": ("n", finite(math.acos)),
    "ASIN": ("n", finite(math.asin)),
    "ATAN": ("n", finite(math.atan)),
    "ATN2": ("n n", finite(math.atan2)),
    "CEILING": ("n", finite(math.ceil)),
    "COS": ("n", finite(math.cos)),
    "COT": ("n", finite(lambda value: 1 / math.tan(value))),
    "DEGREES": ("n", finite(math.degrees)),
    "EXP": ("n", finite(math.exp)),
    "FLOOR": ("n", finite(math.floor)),
    "INTADD": ("i i", whole(lambda left, right: left + right)),
    "INTBITAND": ("i i", whole(lambda left, right: left & right)),
    "INTBITLEFTSHIFT": ("i i", whole(shift_left)),
    "INTBITNOT": ("i", whole(lambda value: ~value)),
    "INTBITOR": ("i i", whole(lambda left, right: left | right)),
    "INTBITRIGHTSHIFT": ("i i", whole(shift_right)),
    "INTBITXOR": ("i i", whole(lambda left, right: left ^ right)),
    "INTDIV": ("i i", whole(divide)),
    "INTMOD": ("i i", whole(remainder)),
    "INTMUL": ("i i", whole(lambda left, right: left * right)),
    "INTSUB": ("i i", whole(lambda left, right: left - right)),
    "LOG": ("n n?", finite(logarithm)),
    "LOG10": ("n", finite(math.log10)),
    "NUMBERBIN": ("n n?", finite(bin_number)),
    "PI": ("", finite(lambda: math.pi)),
    "POWER": ("n n", finite(power)),
    "RADIANS": ("n", finite(math.radians)),
    "RAND": ("", lambda: random.random()),
    "ROUND": ("n i?", finite(round_half_away)),
    "SIGN": ("n", finite(sign)),
    "SIN": ("n", finite(math.sin)),
    "SQRT": ("n", finite(math.sqrt)),
    "SQUARE": ("n", finite(lambda value: value * value)),
    "TAN": ("n", finite(math.tan)),
    "TRUNC": ("n", finite(math.trunc)),
}
