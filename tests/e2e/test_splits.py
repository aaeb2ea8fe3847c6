"""Splits on a live server: asked for, called for by storage and by throughput, and noticed by no client."""

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.cosmos import CosmosClient, PartitionKey, ThroughputProperties
from tests.e2e.live import READONLY, Caller, Live, key_header, run_live
from tests.e2e.splitting import CONTAINER, DATABASE, Load

pytestmark = [pytest.mark.e2e, pytest.mark.workers(1, 3)]
LONG = bool(os.environ.get("ARMILLARY_LONG"))
DEADLINE = 60.0


@pytest.fixture(params=[1, 3], ids=lambda count: f"{count}-workers")
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Live]:
    """A server whose partitions hold a megabyte."""
    options = ("--partition-storage", "1MiB", "--readonly-key", READONLY)
    with run_live(tmp_path / "data", *options, workers=request.param) as live:
        yield live
        live.must_be_sound()


def ask(caller: Caller, path: str, body: Any) -> Any:
    return caller.ask("POST", f"/_armillary/{path}", body)


def ranges_of(caller: Caller, container: str) -> list[Any]:
    found: list[Any] = caller.must("GET", f"{container}/pkranges").json["PartitionKeyRanges"]
    return found


def await_that(condition: Callable[[], Any], what: str) -> Any:
    until = time.monotonic() + DEADLINE
    while not (found := condition()):
        assert time.monotonic() < until, f"it did not happen: {what}"
        time.sleep(0.02)
    return found


def fill(caller: Caller, container: str, count: int, size: int = 10, keys: int = 100) -> None:
    for at in range(count):
        key = f"k{at % keys}"
        caller.must("POST", f"{container}/docs", {"id": str(at), "pk": key, "pad": "x" * size}, key_header(key))


def test_a_split_is_planned_asked_for_and_told(live: Live, caller: Caller, name: str) -> None:
    caller.create(name)
    container = caller.create(name, "c")
    fill(caller, container, 40)
    where = {"database": name, "container": "c"}
    plan = ask(caller, "split", {**where, "dry_run": True}).json
    assert (plan["range"], plan["items"], sum(child["items"] for child in plan["children"])) == ("0", 40, 40)
    assert abs(plan["children"][0]["bytes"] - plan["children"][1]["bytes"]) < 0.1 * plan["bytes"]
    before = caller.must("GET", f"{container}/pkranges")
    assert len(before.json["PartitionKeyRanges"]) == 1
    asked = ask(caller, "split", where)
    assert (asked.status, asked.json["at"]) == (202, plan["at"])
    rows = await_that(lambda: len(found := ranges_of(caller, container)) == 2 and found, "there are two ranges")
    assert [row["parents"] for row in rows] == [["0"], ["0"]]
    news = caller.must("GET", f"{container}/pkranges", headers={"if-none-match": before.etag})
    assert [row["id"] for row in news.json["PartitionKeyRanges"]] == ["1", "2"]
    assert caller.ask("GET", f"{container}/pkranges", headers={"if-none-match": news.etag}).status == 304
    splits = caller.must("GET", "/_armillary/splits").json["splits"]
    told = next(split for split in splits if split["id"] == asked.json["split"])
    assert (told["state"], told["range"], told["reason"]) == ("done", "0", "asked for")
    gone = caller.ask("GET", f"{container}/docs", None, {"x-ms-documentdb-partitionkeyrangeid": "0"})
    assert (gone.status, gone.substatus) == (410, 1002)
    token = {"x-ms-session-token": "0:-1#40", **key_header("k1")}
    assert caller.ask("GET", f"{container}/docs/1", None, token).status == 200
    ahead = caller.ask("GET", f"{container}/docs/1", None, {"x-ms-session-token": "0:-1#9999", **key_header("k1")})
    assert (ahead.status, ahead.substatus) == (404, 1002)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 400, "'database'"),
        ({"database": "none", "container": "c"}, 404, "does not exist"),
        ({"range": "7"}, 410, "range 7"),
        ({"at": "nothing"}, 400, "hex"),
        ({"at": "FF"}, 409, "does not lie between"),
    ],
)
def test_a_split_that_cannot_be_is_refused(
    live: Live, caller: Caller, name: str, body: Any, status: int, words: str
) -> None:
    caller.create(name)
    container = caller.create(name, "c")
    asked = ask(caller, "split", {"database": name, "container": "c", **body} if body else body)
    assert (asked.status, words in asked.json["message"]) == (status, True), asked.body
    assert len(ranges_of(caller, container)) == 1


def test_who_may_only_read_may_not_split(small: Live, name: str) -> None:
    with small.caller() as caller:
        caller.create(name)
        caller.create(name, "c")
        asked = caller.ask("POST", "/_armillary/split", {"database": name, "container": "c"}, key=READONLY)
        assert asked.status == 401
        assert caller.ask("POST", "/_armillary/splits", {}).status == 405


def test_one_key_value_cannot_be_split_and_has_a_limit(small: Live, name: str) -> None:
    with small.caller() as caller:
        caller.create(name)
        container = caller.create(name, "c")
        body = {"pk": "all", "pad": "x" * 100_000}
        answers = [
            caller.ask("POST", f"{container}/docs", {"id": str(at), **body}, key_header("all")) for at in range(6)
        ]
        assert [answer.status for answer in answers[:4]] == [201] * 4
        assert (answers[-1].status, answers[-1].substatus) == (403, 1014)
        asked = ask(caller, "split", {"database": name, "container": "c"})
        assert (asked.status, '["all"]' in asked.json["message"]) == (409, True)


def test_throughput_calls_for_partitions(small: Live, name: str) -> None:
    with CosmosClient(small.http, small.key) as client, small.caller() as caller:
        container = client.create_database(name).create_container("c", PartitionKey("/pk"), offer_throughput=400)
        path = f"/dbs/{name}/colls/c"
        container.replace_throughput(10_000)
        container.replace_throughput(ThroughputProperties(offer_throughput=25_000))
        rows = await_that(lambda: len(found := ranges_of(caller, path)) == 3 and found, "there are three ranges")
    assert (
        sorted(row["minInclusive"] for row in rows)
        == ["", "1" + "F" * 31, "2" + "F" * 30 + "E"][:1] + sorted(row["minInclusive"] for row in rows)[1:]
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_clients_notice_no_split(tmp_path: Path, workers: int) -> None:
    """One range becomes eight, first by storage, then by throughput, under load."""
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(2**31)))
    print(f"SEED={seed}")
    with run_live(tmp_path / "data", "--partition-storage", "2MiB", "--log-level", "info", workers=workers) as live:
        load = Load(live, 8 if LONG else 4, 2000, seed)
        with CosmosClient(live.http, live.key) as client, live.caller() as caller:
            container = client.create_database(DATABASE).create_container(CONTAINER, PartitionKey("/pk"))
            load.start()
            try:
                path = f"/dbs/{DATABASE}/colls/{CONTAINER}"
                await_that(lambda: load.failures or len(ranges_of(caller, path)) >= 5, "five ranges by storage")
                container.replace_throughput(80_000)
                await_that(lambda: load.failures or len(ranges_of(caller, path)) >= 8, "eight ranges by throughput")
            finally:
                load.stop()
        load.judge()
        live.must_be_sound()
