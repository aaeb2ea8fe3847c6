"""Moments: as text, as units of 100 ns since 1970 (ticks), and as the parts of the calendar, always in UTC.

    YYYY-MM-DD[(T| )hh:mm:ss[.f to .fffffff]][Z]      is read
    YYYY-MM-DDThh:mm:ss.fffffffZ                      is written

The law: a moment is a whole number of ticks in the years 1 to 9999; what is written is read back as the same moment,
and written moments sort as they follow each other.
"""

import re
from datetime import date
from typing import Final, NamedTuple

from armillary.clock import TICKS_PER_SECOND

NANOSECONDS_PER_TICK: Final = 1_000_000_000 // TICKS_PER_SECOND
TICKS_PER_MILLISECOND: Final = TICKS_PER_SECOND // 1000
_TICKS_PER_DAY: Final = 86_400 * TICKS_PER_SECOND
_EPOCH: Final = date(1970, 1, 1).toordinal()
_FIRST: Final = (date.min.toordinal() - _EPOCH) * _TICKS_PER_DAY
_END: Final = (date.max.toordinal() - _EPOCH + 1) * _TICKS_PER_DAY
_TEXT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,7}))?)?Z?",
    re.ASCII,
)


class Moment(NamedTuple):
    """A moment taken apart; `fraction` is what is over the second, in ticks."""

    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: int = 0
    fraction: int = 0


def read_moment(value: object) -> int | None:
    """The moment that a text names, in ticks; None where it names none."""
    found = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction = found.groups("0")
    ticks = int(fraction.ljust(7, "0"))
    return join_moment(Moment(int(year), int(month), int(day), int(hour), int(minute), int(second), ticks))


def join_moment(moment: Moment) -> int | None:
    """The ticks of a moment; None where the calendar or the clock has no such moment."""
    year, month, day, hour, minute, second, fraction = moment
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= fraction < TICKS_PER_SECOND):
        return None
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except (ValueError, OverflowError):
        return None
    return days * _TICKS_PER_DAY + (hour * 3600 + minute * 60 + second) * TICKS_PER_SECOND + fraction


def split_moment(ticks: int) -> Moment | None:
    """The moment of so many ticks; None outside the years 1 to 9999."""
    if not _FIRST <= ticks < _END:
        return None
    days, rest = divmod(ticks, _TICKS_PER_DAY)
    seconds, fraction = divmod(rest, TICKS_PER_SECOND)
    minutes, second = divmod(seconds, 60)
    day = date.fromordinal(days + _EPOCH)
    return Moment(day.year, day.month, day.day, minutes // 60, minutes % 60, second, fraction)


def write_moment(ticks: int) -> str | None:
    """The text of a moment; None outside the years 1 to 9999."""
    moment = split_moment(ticks)
    if moment is None:
        return None
    year, month, day, hour, minute, second, fraction = moment
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z"


def add_months(ticks: int, months: int) -> int | None:
    """The same day so many months later, or the last of that month where it has no such day."""
    moment = split_moment(ticks)
    if moment is None:
        return None
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        return None
    moved = moment._replace(year=year, month=month + 1, day=min(moment.day, _last_day(year, month + 1)))
    return join_moment(moved)


def _last_day(year: int, month: int) -> int:
    if month == 12:
        return 31
    return (date(year, month + 1, 1) - date(year, month, 1)).days
