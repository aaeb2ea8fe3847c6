"""Numbers as the query language has them: every number is a double, whole ones are kept as whole numbers of Python.

    narrow(7 / 2)   narrow(6 / 2)   narrow(2**53 + 1)    narrow(1e308 * 10)
    3.5             3               9007199254740992     undefined

The law: what leaves an operator or a function is the double that JavaScript would give, spelled as a whole number where
it is one and fits 64 bits, and never NaN or infinite: those are undefined. Minus zero leaves as zero, as JSON's does.
"""

from typing import Final

from armillary.values import UNDEFINED, Undefined

NUMBERS: Final = frozenset((int, float))  # asked by `type(value) in NUMBERS`: a boolean is no number
EXACT: Final = 1 << 53
_WHOLE: Final = float(1 << 63)
_LEAST_32: Final = 1 << 31
_ALL_32: Final = (1 << 32) - 1


def narrow(number: int | float) -> int | float | Undefined:
    """The number as a double, in the form that this module's law gives it."""
    if type(number) is int:
        if -EXACT <= number <= EXACT:
            return number
        try:
            number = float(number)
        except OverflowError:
            return UNDEFINED
    if -_WHOLE < number < _WHOLE:
        whole = int(number)
        return whole if whole == number else number
    return number if number - number == 0 else UNDEFINED  # infinite and NaN minus themselves are NaN


def whole(value: object) -> int | None:
    """The value as a whole number; None where it is none.

    >>> whole(3.0), whole(3.5), whole(True), whole("3")
    (3, None, None, None)
    """
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def to_int32(number: int | float) -> int:
    """The 32 bits that JavaScript's bitwise operators see.

    >>> to_int32(2**31), to_int32(-1.9), to_int32(2**32 + 5)
    (-2147483648, -1, 5)
    """
    bits = int(number) & _ALL_32
    return bits - _ALL_32 - 1 if bits & _LEAST_32 else bits


def to_uint32(number: int | float) -> int:
    return int(number) & _ALL_32


def spell(number: int | float) -> str:
    """The number as JavaScript writes it.

    >>> spell(1.0), spell(1e21), spell(123456789012345680000), spell(1e-7), spell(0.00001)
    ('1', '1e+21', '123456789012345680000', '1e-7', '0.00001')
    """
    value = float(number)
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    head, _, exponent = repr(abs(value)).partition("e")
    left, _, right = head.partition(".")
    digits = (left + right).lstrip("0")
    point = len(left) + int(exponent or 0) - (len(left + right) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        text = digits[:point].ljust(point, "0") + ("." + digits[point:] if len(digits) > point else "")
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + f"e{point - 1:+d}"
    return sign + text
