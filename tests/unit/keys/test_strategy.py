"""A strategy and the items it is asked about: the key they have, the keys they may have, and those they cannot."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.errors import Kind, Refusal
from armillary.keys.synthetic import Strategy, concat, hash_suffix, hierarchical, random_suffix, rollup

BY_VIN: Final = hash_suffix("/date", by="/vin", count=16, earlier=(4,))
LEVELS: Final = hierarchical("/tenant", rollup("/at", "month", name="month"), "/id")
ITEM: Final[dict[str, object]] = {"id": "1", "date": "2018-08-09", "vin": "1HGCM82633A004352"}


def test_a_key_that_sources_do_not_give_is_refused() -> None:
    strategy = concat("/a", "/b")
    assert strategy.apply({"a": "x", "b": "y", "partitionKey": "x-y"})["partitionKey"] == "x-y"
    for wrong in ("x-y", None, 5, True, {"x": 1}, ["x-z"]):
        with pytest.raises(Refusal, match="a source has changed") as refused:
            strategy.for_item({"a": "x", "b": "z", "partitionKey": wrong})
        assert refused.value.kind is Kind.BAD_KEY


def test_items_are_not_changed() -> None:
    item: dict[str, object] = {"a": "x", "b": "y"}
    strategy = concat("/a", "/b", name="pk")
    assert strategy.apply(item) == {"a": "x", "b": "y", "pk": "x-y"}
    assert strategy.stamp(item, "z") == {"a": "x", "b": "y", "pk": "z"}
    assert item == {"a": "x", "b": "y"}
    made = strategy.apply(item)
    assert strategy.strip(made) == item
    assert made["pk"] == "x-y"


def test_levels() -> None:
    assert LEVELS.definition.to_json()["paths"] == ["/tenant", "/month", "/id"]
    item: dict[str, object] = {"id": "1", "tenant": 5, "at": "2018-08-09T00:00:00Z"}
    assert LEVELS.apply(item) == {**item, "month": "2018-08"}
    assert LEVELS.for_item(item) == (5, "2018-08", "1")
    assert LEVELS.for_read(tenant=5) == [(5,)]
    assert LEVELS.for_read(tenant=5, id="1") == [(5,)]
    assert LEVELS.for_read(tenant=5, at="2018-08-10") == [(5, "2018-08")]
    assert LEVELS.keys_of(item) == [(5, "2018-08", "1")]
    assert [LEVELS.is_whole(key) for key in ((5,), (5, "2018-08"), (5, "2018-08", "1"))] == [False, False, True]
    assert LEVELS.stamp(item, (5, "2019-01", "1"))["month"] == "2019-01"
    with pytest.raises(Refusal, match="tenant"):
        LEVELS.for_read(id="1")


@pytest.mark.parametrize("value", [{}, [], {"a": 1}])
def test_a_level_of_the_item_itself_must_be_there(value: object) -> None:
    for act in (lambda: LEVELS.for_item({"id": "1", "at": 0}), lambda: LEVELS.for_read(tenant=value)):
        with pytest.raises(Refusal, match="no value at '/tenant'") as refused:
            act()
        assert refused.value.kind is Kind.BAD_KEY
    assert LEVELS.for_item({"id": "1", "tenant": None, "at": 0}) == (None, "1970-01", "1")


def test_the_key_that_stands_in_an_item() -> None:
    assert BY_VIN.find_key(ITEM) is None
    assert BY_VIN.find_key({**ITEM, "partitionKey": "whatever"}) == "whatever"
    assert BY_VIN.find_key({**ITEM, "partitionKey": {}}) is None
    assert LEVELS.find_key({"tenant": 1, "month": "x"}) is None
    assert LEVELS.find_key({"tenant": 1, "month": "x", "id": "1"}) == (1, "x", "1")


def test_the_keys_an_item_may_have() -> None:
    assert BY_VIN.keys_of(ITEM) == BY_VIN.for_read(date="2018-08-09", vin="1HGCM82633A004352")
    assert BY_VIN.keys_of(ITEM)[0] == BY_VIN.for_item(ITEM)
    assert random_suffix("/date", 3).keys_of(ITEM) == ["2018-08-09.1", "2018-08-09.2", "2018-08-09.3"]
    with pytest.raises(Refusal, match="no value at '/vin'"):
        BY_VIN.keys_of({"date": "2018-08-09"})


VALUE: Final = st.text(max_size=8) | st.integers(-9, 9) | st.booleans()


@given(st.sampled_from([BY_VIN, random_suffix("/date", 5), LEVELS]), VALUE, VALUE, st.integers(0, 2**33))
def test_an_item_has_one_of_the_keys_it_may_have(strategy: Strategy, date: str, vin: object, at: int) -> None:
    item: dict[str, object] = {"id": "1", "date": date, "vin": vin, "tenant": vin, "at": at}
    key = strategy.for_item(item)
    assert key in strategy.keys_of(item)
    made = strategy.stamp(item, key)
    assert (strategy.find_key(made), strategy.for_item(made), strategy.apply(made)) == (key, key, made)
    assert strategy.strip(made) == item
    assert strategy.definition.values_of(made) == (key if isinstance(key, tuple) else (key,))
