"""Heat as a grid: one lane for each partition, one cell for each step of time; and what is worth saying of it.

A cell may gather several minutes: RU, requests and refusals are summed, and of the busiest seconds the one nearest to
its budget is kept, since that is what throttles. A lane begins and ends with its partition, so splits show as lanes
that take over from another. No cell means that nothing was recorded.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from itertools import groupby
from typing import Final, NamedTuple

from armillary.cli.pages import Minute

__all__ = ["Cell", "Grid", "Lane", "build_grids", "describe_grid", "find_ticks", "gather", "show_time"]

_MINUTE: Final = 60
_STEPS: Final = (1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720, 1440)


class Cell(NamedTuple):
    """What a partition did in one step; `peak` and `budget` are RU of one second, `minutes` were recorded."""

    minutes: int
    ru: float
    peak: float
    budget: float
    requests: int
    throttled: int

    @property
    def share(self) -> float:
        """How much of its budget the busiest second used."""
        return self.peak / self.budget if self.budget else 0.0

    @property
    def mean(self) -> float:
        """RU per second over the minutes that were recorded."""
        return self.ru / (self.minutes * _MINUTE)


class Lane(NamedTuple):
    """One partition over time: the range that clients see, and its cells, None where nothing was recorded."""

    range: str
    cells: tuple[Cell | None, ...]

    @property
    def known(self) -> list[Cell]:
        return [cell for cell in self.cells if cell is not None]

    @property
    def total(self) -> Cell:
        """All cells as one."""
        return gather(self.known)


class Grid(NamedTuple):
    """One container: `start` is the first second of the first cell, `step` the minutes of a cell."""

    database: str
    container: str
    start: int
    step: int
    lanes: tuple[Lane, ...]

    @property
    def columns(self) -> int:
        return len(self.lanes[0].cells)

    def moment(self, column: int) -> int:
        """The second at which a column begins."""
        return self.start + column * self.step * _MINUTE


def _pick_step(minutes: int, most: int) -> int:
    """The minutes of a cell, so that there are not more cells than this."""
    return next((step for step in _STEPS if -(-minutes // step) + 1 <= most), _STEPS[-1])


def build_grids(rows: Iterable[Minute], now: float, minutes: int, most: int) -> list[Grid]:
    """The grids of the containers that were used in so many minutes before a moment, at most `most` columns wide."""
    step = _pick_step(minutes, most)
    width = step * _MINUTE
    first = (int(now) - (minutes - 1) * _MINUTE) // width
    columns = int(now) // width - first + 1
    inside = [row for row in rows if first <= row.minute // width < first + columns]
    inside.sort(key=lambda row: (row.database, row.container, _rank(row.range), row.range, row.partition, row.minute))
    grids = []
    for (database, container), group in groupby(inside, lambda row: (row.database, row.container)):
        lanes = [
            _build_lane(range_id, list(part), first, columns, width)
            for (range_id, _), part in groupby(group, lambda row: (row.range, row.partition))
        ]
        grids.append(Grid(database, container, first * width, step, tuple(lanes)))
    return grids


def gather(cells: Sequence[Cell]) -> Cell:
    """Several cells as one."""
    hottest = max(cells, key=lambda cell: (cell.share, cell.peak))
    minutes, requests = sum(cell.minutes for cell in cells), sum(cell.requests for cell in cells)
    ru, throttled = sum(cell.ru for cell in cells), sum(cell.throttled for cell in cells)
    return Cell(minutes, ru, hottest.peak, hottest.budget, requests, throttled)


def find_ticks(grid: Grid, zone: tzinfo, apart: int) -> list[int]:
    """The columns that begin at a round time of the day, at least so many columns apart."""
    minutes = next((step for step in _STEPS if step >= apart * grid.step), _STEPS[-1])
    ticks = []
    for column in range(grid.columns):
        local = datetime.fromtimestamp(grid.moment(column), zone)
        if (local.hour * 60 + local.minute) % minutes < grid.step:
            ticks.append(column)
    return ticks


def show_time(moment: float, zone: tzinfo) -> str:
    """A moment of the day."""
    return datetime.fromtimestamp(moment, zone).strftime("%H:%M")


def describe_grid(grid: Grid, zone: tzinfo) -> list[str]:
    """What is worth saying: the hottest second, and who was throttled."""
    places = [(lane, column, cell) for lane in grid.lanes for column, cell in enumerate(lane.cells) if cell is not None]
    lane, column, cell = max(places, key=lambda place: (place[2].share, place[2].peak))
    of = f" of {cell.budget:,.0f} ({cell.share:.0%})" if cell.budget else ""
    hottest = f"Hottest: range {lane.range} at {show_time(grid.moment(column), zone)}, {cell.peak:,.0f} RU/s{of}."
    throttled = sum(one.total.throttled for one in grid.lanes)
    if not throttled:
        return [hottest, "Nothing was throttled."]
    worst = max(grid.lanes, key=lambda one: one.total.throttled)
    share = f", {worst.total.throttled / throttled:.0%} of them on range {worst.range}" if len(grid.lanes) > 1 else ""
    return [hottest, f"Throttled (429): {throttled:,} requests{share}."]


def _build_lane(range_id: str, rows: Sequence[Minute], first: int, columns: int, width: int) -> Lane:
    cells: list[Cell | None] = [None] * columns
    for place, group in groupby(rows, lambda row: row.minute // width):
        parts = [Cell(1, row.ru, row.peak, row.budget, row.requests, row.throttled) for row in group]
        cells[place - first] = gather(parts)
    return Lane(range_id, tuple(cells))


def _rank(range_id: str) -> int:
    """Ranges are numbered as they are made: children come after their parents."""
    return int(range_id) if range_id.isdecimal() else 0
