"""Moments: what they are rolled up to, and what is none."""

import pytest

from armillary.errors import Refusal
from armillary.keys.moments import Unit
from armillary.keys.synthetic import rollup


@pytest.mark.parametrize(
    ("moment", "unit", "text"),
    [
        ("2018-08-09T14:30:00Z", "hour", "2018-08-09T14"),
        ("2018-08-09 14:30Z", "day", "2018-08-09"),
        ("2018-12-31T23:30:00.999-02:00", "month", "2019-01"),
        ("2019-01-01T00:30:00+0100", "month", "2018-12"),
        ("2018-08-09T00:30:00+23:59", "day", "2018-08-08"),
        ("0999-01-01", "day", "0999-01-01"),
        ("0001-01-01T00:00:00Z", "hour", "0001-01-01T00"),
        (0, "hour", "1970-01-01T00"),
        (-1, "day", "1969-12-31"),
        (1533825000.75, "hour", "2018-08-09T14"),
    ],
)
def test_moments(moment: object, unit: Unit, text: str) -> None:
    assert rollup("/at", unit).for_point(at=moment) == text


@pytest.mark.parametrize(
    "moment",
    [
        *("2018-08-09T14:30:00", "2018-8-9", "2018-02-30", "", "now", "0000-01-01", "0001-01-01T00:00:00+01:00"),
        *("2018-08-09T14:30:00+24:00", "2018-08-09T14:30:00+01:60", "2018-08-09T14:30:60Z", "٢٠١٨-٠٨-٠٩"),
        *(None, True, {}, 1533825000000, float("nan"), float("inf")),
    ],
)
def test_what_is_no_moment_is_refused(moment: object) -> None:
    with pytest.raises(Refusal, match="no moment"):
        rollup("/at", "day").for_point(at=moment)


@pytest.mark.parametrize("moment", ["2018-08-09", "2018-08-09T24:00:00Z"])
def test_an_hour_needs_a_time(moment: str) -> None:
    with pytest.raises(Refusal, match="no moment"):
        rollup("/at", "hour").for_point(at=moment)
