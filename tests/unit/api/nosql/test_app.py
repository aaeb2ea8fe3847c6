"""The document API without a network: requests in, responses out, on the engine in memory."""

from typing import Any

import pytest
from tests.unit.api.nosql.account import NOW, READ_KEY, Account
from tests.unit.api.nosql.rig import CONTAINER, KEYED, header, open_account, substatus

from armillary.api.nosql.access import SKEW, Access
from armillary.api.nosql.app import NosqlApp
from armillary.database import Database
from armillary.json import load
from armillary.kv.steps import drive
from armillary.wire.http import Response, format_date


@pytest.fixture
def account() -> Account:
    return open_account()


def item(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "pk": "a", **more}


def test_an_item_from_creation_to_deletion(account: Account) -> None:
    created = account.send("POST", "/dbs/d/colls/c/docs", item("1", x=1), KEYED)
    assert created.status == 201
    assert {"id", "pk", "x", "_rid", "_self", "_etag", "_attachments", "_ts"} == set(load(created.body))
    assert account.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED).body == created.body
    assert account.send("POST", "/dbs/d/colls/c/docs", item("1"), KEYED).status == 409
    replaced = account.send("PUT", "/dbs/d/colls/c/docs/1", item("1", x=2), KEYED)
    assert replaced.status == 200
    assert load(replaced.body)["_rid"] == load(created.body)["_rid"]
    assert account.send("DELETE", "/dbs/d/colls/c/docs/1", headers=KEYED).status == 204
    gone = account.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED)
    assert (gone.status, substatus(gone)) == (404, 0)
    assert header(gone, "x-ms-session-token") == "0:-1#3"


def test_upsert_says_whether_it_created(account: Account) -> None:
    headers = {**KEYED, "x-ms-documentdb-is-upsert": "True"}
    assert account.send("POST", "/dbs/d/colls/c/docs", item("1"), headers).status == 201
    assert account.send("POST", "/dbs/d/colls/c/docs", item("1"), headers).status == 200


def test_etags_guard_writes(account: Account) -> None:
    etag = load(account.send("POST", "/dbs/d/colls/c/docs", item("1"), KEYED).body)["_etag"]
    old = {**KEYED, "if-match": etag}
    assert account.send("PUT", "/dbs/d/colls/c/docs/1", item("1", x=1), old).status == 200
    assert account.send("PUT", "/dbs/d/colls/c/docs/1", item("1", x=2), old).status == 412
    assert account.send("DELETE", "/dbs/d/colls/c/docs/1", headers=old).status == 412
    now = load(account.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED).body)["_etag"]
    unchanged = account.send("GET", "/dbs/d/colls/c/docs/1", headers={**KEYED, "if-none-match": now})
    assert (unchanged.status, unchanged.body) == (304, b"")
    assert header(unchanged, "x-ms-request-charge") == "1"


def test_a_stale_process_finds_out_and_repeats(account: Account) -> None:
    other = Account(account.engine)
    assert other.send("POST", "/dbs/d/colls/c/docs", item("1"), KEYED).status == 201
    assert account.send("PUT", "/dbs/d/colls/c", {**CONTAINER, "defaultTtl": 60}).status == 200
    assert other.send("POST", "/dbs/d/colls/c/docs", item("2", ttl="no"), KEYED).status == 400
    assert other.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED).status == 200
    assert account.send("DELETE", "/dbs/d/colls/c").status == 204
    assert substatus(other.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED)) == 1003
    assert account.send("POST", "/dbs/d/colls", CONTAINER).status == 201
    assert substatus(other.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED)) == 0
    assert other.send("POST", "/dbs/d/colls/c/docs", item("1"), KEYED).status == 201
    assert account.database.check().complaints == []


def test_a_container_made_again_is_another(account: Account) -> None:
    rid = load(account.send("GET", "/dbs/d/colls/c").body)["_rid"]
    account.send("DELETE", "/dbs/d/colls/c")
    account.send("POST", "/dbs/d/colls", CONTAINER)
    meant = {**KEYED, "x-ms-cosmos-intended-collection-rid": rid}
    stale = account.send("GET", "/dbs/d/colls/c/docs/1", headers=meant)
    assert (stale.status, substatus(stale)) == (400, 1024)


