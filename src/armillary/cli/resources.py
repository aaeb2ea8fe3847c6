"""What `armillary database` and `armillary container` share: their tables, and the ways to scale and to delete."""

import json
import sys
from collections.abc import Sequence
from contextlib import closing

import click

from armillary.cli.account import Target
from armillary.cli.client import Account, Client
from armillary.cli.exits import CommandError, Exit
from armillary.cli.meter import open_bar
from armillary.cli.offers import Offer, Wanted, await_offer, describe_offer, find_offer, replace_offer, show_offer

__all__ = ["delete_resource", "echo_fields", "echo_json", "echo_table", "find_shared", "scale_resource"]


def echo_json(value: object) -> None:
    """Print a value for programs."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def echo_fields(fields: Sequence[tuple[str, str]]) -> None:
    """Print names and values, one pair a line."""
    wide = max(len(name) for name, _ in fields)
    for name, value in fields:
        click.echo(f"{name:<{wide}}  {value}")


def echo_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns, with their titles above."""
    wide = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    for row in (titles, *rows):
        click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)).rstrip())


def find_shared(client: Client, database: str) -> Offer | None:
    """The throughput that the containers of a database share, if it has any."""
    return find_offer(client, client.must_send("GET", Target(database).path).json()["_self"])


def scale_resource(account: Account, name: Target, wanted: Wanted, wait: bool, as_json: bool) -> None:
    """Replace the throughput of a database or container, and say what it was and is."""
    with closing(Client(account)) as client, open_bar("scaling") as draw:
        before = find_offer(client, client.must_send("GET", name.path).json()["_self"])
        if before is None:
            raise CommandError(f"{name} has no throughput of its own{_say_where(client, name)}", Exit.USAGE)
        after = replace_offer(client, before, wanted, draw)
        if wait:
            after = await_offer(client, after, draw)
    if as_json:
        echo_json({"before": show_offer(before), "after": show_offer(after)})
        return
    echo_fields([("before", describe_offer(before)), ("after", describe_offer(after))])


def delete_resource(account: Account, name: Target, contents: str, yes: bool) -> None:
    """Delete a database or container, when somebody has said that this is meant."""
    with closing(Client(account)) as client:
        if not yes:
            if not sys.stdin.isatty():
                raise CommandError(f"deleting {name} needs --yes where nobody can be asked", Exit.USAGE)
            client.must_send("GET", name.path)
            if not click.confirm(f"Delete {name} with {contents}?", err=True):
                raise CommandError(f"{name} was not deleted", Exit.WRONG)
        client.must_send("DELETE", name.path)
    click.echo(f"deleted {name}")


def _say_where(client: Client, name: Target) -> str:
    if name.container and find_shared(client, name.database) is not None:
        return f": it shares that of its database; scale {name.database} with `armillary database scale`"
    return "" if name.container else ": every container of it has its own"
