"""Functions on dates. A moment is a count of ticks of 100 ns since the start of 1970; its text ends in seven digits."""

import re
import time
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final, NamedTuple

from tests.naive.values import UNDEFINED, Value

SECOND: Final = 10**7
DAY: Final = 86_400 * SECOND
EPOCH: Final = date(1970, 1, 1).toordinal()
MILLISECOND: Final = SECOND // 1000

FORM: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,7}))?)?Z?)?", re.ASCII)
# The names of each part, and how many ticks it has: months and years are of no fixed length.
PARTS: Final[tuple[tuple[tuple[str, ...], int], ...]] = (
    (("year", "yyyy", "yy"), 0),
    (("month", "mm", "m"), 0),
    (("day", "dd", "d"), DAY),
    (("hour", "hh"), 3600 * SECOND),
    (("minute", "mi", "n"), 60 * SECOND),
    (("second", "ss", "s"), SECOND),
    (("millisecond", "ms"), MILLISECOND),
    (("microsecond", "mcs"), 10),
    (("nanosecond", "ns"), 0),
)
FORMATS: Final = re.compile(r"yyyy|yy|MM|M|dd|d|HH|H|hh|h|mm|m|ss|s|f{1,7}|tt|.", re.DOTALL)


class Fields(NamedTuple):
    """A moment as people write it; `fraction` counts ticks."""

    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: int = 0
    fraction: int = 0


def read(text: str) -> int | None:
    """The ticks of a text, or None when it is no date."""
    found = FORM.fullmatch(text)
    if found is None:
        return None
    numbers = [int(part or 0) for part in found.groups()[:-1]]
    return join(Fields(*numbers)._replace(fraction=int((found[7] or "").ljust(7, "0"))))


def join(fields: Fields) -> int | None:
    """The ticks of a moment, or None when there is none such."""
    try:
        days = date(fields.year, fields.month, fields.day).toordinal() - EPOCH
    except (ValueError, OverflowError):
        return None
    fit = 0 <= fields.hour < 24 and 0 <= fields.minute < 60 and 0 <= fields.second < 60
    if not fit or not 0 <= fields.fraction < SECOND:
        return None
    return days * DAY + ((fields.hour * 60 + fields.minute) * 60 + fields.second) * SECOND + fields.fraction


