"""Unmodified `azure-cosmos`, plain and asynchronous, over HTTP and over HTTPS with the server's own certificate."""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import ServiceRequestError
from azure.cosmos import PartitionKey, SSLConfiguration, aio, exceptions
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue
from tests.e2e.live import UPSERT, Caller, Live, key_header
from tests.e2e.python_client import FORMS, Door, Heard

from armillary.server.certificate import make_pair

pytestmark = [pytest.mark.e2e, pytest.mark.workers(1, 3)]

SYSTEM: Final = {"_rid", "_self", "_etag", "_attachments", "_ts"}
DOORS: Final = (("plain", "http"), ("asynchronous", "https"))
ALL_DOORS: Final = [(form, scheme) for form in FORMS for scheme in ("http", "https")]


@pytest.fixture(scope="session")
def trusted(house: Live, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate, as the server shows it to everybody."""
    file = tmp_path_factory.mktemp("trust") / "emulator.pem"
    with urlopen(house.http + "_explorer/emulator.pem", timeout=10) as answer:
        file.write_bytes(answer.read())
    return file


def trust(pem: Path) -> SSLConfiguration:
    """On loopback this client checks no certificate unless it is told which to believe."""
    chosen = SSLConfiguration()
    chosen.SSLCaCerts = str(pem)
    return chosen


@pytest.fixture(scope="session")
def entry(house: Live, trusted: Path) -> Callable[[str, str], Door]:
    """A door of one form through one scheme. The plain client checks the certificate; see the tests at the end."""

    def find(form: str, scheme: str) -> Door:
        checked = {"ssl_config": trust(trusted)} if (form, scheme) == ("plain", "https") else {}
        return Door(form, house.http if scheme == "http" else house.https, house.key, checked)

    return find


@pytest.fixture(scope="session")
def opened(entry: Callable[[str, str], Door]) -> Iterator[Callable[[str, str], Any]]:
    """Clients, opened when they are first asked for and kept as programs keep them."""
    with ExitStack() as stack:
        yield cache(lambda form, scheme: stack.enter_context(entry(form, scheme).open()))


@pytest.fixture(params=DOORS, ids="-".join)
def door(request: pytest.FixtureRequest, live: Live, entry: Callable[[str, str], Door]) -> Door:
    return entry(*request.param)


@pytest.fixture
def client(door: Door, opened: Callable[[str, str], Any]) -> Any:
    return opened(door.form, door.url.partition(":")[0])


@pytest.fixture
def database(client: Any, name: str) -> Any:
    return client.create_database(name)


@pytest.fixture
def box(database: Any) -> Any:
    """A container with one key path."""
    return database.create_container("box", PartitionKey("/pk"))


def refused(call: Callable[..., Any], *args: Any, **kwargs: Any) -> exceptions.CosmosHttpResponseError:
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        call(*args, **kwargs)
    return caught.value


def plain(item: dict[str, Any]) -> dict[str, Any]:
    """An item as its writer sent it; what the service added must be there and be last."""
    own = {name: value for name, value in item.items() if name not in SYSTEM}
    assert [*item] == [*own, "_rid", "_self", "_etag", "_attachments", "_ts"]
    assert item["_attachments"] == "attachments/"
    assert item["_self"].endswith(f"/docs/{item['_rid']}/")
    assert abs(item["_ts"] - time.time()) < 300
    return own


# ---- items


@pytest.mark.parametrize("door", ALL_DOORS, ids="-".join, indirect=True)
def test_an_item_from_its_creation_to_its_end(box: Any) -> None:
    heard = Heard()
    item = {"id": "1", "pk": "a", "text": "Zwölf Boxkämpfer \U0001f94a", "n": [1, 1.5, -0.0, None, {"x": True}]}
    made = box.create_item(item, response_hook=heard)
    assert plain(made) == item
    assert heard.headers["etag"] == made["_etag"]
    assert box.read_item("1", partition_key="a") == made
    assert refused(box.create_item, item).status_code == 409
    put = box.upsert_item({"id": "1", "pk": "a", "n": 2})
    assert (plain(put), put["_rid"]) == ({"id": "1", "pk": "a", "n": 2}, made["_rid"])
    assert put["_etag"] != made["_etag"]
    replaced = box.replace_item("1", {"id": "1", "pk": "a", "n": 3})
    assert (replaced["n"], replaced["_rid"]) == (3, made["_rid"])
    box.delete_item("1", partition_key="a")
    for gone in (box.read_item, box.delete_item):
        assert refused(gone, "1", partition_key="a").status_code == 404
    assert refused(box.replace_item, "1", {"id": "1", "pk": "a"}).status_code == 404
    again = box.upsert_item({"id": "1", "pk": "a"})
    assert again["_rid"] != made["_rid"]


def test_an_item_addressed_by_itself(box: Any) -> None:
    """Handed an item in place of its id, this client goes by the link in it."""
    item = box.create_item({"id": "1", "pk": "a"})
    assert box.read_item(item, partition_key="a") == item
    changed = box.replace_item(item, {**item, "n": 1})
    assert (changed["n"], changed["_rid"]) == (1, item["_rid"])
    box.delete_item(changed, partition_key="a")
    assert refused(box.read_item, item, partition_key="a").status_code == 404


def test_ids_are_one_per_logical_partition(box: Any) -> None:
    for pk in ("a", "b", 1, True, None):
        box.create_item({"id": "same", "pk": pk})
    assert sorted(str(item["pk"]) for item in box.read_all_items()) == ["1", "None", "True", "a", "b"]


def test_ids_and_keys_of_many_kinds(box: Any) -> None:
    for text in ("with space", "Grüße", "日本", "a+b&c=d;e,f", "100%", "%41", "'quoted\"", "x" * 255):
        box.create_item({"id": text, "pk": text})
        assert box.read_item(text, partition_key=text)["id"] == text
        box.delete_item(text, partition_key=text)
    assert list(box.read_all_items()) == []


def test_an_item_without_an_id_gets_one_from_the_client_if_asked(box: Any) -> None:
    made = box.create_item({"pk": "a"}, enable_automatic_id_generation=True)
    assert box.read_item(made["id"], partition_key="a") == made
    assert "id" in str(refused(box.create_item, {"pk": "a"}))


def test_the_feed_in_pages(box: Any) -> None:
    for number in range(5):
        box.create_item({"id": str(number), "pk": number % 2})
    whole = [item["id"] for item in box.read_all_items()]
    assert sorted(whole) == ["0", "1", "2", "3", "4"]
    assert [len(list(page)) for page in box.read_all_items(max_item_count=1).by_page()] == [1] * 5
    assert [len(list(page)) for page in box.read_all_items(max_item_count=2).by_page()] == [2, 2, 1]
    token, found = None, []
    for _ in range(5):
        pages = box.read_all_items(max_item_count=1).by_page(token)
        found += [item["id"] for item in next(pages)]
        token = pages.continuation_token
    assert (found, token) == (whole, None)


def test_the_feed_goes_on_behind_items_that_come_and_go(box: Any) -> None:
    for number in range(6):
        box.create_item({"id": str(number), "pk": "a"})
    pages = box.read_all_items(max_item_count=2).by_page()
    first = [item["id"] for item in next(pages)]
    for name in (first[1], "4"):
        box.delete_item(name, partition_key="a")
    box.create_item({"id": "00", "pk": "a"})
    rest = [
        item["id"] for page in box.read_all_items(max_item_count=3).by_page(pages.continuation_token) for item in page
    ]
    assert (first, rest) == (["0", "1"], ["2", "3", "5"])


def test_conditions(box: Any) -> None:
    old = box.create_item({"id": "1", "pk": "a"})
    new = box.replace_item("1", {"id": "1", "pk": "a", "n": 1}, **if_match(old["_etag"]))
    assert refused(box.replace_item, "1", dict(new), **if_match(old["_etag"])).status_code == 412
    assert refused(box.upsert_item, dict(new), **if_match(old["_etag"])).status_code == 412
    error = refused(box.delete_item, "1", partition_key="a", **if_match(old["_etag"]))
    assert (type(error), error.status_code) == (exceptions.CosmosAccessConditionFailedError, 412)
    assert box.read_item("1", partition_key="a") == new
    box.upsert_item({"id": "1", "pk": "a", "n": 2}, **if_match(new["_etag"]))
    last = box.read_item("1", partition_key="a")
    box.delete_item("1", partition_key="a", **if_match(last["_etag"]))
    assert list(box.read_all_items()) == []


def if_match(etag: str) -> dict[str, Any]:
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}


def if_none_match(etag: str) -> dict[str, Any]:
    return {"etag": etag, "match_condition": MatchConditions.IfModified}


def test_a_read_of_what_is_known_says_not_modified(box: Any) -> None:
    item = box.create_item({"id": "1", "pk": "a"})
    heard = Heard()
    same = box.read_item("1", partition_key="a", response_hook=heard, **if_none_match(item["_etag"]))
    assert not same
    assert float(heard.headers["x-ms-request-charge"]) == 1.0
    assert heard.headers["etag"] == item["_etag"]
    changed = box.upsert_item({"id": "1", "pk": "a", "n": 1})
    assert box.read_item("1", partition_key="a", **if_none_match(item["_etag"])) == changed


def test_upsert_only_what_is_not_there(box: Any) -> None:
    box.upsert_item({"id": "1", "pk": "a"}, match_condition=MatchConditions.IfMissing)
    error = refused(box.upsert_item, {"id": "1", "pk": "a", "n": 1}, match_condition=MatchConditions.IfMissing)
    assert error.status_code == 412
    error = refused(box.create_item, {"id": "1", "pk": "a", "n": 1}, match_condition=MatchConditions.IfMissing)
    assert error.status_code in (409, 412)
    assert "n" not in box.read_item("1", partition_key="a")


def test_writes_that_want_no_answer(box: Any) -> None:
    heard = Heard()
    for write in (box.create_item, box.upsert_item):
        assert not write({"id": "1", "pk": "a"}, no_response=True, response_hook=heard)
        assert re.fullmatch(r'"[0-9a-f-]{36}"', heard.headers["etag"])
        assert float(heard.headers["x-ms-request-charge"]) > 5
    assert not box.replace_item("1", {"id": "1", "pk": "a", "n": 1}, no_response=True, response_hook=heard)
    assert box.read_item("1", partition_key="a")["_etag"] == heard.headers["etag"]


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
def test_the_size_limit(box: Any) -> None:
    room = (2 << 20) - len('{"id":"1","pk":"a","v":""}')
    assert len(box.create_item({"id": "1", "pk": "a", "v": "x" * room})["v"]) == room
    error = refused(box.upsert_item, {"id": "1", "pk": "a", "v": "x" * (room + 1)})
    assert (error.status_code, "Request size is too large" in str(error)) == (413, True)
    assert len(box.read_item("1", partition_key="a")["v"]) == room


# ---- keys


def test_hierarchical_keys(database: Any, name: str, caller: Caller) -> None:
    paths = ["/tenant", "/user", "/session"]
    box = database.create_container("box", PartitionKey(paths, kind="MultiHash"))
    assert box.read()["partitionKey"] == {"paths": paths, "kind": "MultiHash", "version": 2}
    for session in (1, 2, None):
        box.create_item({"id": "1", "tenant": "t", "user": True, "session": session})
    assert box.read_item("1", partition_key=["t", True, 2])["session"] == 2
    assert box.read_item("1", partition_key=["t", True, None])["session"] is None
    # For a level that the item lacks this client says null, and that is another key.
    error = refused(box.create_item, {"id": "1", "tenant": "t"})
    assert (error.status_code, error.sub_status) == (400, 1001)
    caller.must("POST", f"/dbs/{name}/colls/box/docs", {"id": "1", "tenant": "t"}, key_header("t", {}, {}))
    error = refused(box.read_item, "1", partition_key=["t", True])
    assert error.status_code == 400
    assert "Partition key provided either doesn't correspond to definition in the collection" in str(error)
    box.delete_item("1", partition_key=["t", True, 1])
    assert len(list(box.read_all_items())) == 3


def test_none_null_undefined_and_empty_are_keys_of_their_own(box: Any, name: str, caller: Caller) -> None:
    box.create_item({"id": "1", "is": "undefined"})
    box.create_item({"id": "1", "is": "null", "pk": None})
    box.create_item({"id": "1", "is": "empty", "pk": ""})
    assert box.read_item("1", partition_key=NonePartitionKeyValue)["is"] == "undefined"
    assert box.read_item("1", partition_key=NullPartitionKeyValue)["is"] == "null"
    assert box.read_item("1", partition_key="")["is"] == "empty"
    place = f"/dbs/{name}/colls/box/docs/1"
    answers = {}
    for sent in ("[]", "[{}]", "[null]", '[""]'):
        answer = caller.ask("GET", place, headers={"x-ms-documentdb-partitionkey": sent})
        answers[sent] = answer.json["is"] if answer.status == 200 else answer.status
    assert answers == {"[]": 400, "[{}]": "undefined", "[null]": "null", '[""]': "empty"}
    box.delete_item("1", partition_key=NonePartitionKeyValue)
    assert sorted(item["is"] for item in box.read_all_items()) == ["empty", "null"]


def test_a_container_without_a_key(database: Any, name: str, caller: Caller) -> None:
    old = {"x-ms-version": "2018-06-18"}
    caller.must("POST", f"/dbs/{name}/colls", {"id": "old"}, old)
    box = database.get_container_client("old")
    assert box.read()["partitionKey"] == {"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": True}
    caller.must("POST", f"/dbs/{name}/colls/old/docs", {"id": "1", "n": 1}, old)
    assert box.read_item("1", partition_key=NonePartitionKeyValue)["n"] == 1
    box.upsert_item({"id": "2", "n": 2})
    assert caller.must("GET", f"/dbs/{name}/colls/old/docs/2", headers=old).json["n"] == 2
    assert caller.must("GET", f"/dbs/{name}/colls/old/docs/2", headers=key_header()).json["n"] == 2
    box.replace_item("2", {"id": "2", "n": 3})
    box.delete_item("2", partition_key=NonePartitionKeyValue)
    assert [item["id"] for item in box.read_all_items()] == ["1"]


# ---- databases and containers


def test_databases(client: Any, name: str) -> None:
    heard = Heard()
    made = client.create_database(name, response_hook=heard)
    assert float(heard.headers["x-ms-request-charge"]) > 0
    error = refused(client.create_database, name)
    assert (error.status_code, error.sub_status) == (409, 3206)
    assert client.create_database_if_not_exists(name).read() == made.read()
    seen = made.read()
    assert {"id", "_rid", "_self", "_etag", "_ts", "_colls", "_users"} == set(seen)
    assert seen["_self"] == f"dbs/{seen['_rid']}/"
    client.delete_database(name)
    for gone in (made.read, lambda: client.delete_database(name)):
        assert refused(gone).status_code == 404


def test_databases_are_listed_in_pages(client: Any, name: str) -> None:
    names = [f"{name}-{number}" for number in range(4)]
    for each in names:
        client.create_database(each)
    mine = [row["id"] for row in client.list_databases() if row["id"].startswith(name)]
    pages = [[row["id"] for row in page] for page in client.list_databases(max_item_count=1).by_page()]
    assert mine == names
    assert all(len(page) == 1 for page in pages)
    assert [row for (row,) in pages if row.startswith(name)] == names
    for each in names:
        client.delete_database(each)


POLICIES: Final[dict[str, Any]] = {
    "indexing_policy": {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": "/large/*"}, {"path": '/"_etag"/?'}],
        "compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]],
    },
    "default_ttl": 3600,
    "unique_key_policy": {"uniqueKeys": [{"paths": ["/mail"]}]},
    "conflict_resolution_policy": {"mode": "LastWriterWins", "conflictResolutionPath": "/n"},
    "computed_properties": [{"name": "low", "query": "SELECT VALUE LOWER(c.name) FROM c"}],
}


def test_containers_and_their_policies(database: Any) -> None:
    box = database.create_container("box", PartitionKey("/pk"), **POLICIES)
    seen = box.read()
    assert seen["partitionKey"] == {"paths": ["/pk"], "kind": "Hash", "version": 2}
    assert seen["indexingPolicy"] == POLICIES["indexing_policy"]
    assert seen["defaultTtl"] == 3600
    assert seen["uniqueKeyPolicy"] == POLICIES["unique_key_policy"]
    assert seen["conflictResolutionPolicy"]["conflictResolutionPath"] == "/n"
    assert seen["computedProperties"] == POLICIES["computed_properties"]
    assert seen["geospatialConfig"] == {"type": "Geography"}
    assert refused(database.create_container, "box", PartitionKey("/pk")).status_code == 409
    changed = database.replace_container(
        "box", PartitionKey("/pk"), default_ttl=60, indexing_policy={"indexingMode": "none", "automatic": False}
    )
    after = changed.read()
    assert (after["defaultTtl"], after["indexingPolicy"]["indexingMode"]) == (60, "none")
    assert after["uniqueKeyPolicy"] == POLICIES["unique_key_policy"]
    assert after["_etag"] != seen["_etag"]
    assert refused(database.replace_container, "box", PartitionKey("/other")).status_code == 400
    database.delete_container("box")
    assert refused(box.read).status_code == 404


def test_the_policies_of_a_plain_container(box: Any) -> None:
    seen = box.read()
    assert seen["indexingPolicy"] == {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/*"}],
        "excludedPaths": [{"path": '/"_etag"/?'}],
    }
    assert seen["conflictResolutionPolicy"] == {
        "mode": "LastWriterWins",
        "conflictResolutionPath": "/_ts",
        "conflictResolutionProcedure": "",
    }
    assert {"defaultTtl", "uniqueKeyPolicy"}.isdisjoint(seen)


def test_containers_are_listed_in_pages(database: Any) -> None:
    names = [f"box-{number}" for number in range(3)]
    for name in names:
        database.create_container(name, PartitionKey("/pk"))
    assert [row["id"] for row in database.list_containers()] == names
    pages = database.list_containers(max_item_count=2).by_page()
    assert [[row["id"] for row in page] for page in pages] == [names[:2], names[2:]]


def test_a_database_takes_its_containers_with_it(door: Door, client: Any, database: Any, name: str) -> None:
    box = database.create_container("box", PartitionKey("/pk"))
    box.create_item({"id": "1", "pk": "a"})
    client.delete_database(name)
    assert refused(box.read_item, "1", partition_key="a").status_code == 404
    client.create_database(name).create_container("box", PartitionKey("/pk"))
    with door.open() as other:
        assert list(other.get_database_client(name).get_container_client("box").read_all_items()) == []


def test_a_container_made_again_is_found_by_a_client_that_knew_the_first(door: Door, database: Any, name: str) -> None:
    """The client names the container it means, is told 400/1024, looks again and goes on."""
    first = database.create_container("box", PartitionKey("/pk"))
    first.create_item({"id": "1", "pk": "a"})
    with door.open() as other:
        other.get_database_client(name).delete_container("box")
        other.get_database_client(name).create_container("box", PartitionKey("/other"))
    first.create_item({"id": "2", "other": "b"})
    assert first.read_item("2", partition_key="b")["other"] == "b"
    assert [item["id"] for item in first.read_all_items()] == ["2"]


# ---- what containers promise


def test_unique_keys(database: Any) -> None:
    policy = {"uniqueKeys": [{"paths": ["/mail"]}, {"paths": ["/first", "/name/last"]}]}
    box = database.create_container("box", PartitionKey("/pk"), unique_key_policy=policy)
    box.create_item({"id": "1", "pk": "a", "mail": "x", "first": "A", "name": {"last": "B"}})
    error = refused(box.create_item, {"id": "2", "pk": "a", "mail": "x"})
    assert (error.status_code, error.sub_status) == (409, 3301)
    assert "Unique index constraint violation" in str(error)
    same = {"id": "2", "pk": "a", "mail": "y", "first": "A", "name": {"last": "B"}}
    assert refused(box.upsert_item, same).status_code == 409
    box.create_item({"id": "2", "pk": "b", "mail": "x"})
    box.create_item({"id": "3", "pk": "a", "first": "C"})
    assert refused(box.create_item, {"id": "4", "pk": "a", "first": "D", "mail": None}).status_code == 409
    box.replace_item("1", {"id": "1", "pk": "a", "mail": "z", "first": "A", "name": {"last": "B"}})
    box.create_item({"id": "5", "pk": "a", "mail": "x"})
    box.delete_item("5", partition_key="a")
    box.create_item({"id": "6", "pk": "a", "mail": "x"})


def test_items_expire(database: Any) -> None:
    box = database.create_container(
        "box", PartitionKey("/pk"), default_ttl=1, unique_key_policy={"uniqueKeys": [{"paths": ["/u"]}]}
    )
    box.create_item({"id": "short", "pk": "a", "u": 1})
    box.create_item({"id": "own", "pk": "a", "u": 2, "ttl": 1})
    box.create_item({"id": "never", "pk": "a", "u": 3, "ttl": -1})
    box.create_item({"id": "long", "pk": "a", "u": 4, "ttl": 1000})
    await_gone(box, "short", "own")
    assert {item["id"] for item in box.read_all_items()} == {"never", "long"}
    box.create_item({"id": "short", "pk": "a", "u": 2, "ttl": 100})
    box.create_item({"id": "own", "pk": "a", "u": 1, "ttl": 100})
    for bad in (0, -2, "1", 1.5, None, True):
        assert refused(box.upsert_item, {"id": "x", "pk": "a", "ttl": bad}).status_code == 400


def await_gone(box: Any, *names: str) -> None:
    until = time.monotonic() + 20
    for name in names:
        while True:
            try:
                box.read_item(name, partition_key="a")
            except exceptions.CosmosResourceNotFoundError:
                break
            assert time.monotonic() < until, f"{name} does not expire"


def test_expiry_can_be_switched_on_and_off(database: Any) -> None:
    box = database.create_container("box", PartitionKey("/pk"))
    box.create_item({"id": "1", "pk": "a", "ttl": 1})
    box.create_item({"id": "2", "pk": "a"})
    box.create_item({"id": "3", "pk": "a", "ttl": "no number here"})
    box.delete_item("3", partition_key="a")
    assert box.read_item("1", partition_key="a")["ttl"] == 1
    database.replace_container("box", PartitionKey("/pk"), default_ttl=-1)
    await_gone(box, "1")
    assert box.read_item("2", partition_key="a")["id"] == "2"
    database.replace_container("box", PartitionKey("/pk"), default_ttl=1)
    await_gone(box, "2")


def test_session_tokens(door: Door, box: Any, name: str) -> None:
    heard = Heard()
    box.create_item({"id": "1", "pk": "a"}, response_hook=heard)
    assert heard.headers["x-ms-session-token"] == "0:-1#1"
    box.upsert_item({"id": "1", "pk": "a", "n": 1}, response_hook=heard)
    token = heard.headers["x-ms-session-token"]
    assert token == "0:-1#2"
    with door.open() as other:
        there = other.get_database_client(name).get_container_client("box")
        assert there.read_item("1", partition_key="a", session_token=token)["n"] == 1
        error = refused(there.read_item, "1", partition_key="a", session_token="0:-1#3")
        assert (error.status_code, error.sub_status) == (404, 1002)


def test_feed_ranges_cover_the_container(box: Any) -> None:
    ranges = [row["Range"] for row in box.read_feed_ranges()]
    assert ranges == [{"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}]


def test_the_change_feed(box: Any) -> None:
    heard = Heard()
    for number in range(3):
        box.create_item({"id": str(number), "pk": number})
    box.upsert_item({"id": "0", "pk": 0, "again": True})
    box.delete_item("1", partition_key=1)
    changes = list(box.query_items_change_feed(start_time="Beginning", response_hook=heard))
    assert [change["id"] for change in changes] == ["2", "0"]
    assert changes[0]["_lsn"] < changes[1]["_lsn"]
    token = heard.headers["etag"]
    assert list(box.query_items_change_feed(continuation=token)) == []
    box.create_item({"id": "3", "pk": 3})
    assert [change["id"] for change in box.query_items_change_feed(continuation=token)] == ["3"]
    assert list(box.query_items_change_feed(start_time="Now")) == []


def test_a_patch(box: Any) -> None:
    box.create_item({"id": "1", "pk": "a", "n": 1})
    operations = [{"op": "incr", "path": "/n", "value": 2}]
    assert box.patch_item("1", "a", operations, filter_predicate="from c where c.n = 1")["n"] == 3
    unmet = refused(lambda: box.patch_item("1", "a", operations, filter_predicate="from c where c.n = 1"))
    assert (unmet.status_code, unmet.sub_status) == (412, 1110)


def test_what_is_not_built_is_refused_in_words(box: Any) -> None:
    box.create_item({"id": "1", "pk": "a"})
    for call in (
        lambda: box.execute_item_batch([("read", ("1",))], "a"),
        lambda: box.delete_all_items_by_partition_key("a"),
        lambda: box.scripts.create_stored_procedure({"id": "s", "body": "function () {}"}),
    ):
        error = refused(call)
        assert (error.status_code, "is not built yet" in str(error)) == (400, True), str(error)


# ---- who is let in


def test_a_wrong_key_is_not_let_in(door: Door) -> None:
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught, door._replace(key="d3Jvbmc=" * 8).open():
        pass
    assert caught.value.status_code == 401
    assert "The input authorization token can't serve the request" in str(caught.value)


def test_the_plain_client_believes_only_the_certificate_it_was_given(live: Live, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(make_pair().certificate)
    with (
        pytest.raises(ServiceRequestError, match="CERTIFICATE_VERIFY_FAILED"),
        Door("plain", live.https, live.key, {"ssl_config": trust(other)}).open(),
    ):
        pass


LIST: Final = """
import asyncio, os
from azure.cosmos.aio import CosmosClient

async def main():
    async with CosmosClient(os.environ["URL"], os.environ["KEY"]) as client:
        print("databases:", len([row async for row in client.list_databases()]))

asyncio.run(main())
"""


def test_the_asynchronous_client_believes_what_the_process_believes(live: Live, trusted: Path, tmp_path: Path) -> None:
    """By the names localhost and 127.0.0.1 it checks nothing; by any other, what SSL_CERT_FILE says."""
    other = tmp_path / "other.pem"
    other.write_bytes(make_pair().certificate)
    place = live.https.replace("127.0.0.1", "[::1]")
    outcomes = []
    for pem in (trusted, other):
        environment = {**os.environ, "URL": place, "KEY": live.key, "SSL_CERT_FILE": str(pem)}
        command = [sys.executable, "-c", LIST]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        outcomes.append("databases:" in done.stdout or ("CERTIFICATE_VERIFY_FAILED" in done.stderr and "distrusted"))
    assert outcomes == [True, "distrusted"]


def test_many_coroutines_share_a_client(live: Live, caller: Caller, name: str) -> None:
    caller.create(name)
    place = caller.create(name, "box")

    async def work() -> list[dict[str, Any]]:
        async with aio.CosmosClient(live.http, live.key) as client:
            box = client.get_database_client(name).get_container_client("box")
            await asyncio.gather(*(box.create_item({"id": str(at), "pk": at % 7}) for at in range(100)))
            return await asyncio.gather(*(box.read_item(str(at), partition_key=at % 7) for at in range(100)))

    assert [item["id"] for item in asyncio.run(work())] == [str(at) for at in range(100)]
    answer = caller.must("POST", f"{place}/docs", {"id": "last", "pk": 0}, {**UPSERT, **key_header(0)})
    assert answer.headers["x-ms-session-token"] == "0:-1#101"
