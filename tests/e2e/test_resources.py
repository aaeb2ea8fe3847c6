"""What clients build on without showing it: headers, rids, ranges, offers, the account, feeds of everything."""

import json
import re
import socket
from typing import Any, Final
from urllib.parse import quote, urlsplit

import pytest
from tests.e2e.live import UPSERT, Answer, Caller, Live, key_header

pytestmark = [pytest.mark.e2e, pytest.mark.workers(1, 3)]

A: Final = key_header("a")
ETAG: Final = re.compile(r'"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"')
EVERY_ANSWER: Final = {
    "x-ms-activity-id",
    "x-ms-request-charge",
    "x-ms-gatewayversion",
    "x-ms-serviceversion",
    "x-ms-schemaversion",
    "x-ms-request-duration-ms",
    "x-ms-last-state-change-utc",
    "content-type",
    "date",
}
DATA_ANSWER: Final = {
    "x-ms-session-token",
    "lsn",
    "x-ms-global-committed-lsn",
    "x-ms-quorum-acked-lsn",
    "x-ms-cosmos-llsn",
    "x-ms-cosmos-quorum-acked-llsn",
    "x-ms-number-of-read-regions",
    "x-ms-transport-request-id",
    "x-ms-documentdb-partitionkeyrangeid",
    "x-ms-cosmos-internal-partition-id",
    "x-ms-cosmos-physical-partition-id",
    "x-ms-alt-content-path",
    "x-ms-content-path",
}


@pytest.fixture
def place(caller: Caller, name: str) -> str:
    caller.create(name)
    return caller.create(name, "box")


def make(caller: Caller, place: str, name: str = "1", **more: object) -> Answer:
    return caller.must("POST", f"{place}/docs", {"id": name, "pk": "a", **more}, A)


# ---- headers


def test_every_answer_says_what_clients_read(caller: Caller, place: str, name: str) -> None:
    item = f"{place}/docs/1"
    made = make(caller, place)
    answers = {
        "create": made,
        "upsert": caller.must("POST", f"{place}/docs", {"id": "1", "pk": "a"}, {**A, **UPSERT}),
        "replace": caller.must("PUT", item, {"id": "1", "pk": "a"}, A),
        "read": caller.must("GET", item, headers=A),
        "not modified": caller.ask("GET", item, headers={**A, "if-none-match": "*"}),
        "missing": caller.ask("GET", f"{place}/docs/2", headers=A),
        "feed": caller.must("GET", f"{place}/docs"),
        "delete": caller.must("DELETE", item, headers=A),
    }
    statuses = {kind: answer.status for kind, answer in answers.items()}
    assert statuses == {
        "create": 201,
        "upsert": 200,
        "replace": 200,
        "read": 200,
        "not modified": 304,
        "missing": 404,
        "feed": 200,
        "delete": 204,
    }
    rid = caller.must("GET", place).json["_rid"]
    for kind, answer in answers.items():
        missing = (EVERY_ANSWER | DATA_ANSWER) - answer.headers.keys()
        assert not missing, kind
        assert answer.headers["x-ms-alt-content-path"] == f"dbs/{name}/colls/box"
        assert answer.headers["x-ms-content-path"] == rid
        assert re.fullmatch(r"0:-1#\d+", answer.headers["x-ms-session-token"])
        assert (answer.body == b"") is (kind in ("not modified", "delete"))
    for kind in ("create", "upsert", "replace", "read", "not modified"):
        assert ETAG.fullmatch(answers[kind].etag), kind
        assert answers[kind].headers["x-ms-item-lsn"] <= answers[kind].headers["lsn"]
    assert [answers[kind].headers["lsn"] for kind in ("create", "upsert", "replace", "delete")] == ["1", "2", "3", "4"]
    assert answers["feed"].headers["x-ms-item-count"] == "1"


def test_activities_differ(caller: Caller, place: str) -> None:
    seen = {caller.must("GET", place).headers["x-ms-activity-id"] for _ in range(20)}
    assert len(seen) == 20


def test_upsert_says_whether_it_created(caller: Caller, place: str) -> None:
    for status in (201, 200):
        answer = caller.must("POST", f"{place}/docs", {"id": "1", "pk": "a"}, {**A, **UPSERT})
        assert answer.status == status
    lower = {"x-ms-documentdb-is-upsert": "true"}
    assert caller.must("POST", f"{place}/docs", {"id": "1", "pk": "a"}, {**A, **lower}).status == 200
    off = {"x-ms-documentdb-is-upsert": "False"}
    assert caller.ask("POST", f"{place}/docs", {"id": "1", "pk": "a"}, {**A, **off}).status == 409


