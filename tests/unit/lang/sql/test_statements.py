"""One call over a list, and the bounded cache of texts."""

import pytest

from armillary.clock import Clock
from armillary.errors import Refusal
from armillary.lang.sql import prepare, select
from armillary.lang.sql.statements import CACHED_CHARACTERS

CLOCK = Clock(ticks=lambda: 16_094_592_000_000_000)  # 2021-01-01
OFFERS = [{"id": "a", "resource": "dbs/1/", "n": 400}, {"id": "b", "resource": "dbs/2/", "n": 1000}]


def test_rows_of_a_list() -> None:
    query = "SELECT * FROM root r WHERE r.resource = @link"
    assert select(query, OFFERS, {"@link": "dbs/2/"}, CLOCK) == [OFFERS[1]]
    assert select("SELECT VALUE SUM(r.n) FROM r", OFFERS, {}, CLOCK) == [1400]
    assert select("SELECT VALUE r.id FROM r ORDER BY r.n DESC", OFFERS, {}, CLOCK) == ["b", "a"]
    assert select("SELECT VALUE GetCurrentTimestamp()", OFFERS, {}, CLOCK) == [1_609_459_200_000]


def test_a_wrong_text_is_refused() -> None:
    with pytest.raises(Refusal, match="SC1001"):
        select("SELECT FROM", OFFERS, {}, CLOCK)


def test_texts_are_kept_and_long_ones_are_not() -> None:
    assert prepare("SELECT 1") is prepare("SELECT 1")
    long = "SELECT " + "1," * CACHED_CHARACTERS + "1"
    assert prepare(long) is not prepare(long)
