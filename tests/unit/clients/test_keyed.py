"""A container through its key, in both forms: keys are put in, items are found, changes are refused."""

from typing import Any, Final

import pytest
from tests.unit.clients.shelf import FORMS, Shelf, ShelfError, open_shelf

from armillary.clients import Reason
from armillary.errors import Kind, Refusal
from armillary.keys.strategy import Strategy
from armillary.keys.synthetic import balanced_suffix, concat, hash_suffix, hierarchical, random_suffix, rollup

BY_VIN: Final = hash_suffix("/date", by="/vin", count=16)
ITEM: Final = {"id": "1", "date": "2018-08-09", "vin": "1HGCM82633A004352"}
SOURCES: Final = {"date": "2018-08-09", "vin": "1HGCM82633A004352"}
KEY: Final = BY_VIN.for_point(**SOURCES)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def box(form: str, shelf: Shelf) -> Any:
    return open_shelf(form, shelf, BY_VIN)


def answered(call: Any, *given: Any, **options: Any) -> Reason:
    with pytest.raises(ShelfError) as caught:
        call(*given, **options)
    return caught.value.reason


def refused(fragment: str, call: Any, *given: Any, **options: Any) -> Kind:
    with pytest.raises(Refusal, match=fragment) as caught:
        call(*given, **options)
    return caught.value.kind


def test_the_key_is_put_in_and_found_again(box: Any, shelf: Shelf) -> None:
    made = box.create_item(ITEM)
    assert made == {**ITEM, "partitionKey": KEY, "_rid": made["_rid"], "_etag": made["_etag"]}
    assert "partitionKey" not in ITEM
    assert [visit.key for visit in shelf.visits] == [KEY]
    assert answered(box.create_item, ITEM) is Reason.EXISTS
    assert box.read_item("1", SOURCES) == made
    assert answered(box.read_item, "2", SOURCES) is Reason.MISSING
    box.upsert_item({**made, "n": 1})
    box.upsert_item({**ITEM, "n": 2})
    assert box.replace_item("1", {**ITEM, "n": 3})["n"] == 3
    assert box.replace_item("1", {**made, "n": 4}, etag=box.read_item("1", SOURCES)["_etag"])["n"] == 4
    assert answered(box.replace_item, "1", ITEM, etag="stale") is Reason.CHANGED
    assert answered(box.delete_item, "1", SOURCES, etag="stale") is Reason.CHANGED
    box.delete_item("1", SOURCES)
    assert not shelf.items
    assert answered(box.delete_item, "1", SOURCES) is Reason.MISSING
    assert answered(box.replace_item, "1", ITEM) is Reason.MISSING


def test_each_call_is_one_call_where_the_key_is_known(box: Any, shelf: Shelf) -> None:
    box.create_item(ITEM)
    box.read_item("1", SOURCES)
    box.upsert_item(ITEM)
    box.replace_item("1", ITEM)
    box.delete_item("1", SOURCES)
    assert [visit.name for visit in shelf.visits] == ["create", "read", "upsert", "replace", "delete"]


def test_with_a_source_left_out_all_keys_are_asked(box: Any, shelf: Shelf) -> None:
    box.create_item(ITEM)
    shelf.visits.clear()
    assert box.read_item("1", {"date": "2018-08-09"})["partitionKey"] == KEY
    assert shelf.count("read") in (8, 16), "eight go side by side"
    shelf.visits.clear()
    assert answered(box.read_item, "2", {"date": "2018-08-09"}) is Reason.MISSING
    assert shelf.count("read") == 16
    box.delete_item("1", {"date": "2018-08-09"})
    assert not shelf.items


def test_the_first_key_counts_when_several_have_the_item(form: str) -> None:
    shelf = Shelf()
    strategy = random_suffix("/date", 3)
    for number in (2, 3):
        shelf.create(f"d.{number}", {"id": "1", "date": "d", "partitionKey": f"d.{number}"})
    assert open_shelf(form, shelf, strategy).read_item("1", {"date": "d"})["partitionKey"] == "d.2"


def test_a_change_of_a_source_is_refused(box: Any, shelf: Shelf) -> None:
    made = box.create_item(ITEM)
    before = dict(shelf.items)
    for change in ({"vin": "other"}, {"date": "2018-08-10"}):
        for write in (lambda item: box.replace_item("1", item), box.upsert_item):
            kind = refused("a source of the item '1' has changed", write, {**made, **change})
            assert kind is Kind.BAD_KEY
    assert refused("was made otherwise", box.create_item, {**made, "vin": "other"}) is Kind.BAD_KEY
    assert refused("has changed", box.replace_item, "1", {**ITEM, "vin": "other"}, was=SOURCES) is Kind.BAD_KEY
    assert refused("an item keeps its id", box.replace_item, "1", {**made, "id": "2"}) is Kind.BAD_KEY
    assert shelf.items == before