def test_writes_that_want_no_answer(caller: Caller, place: str) -> None:
    minimal = {**A, "prefer": "return=minimal"}
    made = caller.must("POST", f"{place}/docs", {"id": "1", "pk": "a"}, minimal)
    put = caller.must("PUT", f"{place}/docs/1", {"id": "1", "pk": "a"}, minimal)
    assert (made.status, made.body, put.status, put.body) == (201, b"", 200, b"")
    assert caller.must("GET", f"{place}/docs/1", headers={**minimal}).json["_etag"] == put.etag


def test_trailing_slashes_and_capital_booleans(caller: Caller, place: str) -> None:
    make(caller, place)
    for path in (f"{place}/docs/1/", f"{place}/docs/1", f"{place}/docs/1?x=y"):
        assert caller.must("GET", path, headers=A).json["id"] == "1"
    assert caller.must("GET", f"{place}/docs/").json["_count"] == 1
    assert caller.must("GET", place + "/").json["id"] == "box"


def test_the_head_of_a_container(caller: Caller, place: str) -> None:
    shown = caller.must("HEAD", place)
    assert (shown.status, shown.body) == (200, b"")
    assert shown.etag == caller.must("GET", place).etag
    assert caller.ask("HEAD", place + "-none").status == 404


# ---- names and rids


def test_resources_by_their_rids(caller: Caller, place: str, name: str) -> None:
    item = make(caller, place, n=1).json
    database, box = caller.must("GET", f"/dbs/{name}").json, caller.must("GET", place).json
    assert item["_self"] == f"dbs/{database['_rid']}/colls/{box['_rid']}/docs/{item['_rid']}/"
    assert caller.must("GET", "/" + database["_self"]).json == database
    assert caller.must("GET", "/" + box["_self"]).json == box
    by_rid = f"/dbs/{database['_rid']}/colls/{box['_rid']}"
    assert caller.must("GET", f"{by_rid}/docs").json["Documents"] == [item]
    assert caller.must("GET", f"/dbs/{name}/colls/{box['_rid']}/docs/1", headers=A).json == item
    caller.must("POST", f"{by_rid}/docs", {"id": "2", "pk": "a"}, A)
    assert caller.must("GET", f"{by_rid}/docs/2", headers=A).json["_rid"].startswith(item["_rid"][:10])


def test_an_item_by_its_rid(caller: Caller, place: str) -> None:
    item = make(caller, place).json
    path = "/" + item["_self"]
    assert caller.must("GET", path, headers=A).json == item
    changed = caller.must("PUT", path, {"id": "1", "pk": "a", "n": 1}, A).json
    assert (changed["n"], changed["_self"]) == (1, item["_self"])
    other = caller.ask("PUT", path, {"id": "2", "pk": "a"}, A)
    assert (other.status, other.json["code"]) == (400, "BadRequest")
    elsewhere = caller.ask("GET", path, headers=key_header("b"))
    assert (elsewhere.status, elsewhere.substatus) == (404, 0)
    assert caller.must("DELETE", path, headers=A).status == 204
    for method in ("GET", "DELETE"):
        assert caller.ask(method, path, headers=A).status == 404
    assert caller.ask("PUT", path, {"id": "1", "pk": "a"}, A).status == 404


def test_a_database_with_a_name_like_a_rid(caller: Caller, name: str) -> None:
    named = name[-6:] + "=="
    caller.must("POST", "/dbs", {"id": named})
    place = caller.create(named, "box")
    make(caller, place)
    assert caller.must("GET", f"{place}/docs/1", headers=A).json["id"] == "1"
    caller.must("DELETE", f"/dbs/{named}")


