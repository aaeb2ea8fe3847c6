"""Where partitions are cut: halves by data or by range, whole key values, and refusals in words."""

import random
from typing import Any

import pytest

from armillary.clock import Clock
from armillary.container import Container
from armillary.database import Database
from armillary.errors import Kind, Refusal
from armillary.json import dump
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import drive
from armillary.store.cuts import Cut, cut_data, cut_range, weigh_cut
from armillary.store.items import Draft, Mode

PLAIN: dict[str, Any] = {"paths": ["/pk"], "kind": "Hash", "version": 2}
OLD: dict[str, Any] = {"paths": ["/pk"], "kind": "Hash", "version": 1}
LEVELS: dict[str, Any] = {"paths": ["/pk", "/user"], "kind": "MultiHash", "version": 2}


def make(key: dict[str, Any], items: list[dict[str, Any]]) -> Database:
    engine = MemoryEngine()
    database = Database(engine, Clock(ticks=lambda: 10**15))
    drive(engine, database.recover())
    owner = drive(engine, database.create_database("d", None))
    drive(engine, database.create_container(owner, "c", "nosql", {"partitionKey": key}, None))
    container = container_of(database)
    for at, item in enumerate(items):
        item = {**item, "id": str(at)}
        draft = Draft(dump(item)[:-1], 0, item)
        drive(engine, database.write_item(container, container.key.values_of(item), str(at), draft, Mode.CREATE))
    return database


def container_of(database: Database) -> Container:
    return database.container("d", "c")


def cut(database: Database, how: Any = cut_data) -> Cut:
    container = container_of(database)
    return database.plan_split(container, container.row.ranges[0], how)


def is_below(database: Database, item: dict[str, Any], point: bytes) -> bool:
    key = container_of(database).key
    return key.epk(key.values_of(item)) < point.rstrip(b"\0")


@pytest.mark.parametrize("key", [PLAIN, OLD, LEVELS], ids=["V2", "V1", "hierarchical"])
@pytest.mark.parametrize("how", [cut_data, cut_range])
def test_many_keys_are_halved(key: dict[str, Any], how: Any) -> None:
    values: list[Any] = (
        [f"a longer key {at}" for at in range(150)] + list(range(150)) + [None, True, False, 0.5, "x" * 130]
    )
    items = [{"pk": value, "user": str(at)} for at, value in enumerate(values)]
    database = make(key, items)
    found = cut(database, how)
    assert found.low.items + found.high.items == len(items)
    assert found.low.items == sum(is_below(database, item, found.point) for item in items)
    total = found.low.size + found.high.size
    assert abs(found.low.size - found.high.size) <= (0.02 if how is cut_data else 0.3) * total


def test_sizes_count_and_not_numbers() -> None:
    items = [{"pk": str(at), "pad": "x" * (60_000 if at == 3 else 10)} for at in range(40)]
    database = make(PLAIN, items)
    found = cut(database)
    large = is_below(database, items[3], found.point)
    assert (found.low.size > found.high.size) is large
    assert min(found.low.items, found.high.items) >= 1


@pytest.mark.parametrize("seed", range(20))
def test_no_whole_key_makes_the_sides_more_equal(seed: int) -> None:
    chance = random.Random(seed)
    items = [{"pk": str(chance.randrange(6)), "pad": "x" * chance.randrange(3000)} for _ in range(12)]
    database = make(PLAIN, items)
    found = cut(database)
    points = sorted({container_of(database).key.epk((item["pk"],)) for item in items})[1:]
    sides = [cut(database, lambda reader, partition, at=at: weigh_cut(reader, partition, at)) for at in points]
    assert abs(found.low.size - found.high.size) == min(abs(side.low.size - side.high.size) for side in sides)


def test_a_hierarchical_key_is_cut_below_its_first_level() -> None:
    database = make(LEVELS, [{"pk": "one tenant", "user": str(at)} for at in range(64)])
    assert 28 <= cut(database).low.items <= 36


@pytest.mark.parametrize("key", [PLAIN, OLD])
def test_one_key_value_cannot_be_cut_and_is_named(key: dict[str, Any]) -> None:
    database = make(key, [{"pk": "the only one"} for _ in range(5)])
    with pytest.raises(Refusal) as refused:
        cut(database)
    assert refused.value.kind is Kind.SPLIT_REFUSED
    assert '["the only one"]' in str(refused.value)


def test_what_is_empty_is_cut_by_range_only() -> None:
    database = make(PLAIN, [])
    with pytest.raises(Refusal, match="empty"):
        cut(database)
    assert cut(database, cut_range).point.hex() == "20" + "0" * 30


def test_a_container_without_a_key_is_never_cut() -> None:
    database = make({"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": True}, [{"a": 1}])
    for how in (cut_data, cut_range):
        with pytest.raises(Refusal, match="no key"):
            cut(database, how)


@pytest.mark.parametrize("point", [b"", b"\xff", b"\x00\x00"])
def test_a_point_outside_the_range_is_refused(point: bytes) -> None:
    database = make(PLAIN, [{"pk": "a"}, {"pk": "b"}])
    with pytest.raises(Refusal, match="does not lie between"):
        cut(database, lambda reader, partition: weigh_cut(reader, partition, point))
