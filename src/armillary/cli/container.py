"""`armillary container`: containers of any endpoint that speaks the protocol: their key, their throughput, their size.

On the wire a fixed container (one partition, at most 10 GB and 10,000 RU/s) is one without a partition key, which only
the versions of the protocol up to 2018-06-18 can make; every container with a key is unlimited.
"""

import json
import re
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final, NamedTuple

import click

from armillary.cli.account import Target, add_account, read_container, read_database
from armillary.cli.client import Account, Client
from armillary.cli.offers import Offer, Wanted, add_throughput, describe_offer, find_offer, list_offers, show_offer
from armillary.cli.resources import delete_resource, echo_fields, echo_json, echo_table, find_shared, scale_resource

__all__ = ["command"]

_KEYLESS: Final = {"x-ms-version": "2018-06-18"}
_QUOTA: Final = {"x-ms-documentdb-populatequotainfo": "True"}
_USAGE: Final = re.compile(r"(\w+)=(-?\d+)")
_NAME = click.argument("name", type=read_container, metavar="DATABASE/CONTAINER")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(name="container")
def command() -> None:
    """Create, list, show, scale and delete containers.

    \b
    Examples:
      armillary container create shop/orders --key-path /customer
      armillary container create shop/events --key-path /tenant --key-path /day --autoscale 10000
      armillary container list shop
      armillary container scale shop/orders --throughput 12000
      armillary container delete shop/orders --yes

    Exit codes: 0 done, 1 not deleted as somebody said no, 2 wrong usage, 5 the server cannot be reached or refused.
    """


@command.command(name="create")
@_NAME
@click.option("--key-path", multiple=True, metavar="PATH", help="Partition key; repeat it for a hierarchical one.")
@click.option("--fixed/--unlimited", default=None, help="Without a key, in one partition; or with one, in any number.")
@add_throughput(required=False)
@click.option("--default-ttl", type=int, metavar="SECONDS", help="Life of items; -1: only by a ttl of their own.")
@click.option("--unique", multiple=True, metavar="PATHS", help="Unique key, as in /a,/b; repeat it for more.")
@add_account
@_JSON
def create(account: Account, name: Target, wanted: Wanted | None, as_json: bool, **shape: Any) -> None:
    """Create a container in a database that is there.

    \b
    Examples:
      armillary container create shop/orders --key-path /customer
      armillary container create shop/events --key-path /tenant --key-path /day --autoscale 10000
      armillary container create shop/users --key-path /country --unique /email --default-ttl 86400
      armillary container create shop/old --fixed --throughput 400
    """
    definition = _define(name.container, **shape)
    headers = (wanted.headers if wanted else {}) | ({} if "partitionKey" in definition else _KEYLESS)
    with closing(Client(account)) as client:
        client.must_send("POST", Target(name.database).path + "/colls", headers, json.dumps(definition).encode())
        found = _read(client, name)
    _echo(found, as_json)


@command.command(name="list")
@click.argument("name", type=read_database, metavar="DATABASE")
@add_account
@_JSON
def list_containers(account: Account, name: Target, as_json: bool) -> None:
    """List the containers of DATABASE.

    \b
    Examples:
      armillary container list shop
      armillary container list shop --json
    """
    with closing(Client(account)) as client:
        rows = client.list_all(name.path + "/colls", "DocumentCollections")
        offers = list_offers(client)
    found = [Found(name.database, row, offers.get(row["_self"].strip("/"))) for row in rows]
    if as_json:
        echo_json([_show(one) for one in found])
    else:
        cells = [(str(one.row["id"]), _describe_key(one.row), describe_offer(one.offer)) for one in found]
        echo_table(("CONTAINER", "KEY", "THROUGHPUT"), cells)


@command.command(name="show")
@_NAME
@add_account
@_JSON
def show(account: Account, name: Target, as_json: bool) -> None:
    """Show a container: key, throughput, partitions, items, rules.

    \b
    Examples:
      armillary container show shop/orders
      armillary container show shop/orders --json
    """
    with closing(Client(account)) as client:
        found = _read(client, name)
    _echo(found, as_json)


@command.command(name="scale")
@_NAME
@add_throughput(required=True)
@click.option("--no-wait", is_flag=True, help="Do not wait until the server has made the change.")
@add_account
@_JSON
def scale(account: Account, name: Target, wanted: Wanted, no_wait: bool, as_json: bool) -> None:
    """Replace the throughput of a container.

    Manual becomes autoscale, and the other way. More than its partitions serve lets the server split them: the command
    waits until that is done.

    \b
    Examples:
      armillary container scale shop/orders --throughput 12000
      armillary container scale shop/orders --autoscale 20000 --no-wait
    """
    scale_resource(account, name, wanted, not no_wait, as_json)