def split(ticks: int) -> Fields | None:
    """The opposite of `join`; None outside of the years 1 to 9999."""
    days, within = divmod(ticks, DAY)
    if not 1 <= days + EPOCH <= date.max.toordinal():
        return None
    seconds, fraction = divmod(within, SECOND)
    day = date.fromordinal(days + EPOCH)
    return Fields(day.year, day.month, day.day, seconds // 3600, seconds // 60 % 60, seconds % 60, fraction)


def write(ticks: int | None) -> Value:
    fields = None if ticks is None else split(ticks)
    if fields is None:
        return UNDEFINED
    return "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}Z".format(*fields)


def find_part(name: str) -> str:
    """The long name of a part, or nothing."""
    return next((names[0] for names, _ in PARTS if name.lower() in names), "")


def ticks_of(part: str) -> int:
    return next(size for names, size in PARTS if names[0] == part)


def of_date(body: Callable[[int], Value]) -> Callable[[str], Value]:
    """A function of one date."""

    def run(text: str) -> Value:
        ticks = read(text)
        return UNDEFINED if ticks is None else body(ticks)

    return run


def add(part: str, amount: int, text: str) -> Value:
    ticks, part = read(text), find_part(part)
    if ticks is None or not part:
        return UNDEFINED
    return write(move(ticks, part, amount))


def move(ticks: int, part: str, amount: int) -> int | None:
    """Later by so many parts; a day that the month does not have becomes its last."""
    if part == "nanosecond":
        return ticks + int(amount / 100)
    if part not in ("year", "month"):
        return ticks + amount * ticks_of(part)
    fields = split(ticks)
    if fields is None:
        return None
    year, month = divmod(fields.year * 12 + fields.month - 1 + amount * (12 if part == "year" else 1), 12)
    tries = (join(fields._replace(year=year, month=month + 1, day=fields.day - less)) for less in range(4))
    return next((found for found in tries if found is not None), None)


def bin_date(text: str, part: str, size: int = 1, origin: str = "1970-01-01T00:00:00.0000000Z") -> Value:
    """The start of the bin that the date falls in."""
    ticks, first, part = read(text), read(origin), find_part(part)
    if ticks is None or first is None or not part or size <= 0:
        return UNDEFINED
    if part == "nanosecond":
        return UNDEFINED if size % 100 else write(first + (ticks - first) // (size // 100) * (size // 100))
    if part not in ("year", "month"):
        step = size * ticks_of(part)
        return write(first + (ticks - first) // step * step)
    months = size * (12 if part == "year" else 1)
    bins = (month_of(ticks) - month_of(first)) // months
    start = move(first, "month", bins * months)
    if start is not None and start > ticks:
        start = move(first, "month", (bins - 1) * months)
    return write(start)


def month_of(ticks: int) -> int:
    """Months since the year 0."""
    fields = split(ticks)
    assert fields is not None
    return fields.year * 12 + fields.month - 1


def difference(part: str, start: str, end: str) -> Value:
    """How many borders of the part lie between two dates."""
    first, last, part = read(start), read(end), find_part(part)
    if first is None or last is None or not part:
        return UNDEFINED
    if part == "nanosecond":
        return float((last - first) * 100)
    if part in ("year", "month"):
        months = 12 if part == "year" else 1
        return float(month_of(last) // months - month_of(first) // months)
    return float(last // ticks_of(part) - first // ticks_of(part))


def take_part(part: str, text: str) -> Value:
    ticks, part = read(text), find_part(part)
    fields = None if ticks is None else split(ticks)
    if fields is None or not part:
        return UNDEFINED
    fractions = {
        "millisecond": fields.fraction // MILLISECOND,
        "microsecond": fields.fraction // 10,
        "nanosecond": fields.fraction * 100,
    }
    return float(fractions[part] if part in fractions else getattr(fields, part))


def make(*numbers: int) -> Value:
    return write(join(Fields(*numbers)))


def format_date(text: str, form: str) -> Value:
    """A date in letters of the caller's choice, as .NET has them."""
    ticks = read(text)
    fields = None if ticks is None else split(ticks)
    if fields is None:
        return UNDEFINED
    values = {
        "y": fields.year, "M": fields.month, "d": fields.day, "H": fields.hour, "h": (fields.hour + 11) % 12 + 1,
        "m": fields.minute, "s": fields.second,
    }  # fmt: skip

    def put(found: re.Match[str]) -> str:
        word = found.group()
        if word[0] == "f":
            return f"{fields.fraction:07}"[: len(word)]
        if word == "tt":
            return "AM" if fields.hour < 12 else "PM"
        if word[0] not in values:
            return word
        value = values[word[0]] % 100 if word == "yy" else values[word[0]]
        return str(value).zfill(len(word))

    return FORMATS.sub(put, form)


def now() -> int:
    return time.time_ns() // 100


TABLE: Final[Mapping[str, tuple[str, Callable[..., Value]]]] = {
    "DATETIMEADD": ("s i s", add),
    "DATETIMEBIN": ("s s i? s?", bin_date),
    "DATETIMEDIFF": ("s s s", difference),
    "DATETIMEFORMAT": ("s s", format_date),
    "DATETIMEFROMPARTS": ("i i i i? i? i? i?", make),
    "DATETIMEPART": ("s s", take_part),
    "DATETIMETOTICKS": ("s", of_date(float)),
    "DATETIMETOTIMESTAMP": ("s", of_date(lambda ticks: float(ticks // MILLISECOND))),
    "DAY": ("s", lambda text: take_part("day", text)),
    "GETCURRENTDATETIME": ("", lambda: write(now())),
    "GETCURRENTDATETIMESTATIC": ("", lambda: write(now())),
    "GETCURRENTTICKS": ("", lambda: float(now())),
    "GETCURRENTTICKSSTATIC": ("", lambda: float(now())),
    "GETCURRENTTIMESTAMP": ("", lambda: float(now() // MILLISECOND)),
    "GETCURRENTTIMESTAMPSTATIC": ("", lambda: float(now() // MILLISECOND)),
    "MONTH": ("s", lambda text: take_part("month", text)),
    "NOW": ("", lambda: write(now())),
    "TICKSTODATETIME": ("i", write),
    "TIMESTAMPTODATETIME": ("i", lambda stamp: write(stamp * MILLISECOND)),
    "YEAR": ("s", lambda text: take_part("year", text)),
}
