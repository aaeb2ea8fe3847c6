"""`armillary partitions`: what every partition of a running server holds and serves, once or live."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import click

from armillary.cli.account import Target, add_account, read_either
from armillary.cli.client import Account, Client
from armillary.cli.exits import CommandError, Exit
from armillary.cli.pages import ask_partitions, choose_rows, read_partitions

__all__ = ["command"]

_EVERY: Final = 1.0
_WIDE: Final = 160  # of a pipe or file, where nobody says


@click.command(name="partitions")
@click.argument("name", type=read_either, metavar="[DATABASE[/CONTAINER]]", required=False)
@click.option("--watch", is_flag=True, help="Draw it anew every second, until Ctrl-C.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the server's page as JSON; with --watch one line a second."
)
@add_account
def command(account: Account, name: Target | None, watch: bool, as_json: bool) -> None:
    """Show the partitions of a running server, or those of one database or container.

    For each: items, bytes, the RU of this second against its budget, refusals (429), the hottest keys, and the split
    under way, if there is one.

    \b
    Examples:
      armillary partitions
      armillary partitions shop/orders --watch
      armillary partitions shop --json

    Exit codes: 0 done, 2 wrong usage, 5 the server cannot be reached or refused.
    """
    with closing(Client(account)) as client:
        draw = _print_pages if as_json else _draw_pages
        try:
            draw(client, name, watch)
        except KeyboardInterrupt:
            if not watch:  # else this is how it ends
                raise


def _print_pages(client: Client, name: Target | None, watch: bool) -> None:
    for page in _take_pages(client, watch):
        page["containers"] = choose_rows(page["containers"], name)
        click.echo(json.dumps(page, ensure_ascii=False, indent=None if watch else 2))


def _draw_pages(client: Client, name: Target | None, watch: bool) -> None:
    # Imported when there is something to draw: help and JSON do without.
    from rich.console import Console
    from rich.live import Live

    from armillary.cli.partition_table import draw_partitions

    console = Console() if sys.stdout.isatty() else Console(width=_WIDE)
    if watch and not console.is_terminal:
        raise CommandError("--watch draws on a terminal; with --json it prints a line a second anywhere", Exit.USAGE)
    if not watch:
        console.print(draw_partitions(read_partitions(ask_partitions(client), name), console.width))
        return
    with Live(console=console, auto_refresh=False) as live:
        for page in _take_pages(client, watch):
            live.update(draw_partitions(read_partitions(page, name), console.width), refresh=True)


def _take_pages(client: Client, watch: bool) -> Iterator[dict[str, Any]]:
    """One page; or one a second, without end."""
    yield ask_partitions(client)
    while watch:
        time.sleep(_EVERY)
        yield ask_partitions(client)
