"""Queries over databases, containers and offers."""

from typing import Any

import pytest
from tests.unit.api.nosql.account import Account
from tests.unit.api.nosql.rig import CONTAINER, header

from armillary.json import dump, load
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import drive
from armillary.wire.http import Response

QUERY = {"x-ms-documentdb-isquery": "True", "content-type": "application/query+json"}


@pytest.fixture(scope="module")
def account() -> Account:
    made = Account(MemoryEngine())
    drive(made.engine, made.database.recover())
    for name in ("shop", "logs"):
        assert made.send("POST", "/dbs", {"id": name}).status == 201
    for name in ("orders", "carts", "items", "events"):
        assert made.send("POST", "/dbs/shop/colls", {**CONTAINER, "id": name}).status == 201
    return made


def ask(account: Account, path: str, text: object, more: dict[str, str] | None = None, **parameters: Any) -> Response:
    listed = [{"name": f"@{name}", "value": value} for name, value in parameters.items()]
    body = text if not isinstance(text, str) else {"query": text, "parameters": listed}
    return account.send("POST", path, body, {**QUERY, **(more or {})})


def test_a_client_finds_the_offer_of_a_container(account: Account) -> None:
    made = load(account.send("GET", "/dbs/shop/colls/carts").body)
    found = ask(account, "/offers", "SELECT * FROM root r WHERE r.resource=@link", link=made["_self"])
    (offer,) = load(found.body)["Offers"]
    assert (offer["offerResourceId"], offer["resource"]) == (made["_rid"], made["_self"])
    assert offer == load(account.send("GET", f"/offers/{offer['id']}").body)
    assert header(found, "x-ms-item-count") == "1"
    assert load(ask(account, "/offers", "SELECT * FROM root r WHERE r.resource=@link", link="x").body)["Offers"] == []


@pytest.mark.parametrize(
    ("path", "name", "text", "rows"),
    [
        ("/dbs", "Databases", "SELECT VALUE r.id FROM root r", ["shop", "logs"]),
        ("/dbs", "Databases", 'SELECT VALUE r.id FROM root r WHERE r.id="logs"', ["logs"]),
        ("/dbs", "Databases", "SELECT r.id FROM r ORDER BY r.id", [{"id": "logs"}, {"id": "shop"}]),
        ("/dbs", "Databases", "SELECT VALUE COUNT(1) FROM r", [2]),
        ("/dbs/shop/colls", "DocumentCollections", "SELECT TOP 2 VALUE c.id FROM c", ["orders", "carts"]),
        ("/dbs/logs/colls", "DocumentCollections", "SELECT * FROM c", []),
        ("/offers", "Offers", "SELECT DISTINCT VALUE o.content.offerThroughput FROM o", [400]),
    ],
)
def test_any_query_runs_over_the_resources(account: Account, path: str, name: str, text: str, rows: list[Any]) -> None:
    answer = ask(account, path, text)
    assert answer.status == 200, answer.body
    assert load(answer.body)[name] == rows
    assert load(answer.body)["_count"] == len(rows)
    assert header(answer, "x-ms-continuation") == ""


def test_a_bare_text_is_a_query(account: Account) -> None:
    answer = account.send("POST", "/dbs", dump("SELECT VALUE r.id FROM r"), QUERY)
    assert load(answer.body)["Databases"] == ["shop", "logs"]


def test_what_comes_item_by_item_is_paged(account: Account) -> None:
    text, path = "SELECT VALUE c.id FROM c WHERE c.id != 'carts'", "/dbs/shop/colls"
    more: dict[str, str] = {}
    pages = []
    for _ in range(3):
        answer = ask(account, path, text, {"x-ms-max-item-count": "1", **more})
        pages.append(load(answer.body)["DocumentCollections"])
        more = {"x-ms-continuation": header(answer, "x-ms-continuation")}
    assert pages == [["orders"], ["items"], ["events"]]
    assert more == {"x-ms-continuation": ""}
    first = ask(account, path, text, {"x-ms-max-item-count": "1"})
    account.send("POST", "/dbs/shop/colls", {**CONTAINER, "id": "late"})
    rest = ask(account, path, text, {"x-ms-continuation": header(first, "x-ms-continuation")})
    assert load(rest.body)["DocumentCollections"] == ["items", "events", "late"]
    assert account.send("DELETE", "/dbs/shop/colls/late").status == 204


@pytest.mark.parametrize(
    "body",
    [
        {"query": "SELEC * FROM c"},
        {"query": "SELECT * FROM c WHERE x.id = 1"},
        {"query": 5},
        {},
        [],
        5,
        {"query": "SELECT * FROM c", "parameters": 5},
        {"query": "SELECT * FROM c", "parameters": ["@a"]},
    ],
)
def test_what_is_no_query_is_refused(account: Account, body: object) -> None:
    answer = account.send("POST", "/dbs", dump(body), QUERY)
    assert answer.status == 400
    assert load(answer.body)["message"]


def test_a_continuation_of_another_feed_is_refused(account: Account) -> None:
    listed = account.send("GET", "/dbs", headers={"x-ms-max-item-count": "1"})
    more = {"x-ms-continuation": header(listed, "x-ms-continuation")}
    assert ask(account, "/dbs", "SELECT * FROM c", more).status == 400
