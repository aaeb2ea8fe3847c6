"""Heat: gathered into grids, drawn in the terminal, written as a page, asked for from a server."""

import io
import json
import re
import time
from collections.abc import Callable
from datetime import UTC, timedelta, timezone
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.unit.cli.scripted import CASES, Scripted, say, scripted

from armillary.cli.account import Target
from armillary.cli.client import ServerError
from armillary.cli.heat_blocks import count_blocks, draw_heat
from armillary.cli.heat_grid import Cell, Grid, build_grids, describe_grid, find_ticks
from armillary.cli.heat_page import render_page
from armillary.cli.main import command
from armillary.cli.pages import Minute, read_heat

PAGE: dict[str, Any] = json.loads((CASES / "heat.json").read_text("utf-8"))
HEAT = read_heat(PAGE)
NOW = max(row.minute for row in HEAT.rows)
ZONE = timezone(timedelta(hours=5, minutes=30), "IST")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


def minute(at: int, range_id: str = "0", **fields: Any) -> Minute:
    usual = {"partition": f"p{range_id}", "ru": 60.0, "peak": 2.0, "budget": 10.0, "requests": 6, "throttled": 0}
    return Minute(minute=at * 60, database="d", container="c", range=range_id, **{**usual, **fields})


def draw(grids: list[Grid], width: int, scale: float = 1.0, colours: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colours, color_system="256" if colours else None, no_color=False
    )
    console.print(draw_heat(grids, scale, ZONE, colours), highlight=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def run(*arguments: str) -> Result:
    """The command against a server whose latest minute is this one."""
    later = int(time.time()) // 60 * 60 - NOW
    page = PAGE | {"rows": [row | {"minute": row["minute"] + later} for row in PAGE["rows"]]}
    with scripted(say(200, page)) as account:
        place = ("--endpoint", account.endpoint, "--key", account.key)
        return CliRunner().invoke(command, ["heatmap", *arguments, *place])


# ---- grids


def test_minutes_are_gathered_into_cells() -> None:
    rows = [
        minute(10, ru=120.0, peak=8.0, budget=10.0, throttled=1),
        minute(11, ru=60.0, peak=9.0, budget=100.0),
        minute(13, ru=6.0, peak=1.0),
        minute(9),
    ]
    (grid,) = build_grids(rows, 13 * 60 + 59, 4, 3)
    assert (grid.database, grid.container, grid.start, grid.step, grid.columns) == ("d", "c", 600, 2, 2)
    (lane,) = grid.lanes
    assert lane.cells == (Cell(2, 180.0, 8.0, 10.0, 12, 1), Cell(1, 6.0, 1.0, 10.0, 6, 0))
    assert [cell.share for cell in lane.known] == [0.8, 0.1]
    assert [cell.mean for cell in lane.known] == [1.5, 0.1]
    assert lane.total == Cell(3, 186.0, 8.0, 10.0, 18, 1)


def test_lanes_are_partitions_in_the_order_of_their_ranges() -> None:
    rows = [minute(3, "10"), minute(3, "9"), minute(1, "2"), minute(2, "2", partition="recreated")]
    (grid,) = build_grids(rows, 3 * 60, 3, 10)
    assert [lane.range for lane in grid.lanes] == ["2", "2", "9", "10"]
    assert [[cell is not None for cell in lane.cells] for lane in grid.lanes[:2]] == [
        [True, False, False], [False, True, False]
    ]  # fmt: skip


def test_a_budget_of_nothing_is_no_share() -> None:
    assert Cell(1, 6.0, 5.0, 0.0, 1, 0).share == 0.0


@given(
    st.lists(
        st.tuples(st.integers(0, 1500), st.sampled_from("012"), st.integers(0, 900)), unique_by=lambda row: row[:2]
    ),
    st.integers(1, 1440),
    st.integers(10, 800),
)
def test_no_minute_is_lost_or_counted_twice(found: list[tuple[int, str, int]], minutes: int, most: int) -> None:
    now = 1500
    rows = [
        minute(at, range_id, ru=float(ru), peak=ru / 50, requests=ru, throttled=ru % 7) for at, range_id, ru in found
    ]
    grids = build_grids(rows, now * 60, minutes, most)
    asked = [row for row in rows if row.minute > (now - minutes) * 60]
    cells = [cell for grid in grids for lane in grid.lanes for cell in lane.known]
    gathered = [row for row in rows if grids and row.minute >= grids[0].start]
    assert set(asked) <= set(gathered)  # the first cell may begin earlier, where cells begin
    for name in ("ru", "requests", "throttled"):
        assert sum(getattr(cell, name) for cell in cells) == sum(getattr(row, name) for row in gathered)
    assert sum(cell.minutes for cell in cells) == len(gathered)
    assert max((cell.share for cell in cells), default=0) == max((row.peak / 10 for row in gathered), default=0)
    assert all(grid.columns <= most for grid in grids)


def test_times_on_the_axis_are_round_where_they_are_read() -> None:
    (grid,) = build_grids([minute(100)], 100 * 60, 100, 200)
    ticks = find_ticks(grid, ZONE, 12)
    assert [(grid.moment(column) // 60 + 330) % 15 for column in ticks] == [0] * len(ticks)
    assert len(ticks) == 6


def test_what_is_worth_saying() -> None:
    (grid,) = build_grids([minute(5, throttled=3), minute(6, "1", peak=15.0, throttled=9)], 6 * 60, 5, 10)
    assert describe_grid(grid, UTC) == [
        "Hottest: range 1 at 00:06, 15 RU/s of 10 (150%).",
        "Throttled (429): 12 requests, 75% of them on range 1.",
    ]
    (calm,) = build_grids([minute(5, budget=0)], 6 * 60, 5, 10)
    assert describe_grid(calm, UTC) == ["Hottest: range 0 at 00:05, 2 RU/s.", "Nothing was throttled."]


# ---- in the terminal


@pytest.mark.parametrize("width", [60, 80, 120])
def test_blocks(width: int, must_match: Callable[[str, str], None]) -> None:
    text = draw(build_grids(HEAT.rows, NOW, 60, count_blocks(width)), width, HEAT.scale)
    assert max(map(len, text.splitlines())) <= width
    must_match(f"heat-{width}.txt", text)


def test_blocks_in_colours(must_match: Callable[[str, str], None]) -> None:
    grids = build_grids(read_heat(PAGE, Target("shop", "orders")).rows, NOW, 60, count_blocks(80))
    must_match("heat-colour.txt", draw(grids, 80, colours=True))


def test_nothing_recorded_is_said() -> None:
    assert draw([], 80) == "Nothing was recorded.\n"


# ---- the page


class Reader(HTMLParser):
    """Follows the elements of a page: open ones, texts by element, attributes that fetch something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.fetched: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "srcset", "data", "action")]
        self.ids += [str(value) for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element of the picture, closed in itself."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def test_the_page(must_match: Callable[[str, str], None]) -> None:
    grids = build_grids(HEAT.rows, NOW, 60, 100)
    text = render_page(grids, HEAT.scale, ZONE, "Heat of <all>")
    must_match("heat.html", text[text.index("<main>") : text.index("</main>")])
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    assert reader.fetched == []
    assert len(set(reader.ids)) == len(reader.ids)
    assert not re.search(r"url\(|@import|https?:", text)
    assert reader.texts["title"] == reader.texts["h1"] == ["Heat of <all>"]
    assert reader.texts["h2"] == ["shop/<carts> & co", "shop/orders"]
    data = json.loads(reader.texts["script"][0])
    assert data["offset"] == 19_800
    assert [[len(lane["cells"]) for lane in grid["lanes"]] for grid in data["grids"]] == [[60], [60, 60, 60]]
    throttled = [cell[4] for grid in data["grids"] for lane in grid["lanes"] for cell in lane["cells"] if cell]
    assert sum(throttled) == sum(row.throttled for row in HEAT.rows)


def test_the_figures_of_a_name_that_closes_elements_stay_inside() -> None:
    (grid,) = build_grids([minute(5, "</script><b>")], 5 * 60, 5, 10)
    reader = Reader()
    reader.feed(render_page([grid], 1.0, UTC, "Heat"))
    assert json.loads(reader.texts["script"][0])["grids"][0]["lanes"][0]["range"] == "</script><b>"
    assert "range </script><b>" in reader.texts["div"]


def test_a_page_of_nothing_says_so() -> None:
    reader = Reader()
    reader.feed(render_page([], 1.0, UTC, "Heat"))
    assert "Nothing was recorded." in reader.texts["p"]
    assert "scaled" not in "".join(reader.texts["p"])


# ---- the command


def test_the_page_of_the_server_is_asked_for_and_drawn() -> None:
    result = run("--hours", "0.5")
    assert result.exit_code == 0, result.output
    assert [(method, path) for method, path, _, _ in Scripted.seen] == [("GET", "/_armillary/heat?minutes=30")]
    assert "Throttled (429)" in result.output


def test_one_container_as_json() -> None:
    result = run("shop/orders", "--json")
    page = json.loads(result.output)
    assert page["scale"] == PAGE["scale"]
    ranges = [row["range"] for row in PAGE["rows"] if row["container"] == "orders"]
    assert [row["range"] for row in page["rows"]] == ranges


def test_a_page_is_written(tmp_path: Path) -> None:
    result = run("shop/orders", "--hours", "24", "--html", str(tmp_path / "heat.html"))
    assert (result.exit_code, result.output) == (0, f"wrote {tmp_path}/heat.html\n")
    text = (tmp_path / "heat.html").read_text("utf-8")
    assert "<title>Heat of shop/orders</title>" in text
    assert "carts" not in text
    assert run("--html", "-").output.startswith("<!doctype html>")


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    result = run("--html", str(tmp_path / "none" / "heat.html"))
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "cannot be written: No such file or directory" in result.output


@pytest.mark.parametrize("hours", ["0", "-1", "24.5", "x"])
def test_hours_are_those_of_a_day(hours: str) -> None:
    assert CliRunner().invoke(command, ["heatmap", "--hours", hours]).exit_code == 2


def test_a_page_of_another_form_is_told() -> None:
    with pytest.raises(ServerError, match="a page of another form"):
        read_heat({"scale": 1.0, "rows": [{"minute": 1}]})
