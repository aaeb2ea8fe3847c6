"""Heat as one page of HTML that needs nothing else: grids in, text out.

The frame with its style and script is the file beside this one; here its blanks are filled in. The picture is drawn
without the script, which only tells about the block that is pointed at. Neighbours of one colour are one rectangle. A
colour has its order in its lightness, refusals are a mark below the block, and the same stands in two tables.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, tzinfo
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Final

from armillary.cli.heat_grid import Cell, Grid, Lane, describe_grid, find_ticks, gather, show_time

__all__ = ["COLUMNS", "render_page"]

COLUMNS: Final = 730  # a day in steps of two minutes
_FRAME: Final = Path(__file__).with_name("heat_page.html")
_LEVELS: Final = 10
_OVER: Final = "over"
_LANES: Final = ((12, 30), (40, 20), (10_000, 12))  # up to so many lanes, the pixels of each
_UNIT: Final = 30  # the height of a lane in the picture's own measure: block, mark, gap
_BLOCK: Final = 22
_MARK: Final = 4
_LEAST: Final = 1.3  # pixels of a column
_TICKS: Final = 12
_LAST_TICK: Final = 0.96  # of the width: a time further on would be cut off
_ROWS: Final = 24  # of the table over time


def render_page(grids: Sequence[Grid], scale: float, zone: tzinfo, title: str) -> str:
    """The page of these grids."""
    step = grids[0].step if grids else 1
    each = "minute" if step == 1 else f"{step} minutes"
    scaled = f'<p class="scaled">All limits of this server are scaled by {scale:g}: the budgets are, too.</p>'
    levels = [f"q{level}" for level in range(_LEVELS)]
    return Template(_FRAME.read_text("utf-8")).substitute(
        title=escape(title),
        span=_describe_span(grids, zone),
        scaled=scaled if scale != 1 else "",
        legend_text=f"From pale to full colour in {_LEVELS} steps: 0 to 100% of the budget; orange: all of it used.",
        ramp="".join(f'<i class="{level}"></i>' for level in levels),
        step=each,
        colours="\n".join(
            f".{name} {{ fill: var(--{name}); background: var(--{name}); }}" for name in (*levels, _OVER)
        ),
        sections="\n".join(_render_section(grid, number, zone) for number, grid in enumerate(grids))
        or "<section><p>Nothing was recorded.</p></section>",
        data=_render_data(grids, zone),
    )


def _describe_span(grids: Sequence[Grid], zone: tzinfo) -> str:
    if not grids:
        return ""
    first, last = (datetime.fromtimestamp(grids[0].moment(column), zone) for column in (0, grids[0].columns))
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}, {escape(first.strftime('%Z'))}"


def _render_section(grid: Grid, number: int, zone: tzinfo) -> str:
    lanes = len(grid.lanes)
    pixels = next(pixels for most, pixels in _LANES if lanes <= most)
    style = f"--lane: {pixels}px; --all: {pixels * lanes}px; --least: {grid.columns * _LEAST:.0f}px"
    name = escape(f"{grid.database}/{grid.container}")
    names = "".join(f"<div>range {escape(lane.range)}</div>" for lane in grid.lanes)
    return f"""<section aria-labelledby="name{number}">
