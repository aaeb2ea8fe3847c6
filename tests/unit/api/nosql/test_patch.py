"""Patches: a table of operations on an item, what is refused, and the same through a request."""

from typing import Any

import pytest
from tests.unit.api.nosql.account import Account
from tests.unit.api.nosql.rig import CONTAINER, KEYED, open_account, substatus

from armillary.api.nosql.patch import Patch
from armillary.clock import Clock
from armillary.errors import Kind, Refusal
from armillary.json import load

ITEM = {"id": "1", "n": 3, "list": [1, 2], "in": {"a": "x"}, "a/b": {"~": 1}}
FIXED = ("id", "_ts")


def apply(*operations: dict[str, Any]) -> dict[str, Any]:
    item: dict[str, Any] = {"n": 3, "list": [1, 2], "in": {"a": "x"}, "a/b": {"~": 1}}
    Patch({"operations": list(operations)}, FIXED).apply(item)
    return item


def op(name: str, path: str, *value: object, **more: object) -> dict[str, Any]:
    return {"op": name, "path": path, **({"value": value[0]} if value else {}), **more}


@pytest.mark.parametrize(
    ("operation", "changed"),
    [
        (op("add", "/new", 1), {"new": 1}),
        (op("add", "/n", "text"), {"n": "text"}),
        (op("add", "/in/b", None), {"in": {"a": "x", "b": None}}),
        (op("add", "/list/0", 0), {"list": [0, 1, 2]}),
        (op("add", "/list/2", 3), {"list": [1, 2, 3]}),
        (op("add", "/list/-", 3), {"list": [1, 2, 3]}),
        (op("set", "/list/0", 9), {"list": [9, 2]}),
        (op("set", "/list/-", 3), {"list": [1, 2, 3]}),
        (op("set", "/in", [1]), {"in": [1]}),
        (op("set", "/0", 1), {"0": 1}),
        (op("replace", "/list/1", {}), {"list": [1, {}]}),
        (op("replace", "/n", 4), {"n": 4}),
        (op("remove", "/list/0"), {"list": [2]}),
        (op("remove", "/in/a"), {"in": {}}),
        (op("remove", "/a~1b/~0"), {"a/b": {}}),
        (op("incr", "/n", -5), {"n": -2}),
        (op("incr", "/n", 0.5), {"n": 3.5}),
        (op("incr", "/new", 2), {"new": 2}),
        (op("incr", "/list/0", 13), {"list": [14, 2]}),
        (op("move", "/in/c", **{"from": "/in/a"}), {"in": {"c": "x"}}),
        (op("move", "/list/1", **{"from": "/list/0"}), {"list": [2, 1]}),
    ],
)
def test_one_operation(operation: dict[str, Any], changed: dict[str, Any]) -> None:
    assert apply(operation) == {"n": 3, "list": [1, 2], "in": {"a": "x"}, "a/b": {"~": 1}} | changed


def test_operations_follow_each_other_and_leave_the_patch_as_it_was() -> None:
    patch = Patch({"operations": [op("add", "/new", {}), op("add", "/new/x", 1), op("remove", "/n")]}, FIXED)
    for _ in range(2):
        item: dict[str, Any] = {"n": 1}
        patch.apply(item)
        assert item == {"new": {"x": 1}}