def test_names_in_many_scripts(caller: Caller) -> None:
    for name in ("Mixed CASE", "größe-日本", "a+b&c", "100%25", "x" * 255):
        path = "/dbs/" + quote(name, safe="")
        caller.must("POST", "/dbs", {"id": name})
        box = {"id": name, "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
        caller.must("POST", f"{path}/colls", box)
        place = f"{path}/colls/{quote(name, safe='')}"
        answer = make(caller, place)
        assert caller.must("GET", f"{place}/docs/1", headers=A).body == answer.body
        assert answer.headers["x-ms-alt-content-path"].isascii()
        caller.must("DELETE", path)


# ---- feeds


def read_pages(caller: Caller, path: str, rows: str, size: int, **headers: str) -> list[list[Any]]:
    """All pages of a feed, each with what it must say of itself."""
    pages: list[list[Any]] = []
    token = ""
    while True:
        answer = caller.must(
            "GET", path, headers={"x-ms-max-item-count": str(size), "x-ms-continuation": token, **headers}
        )
        page = answer.json
        assert page["_count"] == len(page[rows]) == int(answer.headers["x-ms-item-count"]) <= size
        pages.append(page[rows])
        token = answer.headers.get("x-ms-continuation", "")
        if not token:
            return pages
        assert len(token) < 1024


@pytest.mark.parametrize("size", [1, 3, 100])
def test_feeds_of_everything_in_pages(caller: Caller, name: str, size: int) -> None:
    caller.create(name)
    places = [caller.create(name, f"box-{number}") for number in range(4)]
    for number in range(7):
        caller.must("POST", f"{places[0]}/docs", {"id": str(number), "pk": number % 3}, key_header(number % 3))
    boxes = read_pages(caller, f"/dbs/{name}/colls", "DocumentCollections", size)
    assert [row["id"] for page in boxes for row in page] == [f"box-{number}" for number in range(4)]
    assert name in [row["id"] for page in read_pages(caller, "/dbs", "Databases", size) for row in page]
    items = read_pages(caller, f"{places[0]}/docs", "Documents", size)
    assert sorted(row["id"] for page in items for row in page) == list("0123456")
    one_key = read_pages(caller, f"{places[0]}/docs", "Documents", size, **key_header(0))
    assert [row["id"] for page in one_key for row in page] == ["0", "3", "6"]
    assert read_pages(caller, f"{places[1]}/docs", "Documents", size) == [[]]
    targets = {row["offerResourceId"] for page in read_pages(caller, "/offers", "Offers", size) for row in page}
    assert {row["_rid"] for page in boxes for row in page} <= targets


def test_the_feed_of_a_prefix_of_a_hierarchical_key(caller: Caller, name: str) -> None:
    caller.create(name)
    place = caller.create(name, "box", "/t,/u,/s")
    for number, key in enumerate([("a", 1, "x"), ("a", 1, "y"), ("a", 2, "x"), ("b", 1, "x")]):
        item = {"id": str(number), "t": key[0], "u": key[1], "s": key[2]}
        caller.must("POST", f"{place}/docs", item, key_header(*key))
    for prefix, found in ((("a",), ["0", "1", "2"]), (("a", 1), ["0", "1"]), (("b",), ["3"]), (("c",), [])):
        pages = read_pages(caller, f"{place}/docs", "Documents", 2, **key_header(*prefix))
        assert sorted(row["id"] for page in pages for row in page) == found


def test_pages_are_bounded_by_bytes(caller: Caller, place: str) -> None:
    for number in range(6):
        make(caller, place, str(number), v="x" * 1_500_000)
    pages = read_pages(caller, f"{place}/docs", "Documents", 100)
    assert [row["id"] for page in pages for row in page] == list("012345")
    assert len(pages) >= 2
    assert all(len(json.dumps(page)) < 4 * 2**20 + 2**21 for page in pages)


# ---- ranges


def test_ranges_are_followed_like_a_feed_until_nothing_is_new(caller: Caller, place: str) -> None:
    ask = {"a-im": "Incremental Feed", "x-ms-max-item-count": "-1"}
    first = caller.must("GET", f"{place}/pkranges", headers=ask)
    (row,) = first.json["PartitionKeyRanges"]
    assert (row["id"], row["minInclusive"], row["maxExclusive"], row["parents"]) == ("0", "", "FF", [])
    assert (row["status"], row["throughputFraction"]) == ("online", 1)
    assert {"_rid", "_self", "_etag", "_ts", "_lsn", "ridPrefix"} <= row.keys()
    again = caller.ask("GET", f"{place}/pkranges", headers={**ask, "if-none-match": first.etag})
    assert (again.status, again.body, again.etag) == (304, b"", first.etag)
    assert caller.must("GET", f"{place}/pkranges").json == first.json
    box = caller.must("GET", place).json
    assert row["_rid"][:10] == box["_rid"][:10]
    assert first.json["_rid"] == box["_rid"]


def test_items_of_a_range_and_of_a_part_of_it(caller: Caller, place: str) -> None:
    make(caller, place)
    feed = f"{place}/docs"
    router = {"x-ms-documentdb-partitionkeyrangeid": "0"}
    assert caller.must("GET", feed, headers=router).json["_count"] == 1
    box = caller.must("GET", place).json["_rid"]
    assert caller.must("GET", feed, headers={"x-ms-documentdb-partitionkeyrangeid": f"{box},0"}).json["_count"] == 1
    counts = []
    for low, high in (("", "1F"), ("1F", "FF")):
        bounds = {"x-ms-start-epk": low, "x-ms-end-epk": high, "x-ms-read-key-type": "EffectivePartitionKeyRange"}
        counts.append(caller.must("GET", feed, headers={**router, **bounds}).json["_count"])
    assert sorted(counts) == [0, 1]


# ---- offers


def offer_of(caller: Caller, rid: str) -> list[dict[str, Any]]:
    rows = [row for page in read_pages(caller, "/offers", "Offers", 100) for row in page]
    return [row for row in rows if row["offerResourceId"] == rid]


def test_offers_of_containers_and_databases(caller: Caller, name: str) -> None:
    caller.must("POST", "/dbs", {"id": name}, {"x-ms-offer-throughput": "1000"})
    key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
    scaled = {"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput":4000}'}
    shared = caller.must("POST", f"/dbs/{name}/colls", {"id": "shared", "partitionKey": key}).json
    own = caller.must("POST", f"/dbs/{name}/colls", {"id": "own", "partitionKey": key}, scaled).json
    database = caller.must("GET", f"/dbs/{name}").json
    assert offer_of(caller, shared["_rid"]) == []
    (manual,), (automatic,) = offer_of(caller, database["_rid"]), offer_of(caller, own["_rid"])
    assert manual["content"]["offerThroughput"] == 1000
    assert (manual["resource"], manual["offerType"], manual["offerVersion"]) == (database["_self"], "Invalid", "V2")
    assert (manual["id"], len(manual["id"])) == (manual["_rid"], 4)
    assert manual["_self"] == f"offers/{manual['_rid']}/"
    assert automatic["content"]["offerAutopilotSettings"]["maxThroughput"] == 4000
    assert caller.must("GET", "/" + manual["_self"]).json == manual


def test_an_offer_is_replaced(caller: Caller, place: str) -> None:
    (offer,) = offer_of(caller, caller.must("GET", place).json["_rid"])
    assert offer["content"]["offerThroughput"] == 400
    path = "/" + offer["_self"]
    more = {**offer, "content": {**offer["content"], "offerThroughput": 1000}}
    stale = caller.ask("PUT", path, more, {"if-match": '"x"'})
    assert (stale.status, stale.json["code"]) == (412, "PreconditionFailed")
    changed = caller.must("PUT", path, more, {"if-match": offer["_etag"]}).json
    assert changed["content"]["offerThroughput"] == 1000
    assert changed["_etag"] != offer["_etag"]
    for wrong in (399, 450, 1_000_100, "much"):
        answer = caller.ask("PUT", path, {**more, "content": {"offerThroughput": wrong}})
        assert (answer.status, answer.json["code"]) == (400, "BadRequest"), wrong
    assert caller.must("GET", path).json == changed


def test_an_offer_goes_with_its_container(caller: Caller, place: str) -> None:
    rid = caller.must("GET", place).json["_rid"]
    (offer,) = offer_of(caller, rid)
    caller.must("DELETE", place)
    assert offer_of(caller, rid) == []
    assert caller.ask("GET", "/" + offer["_self"]).status == 404


# ---- the account


def test_the_account_advertises_the_address_that_was_used(live: Live, caller: Caller) -> None:
    account = caller.must("GET", "/")
    assert "etag" not in account.headers
    assert "_etag" not in account.json
    for host in (urlsplit(live.http).netloc, "here.example:1234", "[::1]:8081"):
        shown = caller.must("GET", "/", headers={"host": host}).json
        for locations in ("writableLocations", "readableLocations"):
            ((location),) = shown[locations]
            assert location["databaseAccountEndpoint"] == f"http://{host}/"
            assert location["name"]
    assert json.loads(account.json["queryEngineConfiguration"])["maxSqlQueryInputLength"] > 0


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_both_loopback_addresses_are_served(live: Live, host: str) -> None:
    port = urlsplit(live.http).port
    assert port
    with socket.create_connection((host, port), 10) as connection:
        connection.sendall(b"GET /_armillary/health HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        assert connection.makefile("rb").read().startswith(b"HTTP/1.1 200 OK\r\n")