<h2 id="name{number}">{name}</h2>
<p>{escape(" ".join(describe_grid(grid, zone)))}</p>
<div class="map" style="{style}" tabindex="0" role="group" aria-label="Heat of {name}" aria-describedby="table{number}">
<div class="names" aria-hidden="true">{names}</div>
<div class="scroll"><div class="wide">
<div class="plot">{_render_picture(grid)}<div class="cursor" hidden></div></div>
<div class="axis" aria-hidden="true">{_render_axis(grid, zone)}</div>
</div></div>
</div>
<h3>By range</h3>
<div class="rows" id="table{number}" tabindex="0" role="region" aria-label="{name} by range">
{_render_totals(grid)}
</div>
<details><summary>By time</summary>
<div class="rows" tabindex="0" role="region" aria-label="{name} by time">
{_render_times(grid, zone)}
</div>
</details>
</section>"""


# ---- the picture


def _render_picture(grid: Grid) -> str:
    parts = [
        f'<svg viewBox="0 0 {grid.columns} {len(grid.lanes) * _UNIT}" preserveAspectRatio="none" aria-hidden="true">'
    ]
    for number, lane in enumerate(grid.lanes):
        top = number * _UNIT + 1
        for style, first, columns in _find_runs(lane):
            parts.append(f'<rect class="{style}" x="{first}" y="{top}" width="{columns}" height="{_BLOCK}"/>')
        for first, columns in _find_refusals(lane):
            place = f'x="{first}" y="{top + _BLOCK + 1}" width="{columns}" height="{_MARK}"'
            parts.append(f'<rect fill="var(--mark)" {place}/>')
    return "\n".join((*parts, "</svg>"))


def _find_runs(lane: Lane) -> Iterator[tuple[str, int, int]]:
    """Neighbours of one style: the style, the first column, how many."""
    for style, run in groupby(enumerate(lane.cells), lambda place: _pick_style(place[1])):
        columns = [column for column, _ in run]
        if style:
            yield style, columns[0], len(columns)


def _find_refusals(lane: Lane) -> Iterator[tuple[int, int]]:
    for refused, run in groupby(enumerate(lane.cells), lambda place: place[1] is not None and place[1].throttled > 0):
        columns = [column for column, _ in run]
        if refused:
            yield columns[0], len(columns)


def _pick_style(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return _OVER if cell.share >= 1 else f"q{int(cell.share * _LEVELS)}"


def _render_axis(grid: Grid, zone: tzinfo) -> str:
    ticks = find_ticks(grid, zone, -(-grid.columns // _TICKS))
    return "".join(
        f'<span style="left: {100 * column / grid.columns:.3f}%">{show_time(grid.moment(column), zone)}</span>'
        for column in ticks
        if column < grid.columns * _LAST_TICK
    )


# ---- the tables


def _render_totals(grid: Grid) -> str:
    """One row for each range: all of its time as one."""
    titles = ("Range", "Busiest second, RU/s", "Budget", "Of budget", "Mean RU/s", "RU", "Requests", "Throttled (429)")
    rows = []
    for lane in grid.lanes:
        total = lane.total
        budget = (f"{total.budget:,.0f}", f"{total.share:.0%}") if total.budget else ("none", "-")
        work = (f"{total.mean:,.1f}", f"{total.ru:,.0f}", f"{total.requests:,}", f"{total.throttled:,}")
        rows.append((lane.range, f"{total.peak:,.0f}", *budget, *work))
    return _render_table("All of the time shown, as one", titles, rows)


def _render_times(grid: Grid, zone: tzinfo) -> str:
    """One row for some time, one column for each range."""
    each = -(-grid.columns // _ROWS)
    rows = []
    for first in range(0, grid.columns, each):
        parts = [[cell for cell in lane.cells[first : first + each] if cell is not None] for lane in grid.lanes]
        rows.append((show_time(grid.moment(first), zone), *(_describe_cells(cells) for cells in parts)))
    caption = f"Busiest second in {each * grid.step} minutes, as a share of the budget; in brackets throttled requests"
    return _render_table(caption, ("From", *(f"Range {lane.range}" for lane in grid.lanes)), rows)


def _describe_cells(cells: Sequence[Cell]) -> str:
    if not cells:
        return "-"
    whole = gather(cells)
    share = f"{whole.share:.0%}" if whole.budget else f"{whole.peak:,.0f} RU/s"
    return f"{share} ({whole.throttled:,})" if whole.throttled else share


def _render_table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


# ---- the figures, for the script


def _render_data(grids: Sequence[Grid], zone: tzinfo) -> str:
    """The cells as [mean RU/s, busiest second, budget, requests, throttled], or 0."""
    offset = 0
    if grids:
        offset = int((datetime.fromtimestamp(grids[0].start, zone).utcoffset() or timedelta()).total_seconds())
    found = [
        {
            "start": grid.start,
            "step": grid.step,
            "lanes": [{"range": lane.range, "cells": [_show_cell(cell) for cell in lane.cells]} for lane in grid.lanes],
        }
        for grid in grids
    ]
    # A name may hold anything, and must not end the element that the figures stand in.
    return json.dumps({"offset": offset, "grids": found}, separators=(",", ":")).replace("<", "\\u003c")


def _show_cell(cell: Cell | None) -> list[float] | int:
    if cell is None:
        return 0
    return [round(cell.mean, 1), round(cell.peak, 1), round(cell.budget, 1), cell.requests, cell.throttled]
