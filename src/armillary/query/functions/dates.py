"""Functions over dates and times.

    year yyyy yy    month mm m    day dd d    hour hh    minute mi n    second ss s
    millisecond ms    microsecond mcs    nanosecond ns

A difference counts the borders between two moments (from 23:59 to 00:01 is one day); a bin begins at a multiple of its
size after its start. A number of parts is whole. AGO and NOW, like the `Static` functions, know one moment in a
statement: that at which it began; the other three ask again for every row.
"""

from collections.abc import Callable
from typing import Final

from armillary.query.functions.function import Context, Function
from armillary.query.functions.moments import (
    NANOSECONDS_PER_TICK,
    TICKS_PER_MILLISECOND,
    Moment,
    add_months,
    join_moment,
    read_moment,
    split_moment,
    write_moment,
)
from armillary.query.functions.pictures import format_moment
from armillary.query.numbers import narrow, whole
from armillary.values import UNDEFINED

_SECOND: Final = 1_000_000_000
_MONTHS: Final = {"year": 12, "month": 1}
# Parts of one length, in nanoseconds.
_LENGTHS: Final = {
    "day": 86_400 * _SECOND,
    "hour": 3_600 * _SECOND,
    "minute": 60 * _SECOND,
    "second": _SECOND,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
    "nanosecond": 1,
}
_NAMES: Final = {
    "year": ("yyyy", "yy"),
    "month": ("mm", "m"),
    "day": ("dd", "d"),
    "hour": ("hh",),
    "minute": ("mi", "n"),
    "second": ("ss", "s"),
    "millisecond": ("ms",),
    "microsecond": ("mcs",),
    "nanosecond": ("ns",),
}
_PARTS: Final[dict[object, str]] = {name: part for part, names in _NAMES.items() for name in (part, *names)}
_READERS: Final[dict[str, Callable[[Moment], int]]] = {
    "year": lambda moment: moment.year,
    "month": lambda moment: moment.month,
    "day": lambda moment: moment.day,
    "hour": lambda moment: moment.hour,
    "minute": lambda moment: moment.minute,
    "second": lambda moment: moment.second,
    "millisecond": lambda moment: moment.fraction // TICKS_PER_MILLISECOND,
    "microsecond": lambda moment: moment.fraction * NANOSECONDS_PER_TICK // 1_000,
    "nanosecond": lambda moment: moment.fraction * NANOSECONDS_PER_TICK,
}
_EARLIEST_START: Final = "1601-01-01T00:00:00.0000000Z"
_OLDEST_BIN: Final = read_moment(_EARLIEST_START) or 0


def _text(ticks: int | None) -> object:
    written = None if ticks is None else write_moment(ticks)
    return UNDEFINED if written is None else written


def _part(name: object) -> str | None:
    return _PARTS.get(name) if isinstance(name, str) else None


def add_parts(name: object, number: object, moment: object) -> object:
    """DateTimeAdd."""
    ticks = read_moment(moment)
    return UNDEFINED if ticks is None else _move(name, number, ticks, 1)


def step_back(context: Context, name: object, number: object) -> object:
    """AGO."""
    return _move(name, number, context.started, -1)


def _move(name: object, number: object, ticks: int, sign: int) -> object:
    part, count = _part(name), whole(number)
    if part is None or count is None:
        return UNDEFINED
    if part in _MONTHS:
        return _text(add_months(ticks, sign * count * _MONTHS[part]))
    moved, _ = divmod(abs(count) * _LENGTHS[part], NANOSECONDS_PER_TICK)
    return _text(ticks + (moved if sign * count > 0 else -moved))


