"""`armillary split`: split a partition of a running server now, see what that would do, follow it, or cancel it."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

import click

from armillary.cli.account import Target, add_account, read_container
from armillary.cli.client import Account, Client, ServerError
from armillary.cli.exits import CommandError, Exit
from armillary.cli.meter import open_bar, take_pauses
from armillary.cli.pages import Split, ask_splits, read_page, tell_page
from armillary.cli.resources import echo_json

__all__ = ["command"]

_SPLIT: Final = "/_armillary/split"
_CANCEL: Final = "/_armillary/split/cancel"
_DONE: Final = "done"
_CANCELLED: Final = "cancelled"


@click.command(name="split")
@click.argument("name", type=read_container, metavar="DATABASE/CONTAINER")
@click.option("--range", "range_id", metavar="ID", help="The range to split; needed when there are several.")
@click.option("--at", metavar="EPK", help="The effective key that the second half begins with.  [halves the data]")
@click.option("--dry-run", is_flag=True, help="Only tell what would move.")
@click.option("--wait", is_flag=True, help="Wait for the end of it, with a bar.")
@click.option("--cancel", metavar="SPLIT", help="Cancel this split, by its id, and begin none.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@add_account
def command(account: Account, name: Target, **order: Any) -> None:
    """Split a partition of a container in two, while it is read and written.

    `armillary partitions` shows the ranges; `armillary key` computes effective keys. A partition that holds one key
    value cannot be split, and the server says which.

    \b
    Examples:
      armillary split shop/orders --dry-run
      armillary split shop/orders --wait
      armillary split shop/orders --range 2 --at 2FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF
      armillary split shop/orders --cancel 7

    Exit codes: 0 done or under way, 1 the split was cancelled, 2 wrong usage, 5 the server cannot be reached or
    refused.
    """
    with closing(Client(account)) as client:
        if order["cancel"]:
            _cancel(client, name, order)
        elif order["dry_run"]:
            _plan(client, name, order)
        else:
            _split(client, name, order)


def _cancel(client: Client, name: Target, order: Mapping[str, Any]) -> None:
    if order["range_id"] or order["at"] or order["dry_run"] or order["wait"]:
        raise click.UsageError("--cancel begins no split: it goes with nothing that says which")
    answer = tell_page(client, _CANCEL, {"split": order["cancel"]})
    if order["as_json"]:
        echo_json(answer)
        return
    if answer.get("state") == _DONE:
        raise CommandError(f"split {order['cancel']} of {name} was done before it could be cancelled", Exit.WRONG)
    click.echo(f"split {order['cancel']} of {name} is cancelled")


def _plan(client: Client, name: Target, order: Mapping[str, Any]) -> None:
    if order["wait"]:
        raise click.UsageError("--dry-run begins nothing that --wait could wait for")
    answer = _order(client, name, order)
    if order["as_json"]:
        echo_json(answer)
        return
    for line in read_page(lambda page: _describe_plan(name, page), answer):
        click.echo(line)


def _describe_plan(name: Target, plan: Mapping[str, Any]) -> list[str]:
    return [
        f"range {plan['range']} of {name} would be split at {plan['at']}",
        f"{plan['items']:,} items, {plan['bytes']:,} bytes would be copied, into",
        *(f'  ["{child["min"]}", "{child["max"]}")' for child in plan["children"]),
    ]


def _split(client: Client, name: Target, order: Mapping[str, Any]) -> None:
    answer = _order(client, name, order)
    split, begun = read_page(lambda page: _describe_begun(name, page), answer)
    if not order["wait"]:
        echo_json(answer) if order["as_json"] else click.echo(f"{begun}, is under way")
        return
    ended = _follow(client, split)
    if order["as_json"]:
        echo_json({"split": split, "state": ended.state, "items": ended.items, "seconds": round(ended.seconds, 3)})
    if ended.state != _DONE:
        raise CommandError(f"{begun}, was cancelled{f': {ended.error}' if ended.error else ''}", Exit.WRONG)
    if not order["as_json"]:
        items = f", {ended.items:,} items," if ended.items else ""
        click.echo(f"{begun}, is done{items} after {ended.seconds:,.1f} s")


def _describe_begun(name: Target, answer: Mapping[str, Any]) -> tuple[str, str]:
    split = str(answer["split"])
    return split, f"split {split} of {name}, range {answer['range']} at {answer['at']}"


def _order(client: Client, name: Target, order: Mapping[str, Any]) -> dict[str, Any]:
    where = {"database": name.database, "container": name.container, "range": order["range_id"], "at": order["at"]}
    return tell_page(client, _SPLIT, where | {"dry_run": order["dry_run"]})


def _follow(client: Client, split: str) -> Split:
    """The split when it is over; what the server no longer tells of it is what was seen last, and the time waited."""
    items = 0
    pauses = take_pauses()
    with open_bar("splitting") as draw:
        while True:
            waited = next(pauses)
            found = next((row for row in ask_splits(client) if row.id == split), None)
            if found is None:
                raise ServerError(f"the server no longer tells of split {split}")
            items = found.items or items
            if found.state in (_DONE, _CANCELLED):
                return replace(found, items=items, seconds=found.seconds or waited)
            words = " ".join(filter(None, (found.state, found.phase, f"{found.copied:,} of {items:,} items")))
            draw(found.copied, words, items or None)
