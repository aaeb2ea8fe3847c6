"""`armillary database`: databases of any endpoint that speaks the protocol, and the throughput they share out."""

import json
from contextlib import closing
from typing import Any

import click

from armillary.cli.account import Target, add_account, read_database
from armillary.cli.client import Account, Client
from armillary.cli.offers import Offer, Wanted, add_throughput, describe_offer, find_offer, list_offers, show_offer
from armillary.cli.resources import delete_resource, echo_fields, echo_json, echo_table, scale_resource

__all__ = ["command"]

_NAME = click.argument("name", type=read_database, metavar="DATABASE")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(name="database")
def command() -> None:
    """Create, list, show, scale and delete databases.

    A database may have throughput that its containers share; else each container has its own.

    \b
    Examples:
      armillary database create shop
      armillary database create shop --autoscale 4000
      armillary database list
      armillary database scale shop --throughput 12000
      armillary database delete shop --yes

    Exit codes: 0 done, 1 not deleted as somebody said no, 2 wrong usage, 5 the server cannot be reached or refused.
    """


@command.command(name="create")
@_NAME
@add_throughput(required=False)
@add_account
@_JSON
def create(account: Account, name: Target, wanted: Wanted | None, as_json: bool) -> None:
    """Create DATABASE; with throughput, its containers share it.

    \b
    Examples:
      armillary database create shop
      armillary database create shop --throughput 1000
    """
    with closing(Client(account)) as client:
        body = json.dumps({"id": name.database}).encode()
        made = client.must_send("POST", "/dbs", wanted.headers if wanted else {}, body).json()
        offer = find_offer(client, made["_self"])
    _echo(made, offer, as_json)


@command.command(name="list")
@add_account
@_JSON
def list_databases(account: Account, as_json: bool) -> None:
    """List the databases of the account.

    \b
    Examples:
      armillary database list
      armillary database list --json --endpoint https://account.documents.azure.com/ --key KEY
    """
    with closing(Client(account)) as client:
        rows = client.list_all("/dbs", "Databases")
        offers = list_offers(client)
    found = [(row, offers.get(row["_self"].strip("/"))) for row in rows]
    if as_json:
        echo_json([_show(row, offer) for row, offer in found])
    else:
        echo_table(("DATABASE", "THROUGHPUT"), [(row["id"], describe_offer(offer)) for row, offer in found])


@command.command(name="show")
@_NAME
@add_account
@_JSON
def show(account: Account, name: Target, as_json: bool) -> None:
    """Show DATABASE: its throughput and its containers.

    \b
    Examples:
      armillary database show shop
    """
    with closing(Client(account)) as client:
        row = client.must_send("GET", name.path).json()
        offer = find_offer(client, row["_self"])
        containers = [str(found["id"]) for found in client.list_all(name.path + "/colls", "DocumentCollections")]
    _echo(row, offer, as_json, containers)


@command.command(name="scale")
@_NAME
@add_throughput(required=True)
@click.option("--no-wait", is_flag=True, help="Do not wait until the server has made the change.")
@add_account
@_JSON
def scale(account: Account, name: Target, wanted: Wanted, no_wait: bool, as_json: bool) -> None:
    """Replace the throughput that the containers of DATABASE share.

    Manual becomes autoscale, and the other way.

    \b
    Examples:
      armillary database scale shop --throughput 12000
      armillary database scale shop --autoscale 20000 --no-wait
    """
    scale_resource(account, name, wanted, not no_wait, as_json)


@command.command(name="delete")
@_NAME
@click.option("--yes", is_flag=True, help="Do not ask.")
@add_account
def delete(account: Account, name: Target, yes: bool) -> None:
    """Delete DATABASE with everything in it; asks first, on a terminal.

    \b
    Examples:
      armillary database delete shop
      armillary database delete shop --yes
    """
    delete_resource(account, name, "all its containers", yes)


def _echo(row: dict[str, Any], offer: Offer | None, as_json: bool, containers: list[str] | None = None) -> None:
    if as_json:
        echo_json(_show(row, offer) | ({} if containers is None else {"containers": containers}))
        return
    fields = [("database", str(row["id"])), ("throughput", describe_offer(offer))]
    if containers is not None:
        fields.append(("containers", ", ".join(containers) or "none"))
    echo_fields(fields)


def _show(row: dict[str, Any], offer: Offer | None) -> dict[str, object]:
    return {"id": row["id"], "throughput": show_offer(offer)}
