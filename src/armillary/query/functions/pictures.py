"""Moments written by a picture, as DateTimeFormat does.

    yyyy yy        year                     HH H  hour of 24       fff    fraction, so many digits (1 to 7)
    MM M           month, MMM MMMM names    hh h  hour of 12       FFF    the same without zeros at its end
    dd d           day, ddd dddd names      mm m  minute           tt t   AM and PM
    \\x             the character x          ss s  second

The law: every other character stands for itself.
"""

import re
from collections.abc import Callable
from datetime import date
from typing import Final

from armillary.query.functions.moments import Moment

_WORDS: Final = re.compile(r"\\(.)|y+|M{1,4}|d{1,4}|HH?|hh?|mm?|ss?|f{1,7}|F{1,7}|tt?", re.DOTALL)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def format_moment(moment: Moment, picture: str) -> str:
    def write(found: re.Match[str]) -> str:
        return found[1] if found[1] is not None else _WRITERS[found[0][0]](moment, len(found[0]))

    return _WORDS.sub(write, picture)


def _pad(number: int, width: int) -> str:
    return f"{number:0{width}}"


def _year(moment: Moment, width: int) -> str:
    return _pad(moment.year % 100 if width < 3 else moment.year, width)


def _month(moment: Moment, width: int) -> str:
    if width > 2:
        name = _MONTHS[moment.month - 1]
        return name[:3] if width == 3 else name
    return _pad(moment.month, width)


def _day(moment: Moment, width: int) -> str:
    if width > 2:
        name = _DAYS[date(moment.year, moment.month, moment.day).weekday()]
        return name[:3] if width == 3 else name
    return _pad(moment.day, width)


def _fraction(moment: Moment, width: int) -> str:
    return _pad(moment.fraction, 7)[:width]


def _half(moment: Moment, width: int) -> str:
    return "AM"[:width] if moment.hour < 12 else "PM"[:width]


_WRITERS: Final[dict[str, Callable[[Moment, int], str]]] = {
    "y": _year,
    "M": _month,
    "d": _day,
    "H": lambda moment, width: _pad(moment.hour, width),
    "h": lambda moment, width: _pad((moment.hour + 11) % 12 + 1, width),
    "m": lambda moment, width: _pad(moment.minute, width),
    "s": lambda moment, width: _pad(moment.second, width),
    "f": _fraction,
    "F": lambda moment, width: _fraction(moment, width).rstrip("0"),
    "t": _half,
}
