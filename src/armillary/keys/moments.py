"""Moments rolled up to the hour, day or month they lie in, in UTC and in a fixed width.

    2018-08-09T23:30:00-02:00     hour 2018-08-10T01     day 2018-08-10     month 2018-08

A moment is a text with its offset from UTC (or Z), a text that is a date alone (not for hours), or a number of seconds
since 1970, as in `_ts`. A time of day without an offset means another moment in every place, so it is refused; so are
years outside 0001 to 9999, which catches milliseconds taken for seconds.
"""

import re
from datetime import UTC, datetime, timedelta
from math import floor
from typing import Final, Literal, TypeAlias

from armillary.keys.texts import refuse
from armillary.values import KeyValue, is_number

Unit: TypeAlias = Literal["hour", "day", "month"]

UNITS: Final = ("hour", "day", "month")

_WIDTHS: Final = {"hour": 13, "day": 10, "month": 7}
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_MOMENT: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|([+-])([01]\d|2[0-3]):?([0-5]\d))", re.ASCII
)
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)


def roll_up(value: KeyValue, unit: Unit, name: str) -> str:
    """The hour, day or month of a moment; `name` says in a refusal which source it was.

    >>> roll_up("2018-08-09T23:30:00-02:00", "day", "at"), roll_up(1533825000, "hour", "at")
    ('2018-08-10', '2018-08-09T14')
    """
    try:
        moment = _read_moment(value, unit)
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        allowed = "'2018-08-09T14:30:00Z', with Z or an offset, or seconds since 1970"
        allowed += "" if unit == "hour" else ", or a date"
        raise refuse(f"{value!r} of {name!r} is no moment: write {allowed}")
    return moment.isoformat()[: _WIDTHS[unit]]


def _read_moment(value: KeyValue, unit: Unit) -> datetime | None:
    if is_number(value):
        return _START + timedelta(seconds=floor(value))
    if not isinstance(value, str):
        return None
    date = _DATE.fullmatch(value) if unit != "hour" else None
    if date:
        year, month, day = map(int, date.groups())
        return datetime(year, month, day, tzinfo=UTC)
    found = _MOMENT.fullmatch(value)
    if not found:
        return None
    *numbers, sign, hours, minutes = found.groups()
    year, month, day, hour, minute, second = [int(number or 0) for number in numbers]
    local = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    if sign is None:
        return local
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return local - offset if sign == "+" else local + offset
