"""Synthetic keys through the official client, plain and asynchronous, against a live server."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest
from azure.cosmos import CosmosClient, PartitionKey, aio, exceptions
from tests.e2e.live import Caller, Live
from tests.e2e.python_client import FORMS, Driven

from armillary.clients import Mend, Mended, Page
from armillary.clients.cosmos import Meter, keyed, keyed_async
from armillary.errors import Refusal
from armillary.keys.strategy import Strategy
from armillary.keys.synthetic import balanced_suffix, concat, hash_suffix, hierarchical, random_suffix, rollup

pytestmark = pytest.mark.e2e

DAY: Final = {"date": "2018-08-09"}
SOURCES: Final = {**DAY, "vin": "1HGCM82633A004352"}
ITEM: Final = {"id": "1", **SOURCES}
BY_VIN: Final = hash_suffix("/date", by="/vin", count=16)
BY_PLACE: Final = concat("/place")

Open = Callable[..., Any]


@pytest.fixture
def database(live: Live, name: str) -> Iterator[Any]:
    with CosmosClient(live.http, live.key) as client:
        yield client.create_database(name)


@pytest.fixture
def bare(database: Any) -> Any:
    """The container as an unmodified client sees it: two partitions, no items."""
    return database.create_container("cars", PartitionKey("/partitionKey"), offer_throughput=12_000)


@pytest.fixture(params=FORMS)
def view(request: pytest.FixtureRequest, live: Live, database: Any, bare: Any) -> Iterator[Open]:
    """Views of the container, in one of the two forms."""
    if request.param == "plain":
        yield lambda strategy, **settings: keyed(bare, strategy, **settings)
        return
    loop = asyncio.new_event_loop()
    client = aio.CosmosClient(live.http, live.key)
    loop.run_until_complete(client.__aenter__())
    box = client.get_database_client(database.id).get_container_client(bare.id)
    yield lambda strategy, **settings: Driven(keyed_async(box, strategy, **settings), loop)
    loop.run_until_complete(client.close())
    loop.close()


def refused(call: Callable[..., Any], *given: Any, **options: Any) -> int:
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        call(*given, **options)
    return int(caught.value.status_code or 0)


def fill(box: Any, count: int) -> set[str]:
    for number in range(count):
        box.create_item({"id": f"{number:03}", **DAY, "vin": f"vin {number % 40}"})
    return {f"{number:03}" for number in range(count)}


# ---- one item


def test_an_item_from_its_creation_to_its_end(view: Open, bare: Any) -> None:
    box = view(BY_VIN)
    key = BY_VIN.for_point(**SOURCES)
    made = box.create_item(dict(ITEM))
    assert made["partitionKey"] == key
    assert bare.read_item("1", key) == made, "an unmodified client finds it under its key"
    assert refused(box.create_item, dict(ITEM)) == 409
    meter = Meter()
    assert box.read_item("1", SOURCES, response_hook=meter) == made
    assert (meter.calls, meter.units) == (1, 1.0)
    assert box.upsert_item({**ITEM, "n": 1})["n"] == 1
    assert box.replace_item("1", {**ITEM, "n": 2})["n"] == 2
    assert refused(box.replace_item, "1", {**ITEM, "n": 3}, etag=made["_etag"]) == 412
    assert refused(box.delete_item, "1", SOURCES, etag=made["_etag"]) == 412
    now = box.read_item("1", SOURCES)
    assert box.replace_item("1", {**now, "n": 4}, etag=now["_etag"])["n"] == 4
    box.delete_item("1", SOURCES)
    for gone in (box.read_item, box.delete_item):
        assert refused(gone, "1", SOURCES) == 404
    assert refused(box.replace_item, "1", dict(ITEM)) == 404


def test_the_options_of_the_client_go_on_to_it(view: Open, bare: Any) -> None:
    box = view(BY_VIN.grow(64), on_change="move")
    meter = Meter()
    assert not box.create_item(dict(ITEM), no_response=True, response_hook=meter)
    assert not box.replace_item("1", {**ITEM, "n": 1}, no_response=True, response_hook=meter)
    moved = {**ITEM, "date": "2018-08-10"}
    assert not box.replace_item("1", moved, was=SOURCES, no_response=True, response_hook=meter)
    assert [item["date"] for item in bare.read_all_items()] == ["2018-08-10"]
    box.delete_item("1", {"date": "2018-08-10"}, no_response=True, response_hook=meter)
    assert list(bare.read_all_items()) == []
    assert meter.calls > 10


def test_a_source_left_out_is_a_search(view: Open) -> None:
    box = view(BY_VIN)
    box.create_item(dict(ITEM))
    meter = Meter()
    assert box.read_item("1", DAY, response_hook=meter)["vin"] == ITEM["vin"]
    assert meter.calls in (8, 16)
    meter = Meter()
    assert refused(box.read_item, "2", DAY, response_hook=meter) == 404
    assert (meter.calls, meter.units) == (16, 16.0), "what was not found is charged and counted"


def test_a_container_with_another_key_is_refused(view: Open) -> None:
    with pytest.raises(Refusal, match="has its key at /partitionKey, and this one is made at /pk"):
        view(concat("/date", name="pk")).create_item(dict(ITEM))


def test_a_container_that_is_gone_is_no_missing_item(view: Open, database: Any) -> None:
    box = view(BY_VIN, on_change="move")
    box.create_item(dict(ITEM))
    database.delete_container("cars")
    for call in (lambda: box.upsert_item(dict(ITEM)), lambda: list(box.read_items(DAY)), lambda: box.repair()):
        assert refused(call) == 404


# ---- many items


@pytest.mark.parametrize("order", ["", "/id"])
def test_a_base_value_is_one_feed(view: Open, order: str) -> None:
    box = view(BY_VIN)
    ids = fill(box, 120)
    box.create_item({**ITEM, "date": "2018-08-10"})
    meter = Meter()
    found = [item["id"] for item in box.read_items(DAY, order_by=order, response_hook=meter)]
    assert (len(found), set(found)) == (120, ids)
    assert meter.calls == 16
    pages = [item["id"] for item in read_on(view, BY_VIN, DAY, size=7, order_by=order)]
    assert Counter(pages) == Counter(ids)
    if order:
        assert found == pages == sorted(ids)
    assert len(list(box.read_items(None))) == 121


def read_on(view: Open, strategy: Strategy, sources: Any, **options: Any) -> list[Any]:
    """All items, each page by another reader."""
    items: list[Any] = []
    token = ""
    while True:
        pages = view(strategy, parallel=3).read_pages(sources, continuation=token, **options)
        more, token = next(pages, Page([], ""))
        items += more
        if not token:
            return items


def test_every_key_answers_a_query(view: Open) -> None:
    box = view(BY_VIN)
    for number in range(90):
        box.create_item({"id": str(number), **DAY, "vin": f"vin {number % 9}", "at": number * 37 % 90, "n": number % 3})
    asked = {"query": "SELECT * FROM c WHERE c.n = @n ORDER BY c.at", "parameters": [{"name": "@n", "value": 1}]}
    wanted = sorted(number * 37 % 90 for number in range(1, 90, 3))
    meter = Meter()
    found = [item["at"] for item in box.read_items(DAY, order_by="/at", response_hook=meter, **asked)]
    assert found == wanted
    assert meter.calls == 16
    assert [item["at"] for item in read_on(view, BY_VIN, DAY, size=4, order_by="/at", **asked)] == wanted
    assert sorted(item["at"] for item in read_on(view, BY_VIN, DAY, size=4, **asked)) == wanted


@pytest.mark.parametrize("query", ["", "SELECT * FROM c"])
def test_a_hierarchical_key_is_read_by_its_beginning(view: Open, database: Any, bare: Any, query: str) -> None:
    strategy = hierarchical("/tenant", rollup("/at", "month", name="month"), hash_suffix("/id", by="/id", count=4))
    database.delete_container(bare.id)
    paths = ["/tenant", "/month", "/partitionKey"]
    database.create_container(bare.id, PartitionKey(paths, kind="MultiHash"), offer_throughput=12_000)
    box = view(strategy)
    for number in range(30):
        box.create_item({"id": str(number), "tenant": f"t{number % 3}", "at": 86_400 * number})

    def ids(**sources: object) -> list[int]:
        asked = {"query": query} if query else {}
        return sorted(int(item["id"]) for item in read_on(view, strategy, sources, size=3, **asked))

    assert ids(tenant="t1") == list(range(1, 30, 3))
    assert ids(tenant="t1", at=0) == list(range(1, 30, 3))
    assert ids(tenant="t1", at=86_400 * 31) == []
    assert box.read_item("4", {"tenant": "t1", "at": 0, "id": "4"})["month"] == "1970-01"


def test_readers_do_not_notice_a_split(view: Open, caller: Caller, database: Any) -> None:
    box = view(BY_VIN)
    ids = fill(box, 80)
    pages = box.read_pages(DAY, size=5)
    found = [item["id"] for item in next(pages).items]
    place = f"/dbs/{database.id}/colls/cars/pkranges"
    before = caller.must("GET", place).json["PartitionKeyRanges"]
    where = {"database": database.id, "container": "cars", "range": before[0]["id"]}
    assert caller.ask("POST", "/_armillary/split", where).status == 202
    for page in pages:
        found += [item["id"] for item in page.items]
    assert Counter(found) == Counter(ids)


@pytest.mark.parametrize("strategy", [random_suffix("/date", 8), BY_VIN, balanced_suffix("/date", by="/vin", count=8)])
def test_what_was_written_with_fewer_suffixes_is_found(view: Open, strategy: Strategy) -> None:
    ids = fill(view(strategy), 20)
    box = view(strategy.grow(32))
    box.create_item({"id": "new", **DAY, "vin": "vin 1"})
    assert {item["id"] for item in box.read_items(DAY)} == {*ids, "new"}
    assert box.read_item("001", {**DAY, "vin": "vin 1"} if strategy != random_suffix("/date", 8) else DAY)


# ---- moves


def test_a_change_of_a_source_is_refused(view: Open, bare: Any) -> None:
    box = view(BY_VIN)
    made = box.create_item(dict(ITEM))
    for write in (lambda item: box.replace_item("1", item), box.upsert_item):
        with pytest.raises(Refusal, match="a source of the item '1' has changed"):
            write({**made, "vin": "another"})
    assert list(bare.read_all_items()) == [made]


def test_an_item_moves(view: Open, bare: Any) -> None:
    box = view(BY_VIN, on_change="move")
    made = box.create_item(dict(ITEM))
    meter = Meter()
    moved = box.replace_item("1", {**made, "vin": "another"}, response_hook=meter)
    assert moved["partitionKey"] == BY_VIN.for_point(**DAY, vin="another") != made["partitionKey"]
    assert list(bare.read_all_items()) == [moved]
    assert meter.calls == 5
    assert refused(box.replace_item, "1", {**moved, "vin": "third"}, etag=made["_etag"]) == 412
    assert list(bare.read_all_items()) == [moved]


KILLED: Final = """
import os, signal
from azure.cosmos import CosmosClient
from armillary.clients import Keyed
from armillary.clients.cosmos import CosmosCalls
from armillary.keys.synthetic import concat