@pytest.mark.parametrize(
    "operation",
    [
        op("replace", "/none", 1),
        op("remove", "/none"),
        op("remove", "/list/2"),
        op("remove", "/list/-"),
        op("add", "/list/4", 1),
        op("add", "/list/x", 1),
        op("set", "/list/-1", 1),
        op("add", "/none/x", 1),
        op("add", "/n/x", 1),
        op("incr", "/in", 1),
        op("incr", "/n", "1"),
        op("incr", "/n", True),
        op("move", "/x", **{"from": "/none"}),
        op("move", "/in/a/b", **{"from": "/in"}),
    ],
)
def test_what_the_item_does_not_allow(operation: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        apply(operation)
    assert refused.value.kind is Kind.BAD_PATCH


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"operations": []},
        {"operations": {}},
        {"operations": [op("add", "/a", 1)] * 11},
        {"operations": ["add"]},
        {"operations": [op("copy", "/a", 1)]},
        {"operations": [op("add", "/a")]},
        {"operations": [op("add", "a", 1)]},
        {"operations": [op("add", "/", 1)]},
        {"operations": [{"op": "add", "path": 1, "value": 1}]},
        {"operations": [{"op": "move", "path": "/a"}]},
        {"operations": [op("set", "/id", "2")]},
        {"operations": [op("remove", "/_ts")]},
        {"operations": [op("move", "/x", **{"from": "/id"})]},
        {"operations": [op("add", "/a", 1)], "condition": 1},
        {"operations": [op("add", "/a", 1)], "condition": "WHERE true"},
        {"operations": [op("add", "/a", 1)], "condition": "FROM c JOIN x IN c.a"},
        {"operations": [op("add", "/a", 1)], "condition": "FROM c ORDER BY c.a"},
        {"operations": [op("add", "/a", 1)], "condition": "FROM c OFFSET 1 LIMIT 1"},
    ],
)
def test_what_is_no_patch(body: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        Patch(body, FIXED)
    assert refused.value.kind is Kind.BAD_PATCH


def test_a_condition_that_is_no_query_is_refused_in_the_words_of_queries() -> None:
    with pytest.raises(Refusal, match="SC1001"):
        Patch({"operations": [op("add", "/a", 1)], "condition": "from c where"}, FIXED)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [("from c where c.n = 3", True), ("FROM root WHERE root.n > 3", False), (" from c where c.none = 1", False)],
)
def test_a_condition_decides(condition: str, holds: bool) -> None:
    patch = Patch({"operations": [op("add", "/a", 1)], "condition": condition}, FIXED)
    if holds:
        patch.check(ITEM, Clock())
        return
    with pytest.raises(Refusal) as refused:
        patch.check(ITEM, Clock())
    assert refused.value.kind is Kind.CONDITION_FALSE


@pytest.fixture
def account() -> Account:
    made = open_account()
    made.send("POST", "/dbs/d/colls/c/docs", {"id": "1", "pk": "a", "n": 1}, KEYED)
    return made


def test_an_item_is_patched_in_place(account: Account) -> None:
    before = load(account.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED).body)
    body = {"operations": [op("incr", "/n", (1 << 53) + 2), op("set", "/ttl", 100)]}
    answer = account.send("PATCH", "/dbs/d/colls/c/docs/1", body, KEYED)
    assert answer.status == 200
    patched = load(answer.body)
    assert (patched["_rid"], patched["n"], patched["ttl"]) == (before["_rid"], 9007199254740996, 100)
    assert patched["_etag"] != before["_etag"]
    assert account.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED).body == answer.body
    silent = account.send("PATCH", "/dbs/d/colls/c/docs/1", body, {**KEYED, "prefer": "return=minimal"})
    assert (silent.status, silent.body) == (200, b"")
    assert account.database.check().complaints == []


@pytest.mark.parametrize(
    ("body", "headers", "status", "sub"),
    [
        ({"operations": [op("set", "/pk", "b")]}, {}, 400, 0),
        ({"operations": [op("remove", "/none")]}, {}, 400, 0),
        ({"operations": [op("set", "/x", 1)], "condition": "from c where c.n = 2"}, {}, 412, 1110),
        ({"operations": [op("set", "/x", 1)]}, {"if-match": '"other"'}, 412, 0),
        ({"operations": [op("set", "/x", "x" * (2 << 20))]}, {}, 413, 0),
        ([], {}, 400, 0),
    ],
)
def test_a_refused_patch_leaves_no_trace(
    account: Account, body: object, headers: dict[str, str], status: int, sub: int
) -> None:
    before = account.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED)
    answer = account.send("PATCH", "/dbs/d/colls/c/docs/1", body, {**KEYED, **headers})
    assert (answer.status, substatus(answer)) == (status, sub)
    assert account.send("GET", "/dbs/d/colls/c/docs/1", headers=KEYED).body == before.body


def test_what_is_not_there_is_not_patched(account: Account) -> None:
    assert account.send("PATCH", "/dbs/d/colls/c/docs/2", {"operations": [op("set", "/x", 1)]}, KEYED).status == 404


def test_a_hierarchical_key_stays(account: Account) -> None:
    key = {"paths": ["/a/b", "/c"], "kind": "MultiHash", "version": 2}
    account.send("POST", "/dbs/d/colls", {**CONTAINER, "id": "h", "partitionKey": key})
    headers = {"x-ms-documentdb-partitionkey": '["x","y"]'}
    account.send("POST", "/dbs/d/colls/h/docs", {"id": "1", "a": {"b": "x"}, "c": "y"}, headers)
    for operation, status in ((op("set", "/a", {"b": "z"}), 400), (op("set", "/a/d", 1), 200)):
        answer = account.send("PATCH", "/dbs/d/colls/h/docs/1", {"operations": [operation]}, headers)
        assert answer.status == status
