"""A client in small: executes a distributed query over partitions as the official ones do, one partition at a time."""

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import Any

from armillary.lang.sql.distribution import Distribution
from armillary.query.semantics import canonical, order_key
from armillary.values import UNDEFINED

Ask = Callable[[str], list[list[Any]]]  # the rows of every partition, one list for each


def execute(found: Distribution, original: str, ask: Ask) -> list[Any]:
    """The answer of a query, merged from those of its partitions."""
    info = found.to_json()["queryInfo"]
    parts = ask(info["rewrittenQuery"] or original)
    if info["orderBy"]:
        rows = merge_ordered(parts, [way == "Descending" for way in info["orderBy"]])
    elif info["groupByExpressions"] or info["groupByAliases"] or info["aggregates"]:
        rows = merge_groups(parts, info)
    else:
        rows = [row for part in parts for row in part]
    if info["distinctType"] != "None":
        first: dict[Any, Any] = {}
        for row in rows:
            first.setdefault(canonical(row), row)
        rows = list(first.values())
    if info["offset"] is not None:
        rows = rows[info["offset"] : info["offset"] + info["limit"]]
    return rows if info["top"] is None else rows[: info["top"]]


def merge_ordered(parts: Sequence[Sequence[Any]], descending: list[bool]) -> list[Any]:
    def compare(one: Any, other: Any) -> int:
        for left, right, down in zip(one["orderByItems"], other["orderByItems"], descending, strict=True):
            a, b = order_key(left.get("item", UNDEFINED)), order_key(right.get("item", UNDEFINED))
            if a != b:
                return (1 if a > b else -1) * (-1 if down else 1)
        ids = int(one["_rid"] > other["_rid"]) - int(one["_rid"] < other["_rid"])
        return -ids if descending[0] else ids

    for part in parts:
        assert sorted(part, key=cmp_to_key(compare)) == part, "a partition answers in order"
    rows = sorted((row for part in parts for row in part), key=cmp_to_key(compare))
    return [row["payload"] for row in rows if "payload" in row]


def merge_groups(parts: Sequence[Sequence[Any]], info: dict[str, Any]) -> list[Any]:
    groups: dict[Any, list[Any]] = {}
    for part in parts:
        for row in part:
            keys = row["groupByItems"] if info["groupByExpressions"] else None
            payload = row if info["aggregates"] and not info["groupByExpressions"] else row.get("payload", UNDEFINED)
            groups.setdefault(canonical(keys), []).append(payload)
    return [value for rows in groups.values() if (value := merge_group(rows, info)) is not UNDEFINED]


def merge_group(rows: list[Any], info: dict[str, Any]) -> Any:
    if info["aggregates"]:
        return merge_aggregate(info["aggregates"][0], [row[0] for row in rows])
    if info["hasSelectValue"]:
        return rows[0]
    merged = {}
    for alias, kind in info["groupByAliasToAggregateType"].items():
        values = [row.get(alias, UNDEFINED) for row in rows]
        value = values[0] if kind is None else merge_aggregate(kind, values)
        if value is not UNDEFINED:
            merged[alias] = value
    return merged


def merge_aggregate(kind: str, parts: list[Any]) -> Any:
    items = [part.get("item", UNDEFINED) for part in parts]
    if kind in ("Count", "CountIf"):
        return sum(items)
    if kind == "Sum":
        return UNDEFINED if UNDEFINED in items else sum(items)
    if kind == "Average":
        if any("sum" not in item for item in items):
            return UNDEFINED
        count = sum(item["count"] for item in items)
        return sum(item["sum"] for item in items) / count if count else UNDEFINED
    if kind in ("Min", "Max"):
        known = [part["item2"] for part in parts if part["item2"]["count"]]
        if any(kind.lower() not in part for part in known):
            return UNDEFINED
        choose = min if kind == "Min" else max
        return choose((part[kind.lower()] for part in known), key=order_key, default=UNDEFINED)
    lists = [value for item in items for value in item]
    return lists if kind == "MakeList" else list({canonical(value): value for value in lists}.values())
