"""Functions over numbers, as doubles: what is no number, or would give none (NaN, infinity), is undefined."""

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from armillary.query.functions import function
from armillary.query.functions.function import Function
from armillary.query.numbers import NUMBERS, narrow, whole
from armillary.values import UNDEFINED

# A double has no digit beyond these places, and the context holds all digits between them.
_LAST_PLACE: Final = 330
_EXACT: Final = Context(prec=1100)


def _numeric(compute: Callable[..., float]) -> Callable[..., object]:
    """The function over numbers only; what mathematics has no answer for is undefined."""

    def call(*numbers: Any) -> object:
        if not NUMBERS.issuperset(map(type, numbers)):
            return UNDEFINED
        try:
            return narrow(compute(*numbers))
        except (ValueError, OverflowError, ZeroDivisionError):
            return UNDEFINED

    return call


def _cotangent(angle: float) -> float:
    return 1 / math.tan(angle)


def _degrees(radians: float) -> float:
    return 180 / math.pi * radians


def _radians(degrees: float) -> float:
    return math.pi * degrees / 180


def _logarithm(number: float, radix: float = math.e) -> float:
    exact = _LOGARITHMS.get(radix)
    return exact(number) if exact else math.log(number) / math.log(radix)


_LOGARITHMS: Final[dict[float, Callable[[float], float]]] = {math.e: math.log, 10: math.log10, 2: math.log2}


def _bin(number: float, size: float = 1) -> float:
    return math.floor(number / size) * size


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _square(number: float) -> float:
    return number * number


def round_number(number: object, digits: object = 0) -> object:
    """ROUND: half away from zero, of the number as it is written; negative digits are before the point."""
    places = whole(digits)
    if type(number) not in NUMBERS or places is None:
        return UNDEFINED
    if places > _LAST_PLACE:
        return number
    if places < -_LAST_PLACE:
        return 0
    step = Decimal(1).scaleb(-places)
    return narrow(float(Decimal(repr(number)).quantize(step, ROUND_HALF_UP, _EXACT)))


def draw_number(context: function.Context) -> object:
    """RAND."""
    return narrow(context.draw())


MATHEMATICS: Final = (
    Function("ABS", 1, 1, _numeric(abs)),
    Function("ACOS", 1, 1, _numeric(math.acos)),
    Function("ASIN", 1, 1, _numeric(math.asin)),
    Function("ATAN", 1, 1, _numeric(math.atan)),
    Function("ATN2", 2, 2, _numeric(math.atan2)),
    Function("CEILING", 1, 1, _numeric(math.ceil)),
    Function("COS", 1, 1, _numeric(math.cos)),
    Function("COT", 1, 1, _numeric(_cotangent)),
    Function("DEGREES", 1, 1, _numeric(_degrees)),
    Function("EXP", 1, 1, _numeric(math.exp)),
    Function("FLOOR", 1, 1, _numeric(math.floor)),
    Function("LOG", 1, 2, _numeric(_logarithm)),
    Function("LOG10", 1, 1, _numeric(math.log10)),
    Function("NumberBin", 1, 2, _numeric(_bin)),
    Function("PI", 0, 0, lambda: math.pi),
    Function("POWER", 2, 2, _numeric(math.pow)),
    Function("RADIANS", 1, 1, _numeric(_radians)),
    Function("RAND", 0, 0, draw_number, deterministic=False, needs_context=True),
    Function("ROUND", 1, 2, round_number),
    Function("SIGN", 1, 1, _numeric(_sign)),
    Function("SIN", 1, 1, _numeric(math.sin)),
    Function("SQRT", 1, 1, _numeric(math.sqrt)),
    Function("SQUARE", 1, 1, _numeric(_square)),
    Function("TAN", 1, 1, _numeric(math.tan)),
    Function("TRUNC", 1, 1, _numeric(math.trunc)),
)