def test_items_are_found_under_earlier_counts(form: str) -> None:
    shelf = Shelf()
    old = open_shelf(form, shelf, BY_VIN).create_item(ITEM)
    grown = BY_VIN.grow(400)
    box = open_shelf(form, shelf, grown)
    assert grown.for_item(ITEM) != KEY
    assert box.read_item("1", SOURCES) == old
    assert box.upsert_item({**ITEM, "n": 1})["partitionKey"] == KEY
    assert box.replace_item("1", {**ITEM, "n": 2})["partitionKey"] == KEY
    assert box.upsert_item({**ITEM, "id": "2"})["partitionKey"] == grown.for_item(ITEM)
    assert sorted(item["id"] for item in box.read_items({"date": "2018-08-09"})) == ["1", "2"]
    box.delete_item("1", SOURCES)
    assert set(shelf.items) == {(grown.for_item(ITEM), "2")}


def test_an_upsert_over_earlier_counts_gives_way_to_whoever_is_faster(form: str) -> None:
    shelf = Shelf()
    box = open_shelf(form, shelf, BY_VIN.grow(400))

    def be_faster(name: str) -> None:
        if name == "create":
            shelf.meet = lambda _name: None
            shelf.create(BY_VIN.grow(400).for_item(ITEM), {**ITEM, "n": 1})

    shelf.meet = be_faster
    box.upsert_item({**ITEM, "n": 2})
    ((_, item),) = shelf.items.items()
    assert item["n"] == 2


def test_nobody_knows_the_random_suffix_of_another_item(form: str) -> None:
    shelf = Shelf()
    box = open_shelf(form, shelf, random_suffix("/date", 4))
    made = box.create_item({"id": "1", "date": "d"})
    assert made["partitionKey"] in {f"d.{number}" for number in range(1, 5)}
    assert refused("random suffixes", box.upsert_item, {"id": "1", "date": "d"}) is Kind.BAD_KEY
    assert box.upsert_item({**made, "n": 1})["partitionKey"] == made["partitionKey"]
    assert box.replace_item("1", {"id": "1", "date": "d", "n": 2})["partitionKey"] == made["partitionKey"]
    assert len(shelf.items) == 1
    box.delete_item("1", {"date": "d"})
    assert not shelf.items


def test_hierarchical_keys(form: str) -> None:
    strategy = hierarchical("/tenant", rollup("/at", "day", name="day"), "/id")
    shelf = Shelf("/tenant", "/day", "/id")
    box = open_shelf(form, shelf, strategy)
    box.create_item({"id": "1", "tenant": "t", "at": 0})
    assert box.read_item("1", {"tenant": "t", "at": 1, "id": "1"})["day"] == "1970-01-01"
    assert refused("all levels", box.read_item, "1", {"tenant": "t", "at": 1}) is Kind.BAD_KEY
    assert refused("tenant", box.create_item, {"id": "1", "at": 0}) is Kind.BAD_KEY
    moved = {"id": "1", "tenant": "u", "at": 0}
    was = {"tenant": "t", "at": 0, "id": "1"}
    assert refused("has changed", box.replace_item, "1", moved, was=was) is Kind.BAD_KEY
    assert answered(box.replace_item, "1", moved) is Reason.MISSING


@pytest.mark.parametrize(
    ("shelf", "strategy", "fragment"),
    [
        (Shelf("/pk"), BY_VIN, "has its key at /pk, and this one is made at /partitionKey"),
        (Shelf("/tenant", "/day"), BY_VIN, "at /tenant, /day"),
        (Shelf(version=1), balanced_suffix("/date", by="/vin", count=4), "version 2 only"),
    ],
)
def test_the_container_must_have_the_key_that_is_made(
    form: str, shelf: Shelf, strategy: Strategy, fragment: str
) -> None:
    box = open_shelf(form, shelf, strategy)
    for _ in range(2):
        assert refused(fragment, box.create_item, ITEM) is Kind.BAD_DEFINITION
    assert not shelf.visits


def test_keys_of_other_versions_and_spellings_are_the_same_key(form: str) -> None:
    open_shelf(form, Shelf('/"partitionKey"', version=1), BY_VIN).create_item(ITEM)
    open_shelf(form, Shelf("/pk"), concat("/date", name="pk")).create_item(ITEM)


@pytest.mark.parametrize("on_change", ["refuse", "move"])
def test_other_errors_are_not_swallowed(form: str, shelf: Shelf, on_change: str) -> None:
    box = open_shelf(form, shelf, BY_VIN.grow(400), on_change=on_change)
    made = box.create_item(ITEM)

    def fail(_name: str) -> None:
        raise OSError("the line is cut")

    shelf.meet = fail
    for call in (
        lambda: box.create_item(ITEM),
        lambda: box.upsert_item(ITEM),
        lambda: box.read_item("1", SOURCES),
        lambda: box.replace_item("1", made),
        lambda: box.delete_item("1", SOURCES),
        lambda: list(box.read_items({"date": "2018-08-09"})),
        lambda: box.repair(),
    ):
        with pytest.raises(OSError, match="the line is cut"):
            call()


def test_choices_that_are_none(form: str, shelf: Shelf) -> None:
    assert refused("on_change is", open_shelf, form, shelf, BY_VIN, on_change="maybe") is Kind.BAD_REQUEST