def test_rids_address_what_names_do(account: Account) -> None:
    container = load(account.send("GET", "/dbs/d/colls/c").body)
    assert account.send("GET", "/" + container["_self"]).status == 200
    assert account.send("POST", f"/{container['_self']}docs/", item("1"), KEYED).status == 201
    assert account.send("GET", f"/{container['_self']}docs/1", headers=KEYED).status == 200


def test_keys_open_what_they_may(account: Account) -> None:
    assert account.send("GET", "/dbs/d", key=READ_KEY).status == 200
    assert account.send("POST", "/dbs", {"id": "e"}, key=READ_KEY).status == 401
    assert account.send("GET", "/dbs/d", key="d3Jvbmc=").status == 401
    assert account.send("GET", "/dbs/d", headers={"authorization": ""}).status == 401
    assert account.send("GET", "/dbs/d", headers={"x-ms-date": format_date(NOW - SKEW - 1).decode()}).status == 403
    assert account.send("GET", "/dbs/d", headers={"x-ms-date": format_date(NOW - SKEW).decode()}).status == 200


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/dbs/d/colls/c/docs", {"x-ms-documentdb-isquery": "True"}, 400),
        ("POST", "/dbs/d/colls/c/docs", {"content-type": "application/query+json"}, 400),
        ("POST", "/dbs/d/colls/c/docs", {"x-ms-cosmos-is-batch-request": "True"}, 400),
        ("GET", "/dbs/d/colls/c/docs", {"a-im": "Full-Fidelity Feed"}, 400),
        ("GET", "/dbs/d/users", {}, 400),
        ("GET", "/dbs/d/colls/c/sprocs", {}, 400),
        ("GET", "/addresses/", {}, 400),
        ("PUT", "/dbs/d", {}, 405),
        ("GET", "/nothing", {}, 404),
        ("GET", "/dbs/e/colls/c", {}, 404),
    ],
)
def test_what_is_not_there_says_so(
    account: Account, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = account.send(method, path, {}, headers)
    assert answer.status == status
    assert set(load(answer.body)) == {"code", "message"}


def test_addresses_point_to_gateway_mode(account: Account) -> None:
    message = load(account.send("GET", "/addresses/").body)["message"]
    assert "ConnectionMode.Gateway" in message
    assert ".gatewayMode()" in message


def test_feeds_page_by_position(account: Account) -> None:
    for number in range(7):
        account.send("POST", "/dbs/d/colls/c/docs", item(str(number)), KEYED)
    names: list[str] = []
    more: dict[str, str] = {}
    pages = 0
    while True:
        page = account.send("GET", "/dbs/d/colls/c/docs", headers={"x-ms-max-item-count": "3", **more})
        names += [found["id"] for found in load(page.body)["Documents"]]
        pages += 1
        token = header(page, "x-ms-continuation")
        if not token:
            break
        account.send("DELETE", f"/dbs/d/colls/c/docs/{names[-1]}", headers=KEYED)
        more = {"x-ms-continuation": token}
    assert (names, pages) == ([str(number) for number in range(7)], 3)


@pytest.mark.parametrize("token", ["x", "AF1~x~d~AAAA", "AF1~RID~b~3", "AF1~RID~d~!!", "AF1~RID~d~AAAA", "AF1~RID~d"])
def test_other_continuations_are_refused(account: Account, token: str) -> None:
    rid = load(account.send("GET", "/dbs/d/colls/c").body)["_rid"]
    headers = {"x-ms-continuation": token.replace("RID", rid)}
    answer = account.send("GET", "/dbs/d/colls/c/docs", headers=headers)
    assert answer.status == 400
    assert "Invalid Continuation Token" in load(answer.body)["message"]


def test_ranges_are_followed_until_nothing_is_new(account: Account) -> None:
    first = account.send("GET", "/dbs/d/colls/c/pkranges", headers={"a-im": "Incremental Feed"})
    assert first.status == 200
    (row,) = load(first.body)["PartitionKeyRanges"]
    assert (row["id"], row["minInclusive"], row["maxExclusive"], row["parents"]) == ("0", "", "FF", [])
    etag = header(first, "etag")
    assert account.send("GET", "/dbs/d/colls/c/pkranges", headers={"if-none-match": etag}).status == 304


def test_reads_cost_more_where_they_are_stronger(account: Account) -> None:
    account.send("POST", "/dbs/d/colls/c/docs", item("1"), KEYED)
    account.app = NosqlApp(account.database, Access((b"secret",), lambda: NOW), "Strong")
    levels = {"Strong": "2", "BoundedStaleness": "2", "Session": "1", "ConsistentPrefix": "1", "Eventual": "1"}
    for level, charge in levels.items():
        found = account.send("GET", "/dbs/d/colls/c/docs/1", headers={**KEYED, "x-ms-consistency-level": level})
        assert header(found, "x-ms-request-charge") == charge
    account.app = NosqlApp(account.database, Access((b"secret",), lambda: NOW), "Session")
    stronger = account.send("GET", "/dbs/d/colls/c/docs/1", headers={**KEYED, "x-ms-consistency-level": "Strong"})
    assert stronger.status == 400


def test_a_session_ahead_is_told(account: Account) -> None:
    account.send("POST", "/dbs/d/colls/c/docs", item("1"), KEYED)
    ahead = account.send("GET", "/dbs/d/colls/c/docs/1", headers={**KEYED, "x-ms-session-token": "0:-1#2"})
    assert (ahead.status, substatus(ahead)) == (404, 1002)
    met = account.send("GET", "/dbs/d/colls/c/docs/1", headers={**KEYED, "x-ms-session-token": "0:-1#1"})
    assert met.status == 200


def test_what_a_restart_owes(account: Account) -> None:
    """A partition that was made for a container that never came is swept; a version that was not followed is."""
    account.engine.create(b"orphan", b"")
    account.database.replace_container(account.database.container("d", "c"), lambda old: old, "")
    again = Database(account.engine, account.database.clock)
    assert drive(account.engine, again.recover()) == [b"orphan"]
    assert again.check().complaints == []


def test_quota_is_told_when_asked(account: Account) -> None:
    account.send("POST", "/dbs/d/colls/c/docs", item("1", text="x" * 3000), KEYED)
    asked = {"x-ms-documentdb-populatequotainfo": "True"}
    assert "documentsSize=4;documentsCount=1;" in header(
        account.send("GET", "/dbs/d/colls/c", headers=asked), "x-ms-resource-usage"
    )
    assert header(account.send("GET", "/dbs/d/colls/c"), "x-ms-resource-usage") == ""


def test_triggers_are_not_passed_over(account: Account) -> None:
    headers = {**KEYED, "x-ms-documentdb-pre-trigger-include": "t"}
    assert account.send("POST", "/dbs/d/colls/c/docs", item("1"), headers).status == 400
    assert account.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED).status == 404


