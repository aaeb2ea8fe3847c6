"""Throughput against a live server: refusals as official clients see them, offers, and how exactly budgets are kept."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from azure.cosmos import CosmosClient, PartitionKey, ThroughputProperties
from azure.cosmos.exceptions import CosmosHttpResponseError
from bench.throttle import House, measure_budget, measure_hot_key, measure_neighbours, measure_retries, open_house
from tests.e2e.live import Caller, Live, key_header, run_armillary

pytestmark = [pytest.mark.e2e, pytest.mark.workers(1, 3)]

NO_RETRIES = -1  # the client takes 0 for "as usual"


@pytest.fixture
def client(live: Live) -> CosmosClient:
    return CosmosClient(live.http, live.key)


@pytest.fixture
def container(client: CosmosClient, name: str) -> Any:
    return client.create_database(name).create_container("c", PartitionKey("/pk"), offer_throughput=400)


def fill(*containers: Any) -> CosmosHttpResponseError:
    """Write to these containers in turn, 50 RU at a time, until one refuses."""
    for number in range(100):
        try:
            containers[number % len(containers)].upsert_item({"id": str(number), "pk": "a", "filler": "x" * 102_400})
        except CosmosHttpResponseError as error:
            return error
    raise AssertionError("nothing was refused")


def test_a_client_that_does_not_retry_is_told_everything(live: Live, name: str, container: Any) -> None:
    hasty = CosmosClient(live.http, live.key, retry_throttle_total=NO_RETRIES)
    items = hasty.get_database_client(name).get_container_client("c")
    error = fill(items)
    assert (error.status_code, error.sub_status) == (429, 3200)
    assert 1 <= int(error.headers["x-ms-retry-after-ms"]) <= 1000
    assert float(error.headers["x-ms-request-charge"]) == 0.0
    assert f"the 400 RU/s of partition key range 0 of {name}/c are used up" in error.message
    assert 'the hottest key is ["a"]' in error.message


def test_a_client_that_retries_comes_through(container: Any) -> None:
    """20 writes of 50 RU are two seconds' worth and more: the client waits as it is told to."""
    for number in range(20):
        container.upsert_item({"id": str(number), "pk": "a", "filler": "x" * 102_400})
    assert len(list(container.read_all_items())) == 20


def test_the_client_finds_and_replaces_an_offer(client: CosmosClient, name: str, container: Any) -> None:
    assert container.get_throughput().offer_throughput == 400
    container.replace_throughput(1000)
    assert container.get_throughput().offer_throughput == 1000
    with pytest.raises(CosmosHttpResponseError) as caught:
        container.replace_throughput(300)
    assert "is less than required minimum throughput 400" in caught.value.message
    auto = client.get_database_client(name).create_container(
        "auto", PartitionKey("/pk"), offer_throughput=ThroughputProperties(auto_scale_max_throughput=4000)
    )
    assert auto.get_throughput().auto_scale_max_throughput == 4000


def test_feeds_of_everything_are_queried(client: CosmosClient, name: str, container: Any) -> None:
    question: Any = {"query": "SELECT * FROM root r WHERE r.id = @id", "parameters": [{"name": "@id", "value": name}]}
    assert [row["id"] for row in client.query_databases(question)] == [name]
    database = client.get_database_client(name)
    for other in ("d", "e"):
        database.create_container(other, PartitionKey("/pk"))
    found = database.query_containers("SELECT c.id FROM c WHERE c.id != 'c'", max_item_count=1)
    assert [row["id"] for row in found] == ["d", "e"]


def test_a_shared_budget_is_one_for_all_containers(client: CosmosClient, live: Live, name: str) -> None:
    client.create_database(name, offer_throughput=400)
    hasty = CosmosClient(live.http, live.key, retry_throttle_total=NO_RETRIES).get_database_client(name)
    containers = [hasty.create_container(each, PartitionKey("/pk")) for each in ("one", "two")]
    error = fill(*containers)
    assert f"the 400 RU/s of the database {name!r}, which its containers share" in error.message


def test_what_is_used_is_shown(caller: Caller, live: Live, name: str, container: Any) -> None:
    path = f"/dbs/{name}/colls/c/docs"
    for number in range(10):
        caller.must("POST", path, {"id": str(number), "pk": "hot"}, key_header("hot"))
    partition = show_partition(caller, name)
    assert (partition["items"], partition["budget"]) == (10, 400.0)
    until = time.monotonic() + 30
    while not partition["hot"]:  # keys are published when a second is over, by the next request
        assert time.monotonic() < until, "no key is shown"
        caller.must("GET", f"{path}/0", None, key_header("hot"))
        partition = show_partition(caller, name)
    assert [key["key"] for key in partition["hot"]] == ['["hot"]']
    address = ("--endpoint", live.http, "--key", live.key)
    drawn = run_armillary("partitions", name, "--json", *address)
    assert drawn.returncode == 0, drawn.stderr
    assert json.loads(drawn.stdout)["containers"][0]["partitions"][0]["range"] == "0"
    heat = run_armillary("heatmap", name, "--json", *address)
    assert heat.returncode == 0, heat.stderr
    assert json.loads(heat.stdout)["scale"] == 1.0


def show_partition(caller: Caller, name: str) -> Any:
    page = caller.must("GET", "/_armillary/partitions").json
    (shown,) = [found for found in page["containers"] if found["database"] == name]
    (partition,) = shown["partitions"]
    return partition


# ---- exactness, shortly; `python -m bench.throttle` takes a minute for each


@pytest.fixture(scope="module", params=[1, 3])
def measured(request: pytest.FixtureRequest) -> Iterator[House]:
    with open_house(request.param) as opened:
        yield opened


@pytest.mark.parametrize("cost", [6, 100])
def test_the_mean_is_the_budget(measured: House, cost: int) -> None:
    finding = measure_budget(measured, cost, 5.0)
    assert finding.kept, finding


@pytest.mark.parametrize("measure", [measure_retries, measure_neighbours, measure_hot_key])
def test_what_budgets_are_for(measured: House, measure: Any) -> None:
    finding = measure(measured, 4.0)
    assert finding.kept, finding