class Dying(CosmosCalls):
    left = int(os.environ["CALLS"])

    def __getattribute__(self, name):
        if name in ("create", "read", "replace", "delete"):
            Dying.left -= 1
            if not Dying.left:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__getattribute__(name)

container = CosmosClient(os.environ["URL"], os.environ["KEY"]).get_database_client(os.environ["DATABASE"])
box = Keyed(Dying(container.get_container_client("cars")), concat("/place"), on_change="move")
box.replace_item("1", {"place": "b", "n": 2}, was={"place": "a"})
"""


def kill_before(live: Live, database: Any, calls: int) -> None:
    """A client that moves the item from a to b and is killed before so many calls of it."""
    told = {"URL": live.http, "KEY": live.key, "DATABASE": database.id, "CALLS": str(calls)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED], env={**os.environ, **told}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(
    ("calls", "left", "what"),
    [
        (2, {"a": 1}, None),
        (3, {"a": 1}, Mend.TAKEN_BACK),
        (4, {"b": 2}, Mend.FINISHED),
        (5, {"b": 2}, Mend.FINISHED),
    ],
)
def test_a_client_is_killed_in_the_middle_of_a_move(
    view: Open, live: Live, database: Any, bare: Any, calls: int, left: dict[str, int], what: Mend | None
) -> None:
    box = view(BY_PLACE, on_change="move")
    box.create_item({"id": "1", "place": "a", "n": 1})
    for number in range(20):
        box.create_item({"id": f"other {number}", "place": "ab"[number % 2]})
    kill_before(live, database, calls)
    both = [item["partitionKey"] for item in bare.read_all_items() if item["id"] == "1"]
    assert sorted(both) == (["a", "b"] if what else ["a"])
    found = [Mended("1", "a", "b", what)] if what else []
    assert box.repair(dry_run=True) == found
    assert box.repair() == found
    assert box.repair() == []
    items = [item for item in bare.read_all_items() if item["id"] == "1"]
    assert {item["partitionKey"]: item["n"] for item in items} == left
    assert not [item for item in items if {"_movedFrom", "_movingTo"} & set(item)]
    assert len(list(bare.read_all_items())) == 21


def test_many_clients_move_one_item(bare: Any) -> None:
    """Each adds one to a number, under an etag, and moves the item elsewhere; every success is counted once."""
    places = "abcdef"
    keyed(bare, BY_PLACE).create_item({"id": "1", "place": "a", "n": 0})

    def work(seed: int) -> int:
        box, successes = keyed(bare, BY_PLACE, on_change="move"), 0
        for turn in range(12):
            for place in places:
                try:
                    item = box.read_item("1", {"place": place})
                    to = places[(seed + turn + places.index(place)) % len(places)]
                    box.replace_item("1", {**item, "place": to, "n": item["n"] + 1}, etag=item["_etag"])
                    successes += 1
                except (exceptions.CosmosHttpResponseError, Refusal) as error:
                    assert getattr(error, "status_code", 404) in (404, 409, 412)  # noqa: PT017 - any other is a fault
        return successes

    with ThreadPoolExecutor(4) as pool:
        successes = sum(pool.map(work, range(4)))
    keyed(bare, BY_PLACE).repair()
    (item,) = bare.read_all_items()
    print(f"{successes} of {4 * 12 * len(places)} tries moved or changed the item")
    assert item["n"] == successes > 0