def changed(answer: Response) -> list[tuple[str, int]]:
    return [(found["id"], found["_lsn"]) for found in load(answer.body)["Documents"]] if answer.body else []


def test_the_change_feed_goes_on_where_it_was(account: Account) -> None:
    """Latest version: each item once at its newest LSN, no deletions; the ETag is the position, also of a 304."""
    feed = {"a-im": "Incremental feed", "x-ms-max-item-count": "2"}
    for name in "123":
        account.send("POST", "/dbs/d/colls/c/docs", item(name), KEYED)
    account.send("PUT", "/dbs/d/colls/c/docs/1", item("1", x=1), KEYED)
    account.send("DELETE", "/dbs/d/colls/c/docs/2", headers=KEYED)
    first = account.send("GET", "/dbs/d/colls/c/docs", headers=feed)
    assert changed(first) == [("3", 3), ("1", 4)]
    etag = header(first, "etag")
    idle = account.send("GET", "/dbs/d/colls/c/docs", headers={**feed, "if-none-match": etag})
    assert (idle.status, idle.body) == (304, b"")
    account.send("POST", "/dbs/d/colls/c/docs", item("4"), KEYED)
    more = account.send("GET", "/dbs/d/colls/c/docs", headers={**feed, "if-none-match": header(idle, "etag")})
    assert changed(more) == [("4", 6)]


def test_the_change_feed_starts_now_or_at_a_moment(account: Account) -> None:
    feed = {"a-im": "Incremental Feed"}
    account.send("POST", "/dbs/d/colls/c/docs", item("1"), KEYED)
    now = account.send("GET", "/dbs/d/colls/c/docs", headers={**feed, "if-none-match": "*"})
    assert (now.status, header(now, "etag")) == (304, '"1"')
    for moment, found in ((NOW - 1, [("1", 1)]), (NOW, [("1", 1)]), (NOW + 1, [])):
        since = {**feed, "if-modified-since": format_date(moment).decode()}
        assert changed(account.send("GET", "/dbs/d/colls/c/docs", headers=since)) == found