@command.command(name="delete")
@_NAME
@click.option("--yes", is_flag=True, help="Do not ask.")
@add_account
def delete(account: Account, name: Target, yes: bool) -> None:
    """Delete a container with all its items; asks first, on a terminal.

    \b
    Examples:
      armillary container delete shop/orders
      armillary container delete shop/orders --yes
    """
    delete_resource(account, name, "all its items", yes)


def _define(
    name: str, key_path: tuple[str, ...], fixed: bool | None, default_ttl: int | None, unique: tuple[str, ...]
) -> dict[str, object]:
    """The definition to send; what is wrong with a path, the server says."""
    if fixed and key_path:
        raise click.UsageError("--fixed is a container without a partition key: give it or --key-path")
    if not fixed and not key_path:
        raise click.UsageError("a partition key is needed: --key-path PATH, or --fixed for a container without one")
    definition: dict[str, object] = {"id": name}
    if key_path:
        kind = "MultiHash" if len(key_path) > 1 else "Hash"
        definition["partitionKey"] = {"paths": list(key_path), "kind": kind, "version": 2}
    if default_ttl is not None:
        definition["defaultTtl"] = default_ttl
    if unique:
        definition["uniqueKeyPolicy"] = {"uniqueKeys": [{"paths": re.split(",(?=/)", paths)} for paths in unique]}
    return definition


class Found(NamedTuple):
    """A container as it was read; `used` is what the server says about its size."""

    database: str
    row: Mapping[str, Any]
    offer: Offer | None
    shared: Offer | None = None
    ranges: tuple[str, ...] = ()
    used: Mapping[str, str] = {}


def _read(client: Client, name: Target) -> Found:
    answer = client.must_send("GET", name.path, _QUOTA)
    row = answer.json()
    offer = find_offer(client, row["_self"])
    shared = find_shared(client, name.database) if offer is None else None
    ranges = tuple(str(found["id"]) for found in client.list_all(name.path + "/pkranges", "PartitionKeyRanges"))
    used = dict(_USAGE.findall(answer.headers.get("x-ms-resource-usage", "")))
    return Found(name.database, row, offer, shared, ranges, used)


def _echo(found: Found, as_json: bool) -> None:
    if as_json:
        used = {"items": _number(found, "documentsCount"), "kilobytes": _number(found, "documentsSize")}
        shared = {"sharedThroughput": show_offer(found.shared), "partitions": list(found.ranges)}
        echo_json(_show(found) | shared | used)
        return
    items, kilobytes = _number(found, "documentsCount"), _number(found, "documentsSize")
    echo_fields([
        ("container", f"{found.database}/{found.row['id']}"),
        ("key", _describe_key(found.row)),
        ("throughput", _describe_throughput(found)),
        ("partitions", f"{len(found.ranges)}: {', '.join(found.ranges)}"),
        ("items", "not told" if items is None else f"{items:,} in {kilobytes or 0:,} KB"),
        ("default ttl", _describe_ttl(found.row.get("defaultTtl"))),
        ("unique keys", "; ".join(", ".join(paths) for paths in _unique_keys(found.row)) or "none"),
    ])  # fmt: skip


def _show(found: Found) -> dict[str, object]:
    """What every container has, for programs."""
    return {
        "database": found.database,
        "id": found.row["id"],
        "partitionKey": found.row.get("partitionKey"),
        "throughput": show_offer(found.offer),
        "defaultTtl": found.row.get("defaultTtl"),
        "uniqueKeys": _unique_keys(found.row),
    }


def _number(found: Found, name: str) -> int | None:
    return int(found.used[name]) if name in found.used else None


def _unique_keys(row: Mapping[str, Any]) -> list[list[str]]:
    return [key["paths"] for key in (row.get("uniqueKeyPolicy") or {}).get("uniqueKeys", [])]


def _describe_key(row: Mapping[str, Any]) -> str:
    key = row.get("partitionKey") or {}
    if key.get("systemKey") or not key:
        return "none (fixed)"
    return ", ".join(key["paths"]) + (" (hierarchical)" if key.get("kind") == "MultiHash" else "")


def _describe_throughput(found: Found) -> str:
    if found.offer is None and found.shared is not None:
        return f"shared with the database: {describe_offer(found.shared)}"
    return describe_offer(found.offer)


def _describe_ttl(ttl: int | None) -> str:
    if ttl is None:
        return "off"
    return "on, for items with a ttl of their own" if ttl == -1 else f"{ttl:,} s"
