"""`armillary heatmap`: how hot every partition was, over up to a day: in the terminal, or as one page of HTML."""

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Final

import click

from armillary.cli.account import Target, add_account, read_either
from armillary.cli.client import Account, Client
from armillary.cli.exits import CommandError, Exit
from armillary.cli.heat_grid import Grid, build_grids
from armillary.cli.heat_page import COLUMNS, render_page
from armillary.cli.pages import Heat, ask_heat, choose_rows, read_heat
from armillary.cli.resources import echo_json

__all__ = ["command"]

_MANY_COLOURS: Final = ("256", "truecolor")
_DAY: Final = 24.0


@click.command(name="heatmap")
@click.argument("name", type=read_either, metavar="[DATABASE[/CONTAINER]]", required=False)
@click.option("--hours", type=click.FloatRange(0, _DAY, min_open=True), default=1.0, help="How far back.  [1]")
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write a page instead.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the server's page as JSON.")
@add_account
def command(account: Account, name: Target | None, hours: float, html: Path | None, as_json: bool) -> None:
    """Draw the heat of every partition over time: the busiest second of each block, as a share of the budget.

    In the terminal a row is a partition, and a block is as many minutes as the width asks for. With --html it is one
    file that needs nothing else: every minute or two, the figures of the block that is pointed at, and tables.

    \b
    Examples:
      armillary heatmap
      armillary heatmap shop/orders --hours 6
      armillary heatmap shop --hours 24 --html heat.html

    Exit codes: 0 done, 2 wrong usage or a file that cannot be written, 5 the server cannot be reached or refused.
    """
    minutes = max(round(hours * 60), 1)
    with closing(Client(account)) as client:
        page = ask_heat(client, minutes)
    heat = read_heat(page, name)
    zone = datetime.now(UTC).astimezone().tzinfo or UTC
    if as_json:
        echo_json({**page, "rows": choose_rows(page["rows"], name)})
    elif html is not None:
        title = f"Heat of {name}" if name else "Heat of the partitions"
        _write(html, render_page(_gather(heat, minutes, COLUMNS), heat.scale, zone, title))
    else:
        _draw(heat, minutes, zone)


def _gather(heat: Heat, minutes: int, most: int) -> Sequence[Grid]:
    now = max(time.time(), *(row.minute for row in heat.rows), 0)  # a server may have a clock that is ahead
    return build_grids(heat.rows, now, minutes, most)


def _draw(heat: Heat, minutes: int, zone: tzinfo) -> None:
    # Imported when there is something to draw on a terminal: help, JSON and HTML do without.
    from rich.console import Console

    from armillary.cli.heat_blocks import count_blocks, draw_heat

    console = Console()
    colour = console.color_system in _MANY_COLOURS and not console.no_color
    grids = _gather(heat, minutes, count_blocks(console.width))
    console.print(draw_heat(grids, heat.scale, zone, colour), highlight=False)


def _write(file: Path, text: str) -> None:
    if str(file) == "-":
        sys.stdout.write(text)
        return
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}", Exit.USAGE) from None
    click.echo(f"wrote {file}")