def bin_moment(moment: object, name: object, size: object = 1, start: object = "1970-01-01") -> object:
    """DateTimeBin."""
    ticks, origin, length, count = read_moment(moment), read_moment(start), _LENGTHS.get(_part(name) or ""), whole(size)
    if ticks is None or origin is None or length is None or count is None or count <= 0 or origin < _OLDEST_BIN:
        return UNDEFINED
    passed = (ticks - origin) * NANOSECONDS_PER_TICK
    return _text(origin + (passed - passed % (length * count)) // NANOSECONDS_PER_TICK)


def count_borders(name: object, start: object, end: object) -> object:
    """DateTimeDiff."""
    part, first, last = _part(name), read_moment(start), read_moment(end)
    if part is None or first is None or last is None:
        return UNDEFINED
    return narrow(_number(part, last) - _number(part, first))


def _number(part: str, ticks: int) -> int:
    """Which one of its kind the part is that holds this moment."""
    moment = split_moment(ticks)
    if part in _MONTHS and moment is not None:
        return (moment.year * 12 + moment.month - 1) // _MONTHS[part]
    return ticks * NANOSECONDS_PER_TICK // _LENGTHS[part]


def make_moment(*parts: object) -> object:
    """DateTimeFromParts."""
    numbers = [number for number in map(whole, parts) if number is not None]
    return UNDEFINED if len(numbers) < len(parts) else _text(join_moment(Moment(*numbers)))


def read_part(name: object, value: object) -> object:
    """DateTimePart."""
    part, ticks = _part(name), read_moment(value)
    moment = None if ticks is None else split_moment(ticks)
    return UNDEFINED if part is None or moment is None else _READERS[part](moment)


def _reader(part: str) -> Callable[[object], object]:
    return lambda value: read_part(part, value)


def write_formatted(value: object, picture: object) -> object:
    """DateTimeFormat."""
    ticks = read_moment(value)
    moment = None if ticks is None else split_moment(ticks)
    return format_moment(moment, picture) if moment is not None and isinstance(picture, str) else UNDEFINED


def to_ticks(value: object) -> object:
    ticks = read_moment(value)
    return UNDEFINED if ticks is None else narrow(ticks)


def to_timestamp(value: object) -> object:
    """DateTimeToTimestamp: whole milliseconds since 1970."""
    ticks = read_moment(value)
    return UNDEFINED if ticks is None else ticks // TICKS_PER_MILLISECOND


def from_ticks(number: object) -> object:
    return _text(whole(number))


def from_timestamp(number: object) -> object:
    milliseconds = whole(number)
    return UNDEFINED if milliseconds is None else _text(milliseconds * TICKS_PER_MILLISECOND)


def _milliseconds(ticks: int) -> object:
    return ticks // TICKS_PER_MILLISECOND


def _at_start(write: Callable[[int], object]) -> Callable[[Context], object]:
    return lambda context: write(context.started)


def _at_once(write: Callable[[int], object]) -> Callable[[Context], object]:
    return lambda context: write(context.now())


DATES: Final = (
    Function("AGO", 2, 2, step_back, needs_context=True),
    Function("DateTimeAdd", 3, 3, add_parts),
    Function("DateTimeBin", 2, 4, bin_moment),
    Function("DateTimeDiff", 3, 3, count_borders),
    Function("DateTimeFormat", 2, 2, write_formatted),
    Function("DateTimeFromParts", 3, 7, make_moment),
    Function("DateTimePart", 2, 2, read_part),
    Function("DateTimeToTicks", 1, 1, to_ticks),
    Function("DateTimeToTimestamp", 1, 1, to_timestamp),
    Function("DAY", 1, 1, _reader("day")),
    Function("GetCurrentDateTime", 0, 0, _at_once(_text), deterministic=False, needs_context=True),
    Function("GetCurrentDateTimeStatic", 0, 0, _at_start(_text), needs_context=True),
    Function("GetCurrentTicks", 0, 0, _at_once(narrow), deterministic=False, needs_context=True),
    Function("GetCurrentTicksStatic", 0, 0, _at_start(narrow), needs_context=True),
    Function("GetCurrentTimestamp", 0, 0, _at_once(_milliseconds), deterministic=False, needs_context=True),
    Function("GetCurrentTimestampStatic", 0, 0, _at_start(_milliseconds), needs_context=True),
    Function("MONTH", 1, 1, _reader("month")),
    Function("NOW", 0, 0, _at_start(_text), needs_context=True),
    Function("TicksToDateTime", 1, 1, from_ticks),
    Function("TimestampToDateTime", 1, 1, from_timestamp),
    Function("YEAR", 1, 1, _reader("year")),
)
