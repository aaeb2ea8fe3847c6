"""Heat in the terminal: grids in, lines out. One row for each partition, one block for each step of time.

The colours are steps of viridis: in order for every eye, and legible on black and on white. Without colour the height
of a block says the same. A block with a bang was throttled.
"""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Final

from rich.text import Text

from armillary.cli.heat_grid import Cell, Grid, Lane, describe_grid, find_ticks, show_time

__all__ = ["count_blocks", "draw_heat"]

_COLOURS: Final = ("#440154", "#472f7d", "#39568c", "#2a768e", "#1f968b", "#35b779", "#90d743", "#fde725")
_HEIGHTS: Final = "▁▂▃▄▅▆▇█"
_NOTHING: Final = "·"
_THROTTLED: Final = "!"
_LABEL: Final = 10
_TOTALS: Final = 16
_TICK: Final = 10
_TIME: Final = 5


def count_blocks(width: int) -> int:
    """How many blocks fit beside the label and the totals."""
    return max(width - _LABEL - _TOTALS, _TICK)


def draw_heat(grids: Sequence[Grid], scale: float, zone: tzinfo, colour: bool) -> Text:
    """All grids, one below the other, with a legend."""
    text = Text()
    if scale != 1:
        text.append(f"All limits of this server are scaled by {scale:g}: the budgets are, too.\n\n")
    for grid in grids:
        text.append(f"{grid.database}/{grid.container}\n", "bold")
        text.append("".join(f"{line}\n" for line in describe_grid(grid, zone)))
        text.append_text(_draw_axis(grid, zone))
        for lane in grid.lanes:
            text.append_text(_draw_lane(lane, colour))
        text.append("\n")
    return text.append_text(_draw_legend(grids[0].step, colour)) if grids else Text("Nothing was recorded.")


def _draw_axis(grid: Grid, zone: tzinfo) -> Text:
    labels = ""
    for column in find_ticks(grid, zone, _TICK):
        if column <= grid.columns - _TIME:
            labels = f"{labels:<{column}}{show_time(grid.moment(column), zone)}"
    return Text(f"{'':{_LABEL}}{labels:<{grid.columns}}{'PEAK':>6}{'429S':>10}\n", "dim")


def _draw_lane(lane: Lane, colour: bool) -> Text:
    name = f"range {lane.range}"
    text = Text(f"{name[: _LABEL - 1]:<{_LABEL}}")
    for cell in lane.cells:
        text.append(*_draw_cell(cell, colour))
    total = lane.total
    text.append(f"{total.share:>6.0%}" if total.budget else f"{'-':>6}")
    return text.append(f"{total.throttled:>10,}\n", "bold" if total.throttled else "")


def _draw_cell(cell: Cell | None, colour: bool) -> tuple[str, str]:
    """One character and its style."""
    if cell is None:
        return _NOTHING, "dim"
    level = _level(cell.share)
    if not colour:
        return _THROTTLED if cell.throttled else _HEIGHTS[level], ""
    ink = "black" if level > len(_COLOURS) // 2 else "white"
    return _THROTTLED if cell.throttled else " ", f"bold {ink} on {_COLOURS[level]}"


def _level(share: float) -> int:
    return min(int(share * len(_COLOURS)), len(_COLOURS) - 1)


def _draw_legend(step: int, colour: bool) -> Text:
    text = Text("0% ")
    for level in range(len(_COLOURS)):
        text.append("  " if colour else _HEIGHTS[level], f"on {_COLOURS[level]}" if colour else "")
    each = "minute" if step == 1 else f"{step} minutes"
    text.append(f" 100% of the budget, in the busiest second of each {each}\n")
    return text.append(f"{_THROTTLED} throttled (429)   {_NOTHING} nothing recorded")