def test_the_change_feed_of_one_key(account: Account) -> None:
    account.send("POST", "/dbs/d/colls/c/docs", item("1"), KEYED)
    other = {"x-ms-documentdb-partitionkey": '["b"]'}
    account.send("POST", "/dbs/d/colls/c/docs", {"id": "1", "pk": "b"}, other)
    answer = account.send("GET", "/dbs/d/colls/c/docs", headers={"a-im": "Incremental feed", **other})
    assert changed(answer) == [("1", 2)]


@pytest.mark.parametrize(
    ("headers", "bounds"),
    [
        ({}, ["", "FF"]),
        ({"x-ms-offer-throughput": "6000"}, ["", "FF"]),
        ({"x-ms-offer-throughput": "12000"}, ["", "1" + "F" * 31, "FF"]),
        ({"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput": 10000}'}, ["", "FF"]),
        ({"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput": 11000}'}, ["", "1" + "F" * 31, "FF"]),
    ],
)
def test_throughput_decides_how_many_partitions(account: Account, headers: dict[str, str], bounds: list[str]) -> None:
    account.send("POST", "/dbs/d/colls", {**CONTAINER, "id": "n"}, headers)
    rows = load(account.send("GET", "/dbs/d/colls/n/pkranges").body)["PartitionKeyRanges"]
    assert [row["minInclusive"] for row in rows] + [rows[-1]["maxExclusive"]] == bounds


def test_many_partitions_are_one_container(account: Account) -> None:
    """Items fall on all ranges; the feed of the whole has each once, and so have the feeds of the ranges together."""
    account.send("POST", "/dbs/d/colls", {**CONTAINER, "id": "n"}, {"x-ms-offer-throughput": "30000"})
    names = {str(number) for number in range(60)}
    places = set()
    for name in names:
        key = {"x-ms-documentdb-partitionkey": f'["{name}"]'}
        made = account.send("POST", "/dbs/d/colls/n/docs", {"id": name, "pk": name}, key)
        places.add(header(made, "x-ms-documentdb-partitionkeyrangeid"))
        assert account.send("GET", f"/dbs/d/colls/n/docs/{name}", headers=key).status == 200
    assert places == {"0", "1", "2", "3", "4"}
    found: list[str] = []
    more: dict[str, str] = {}
    while True:
        page = account.send("GET", "/dbs/d/colls/n/docs", headers={"x-ms-max-item-count": "7", **more})
        found += [each["id"] for each in load(page.body)["Documents"]]
        if not header(page, "x-ms-continuation"):
            break
        more = {"x-ms-continuation": header(page, "x-ms-continuation")}
    assert sorted(found) == sorted(names)
    apart = []
    for place in places:
        headers = {"x-ms-documentdb-partitionkeyrangeid": place, "x-ms-max-item-count": "-1"}
        apart += [
            each["id"] for each in load(account.send("GET", "/dbs/d/colls/n/docs", headers=headers).body)["Documents"]
        ]
    assert sorted(apart) == sorted(names)
    gone = account.send("GET", "/dbs/d/colls/n/docs", headers={"x-ms-documentdb-partitionkeyrangeid": "9"})
    assert (gone.status, substatus(gone)) == (410, 1002)
    whole = account.send("GET", "/dbs/d/colls/n/docs", headers={"a-im": "Incremental feed"})
    assert whole.status == 400
    assert account.database.check().complaints == []


def test_each_range_says_what_it_holds(account: Account) -> None:
    account.send("POST", "/dbs/d/colls", {**CONTAINER, "id": "n"}, {"x-ms-offer-throughput": "12000"})
    for number in range(20):
        key = {"x-ms-documentdb-partitionkey": f'["{number}"]'}
        account.send("POST", "/dbs/d/colls/n/docs", {"id": "1", "pk": str(number)}, key)
    asked = {"x-ms-documentdb-populatepartitionstatistics": "True"}
    statistics = load(account.send("GET", "/dbs/d/colls/n", headers=asked).body)["statistics"]
    assert [found["id"] for found in statistics] == ["0", "1"]
    assert sum(found["documentCount"] for found in statistics) == 20
    assert all(found["documentCount"] and found["sizeInKB"] > 0 for found in statistics)
    assert "statistics" not in load(account.send("GET", "/dbs/d/colls/n").body)
