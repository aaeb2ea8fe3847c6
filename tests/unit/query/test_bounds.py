"""What a query may hold, and what it is refused for."""

from typing import Any

import pytest
from tests.unit.query.shelves import Shelves

from armillary.clock import Clock
from armillary.errors import Refusal
from armillary.lang.sql import prepare, select
from armillary.query import execute
from armillary.query.pages import read_page
from armillary.query.source import start_run

CLOCK = Clock(ticks=lambda: 0)
ITEMS = [{"id": f"i{number}", "pk": number, "n": number % 7} for number in range(300)]


def nest(times: int, start: str, made: str) -> str:
    text = f"SELECT VALUE {start}"
    for _ in range(times):
        text = f"SELECT VALUE {made} FROM ({text}) s"
    return text


@pytest.mark.parametrize("made", ["[s, s]", "{a: s, b: s}", "[ARRAY(SELECT VALUE s), s]"])
def test_what_grows_out_of_itself_is_refused(made: str) -> None:
    with pytest.raises(Refusal, match="out of itself"):
        select(nest(40, "1", made), [{}], {}, CLOCK)
    assert select(nest(5, "1", "[s, s]"), [{}], {}, CLOCK)


@pytest.mark.parametrize(
    ("start", "made"),
    [
        ("'aaaaaaaa'", "s || s"),
        ("'aaaaaaaa'", "CONCAT(s, s)"),
        ("'aaaa'", "REPLACE(s, 'a', s)"),
        ("'a'", "StringJoin([s, s], s)"),
    ],
)
def test_texts_that_are_too_long_are_undefined(start: str, made: str) -> None:
    assert select(nest(60, start, made), [{}], {}, CLOCK) == []


def test_a_subquery_of_too_many_rows_is_refused() -> None:
    item = {"x": list(range(1_000))}
    text = "SELECT VALUE (SELECT VALUE COUNT(1) FROM a IN c.x JOIN b IN c.x) FROM c"
    with pytest.raises(Refusal, match="rows of one item"):
        select(text, [item], {}, CLOCK)
    assert select("SELECT VALUE (SELECT VALUE COUNT(1) FROM a IN c.x) FROM c", [item], {}, CLOCK) == [1_000]
    assert select("SELECT VALUE COUNT(1) FROM c JOIN a IN c.x JOIN b IN c.x", [item], {}, CLOCK) == [1_000_000]


@pytest.mark.parametrize(
    "text",
    ["SELECT * FROM c ORDER BY c.n", "SELECT DISTINCT VALUE c.id FROM c", "SELECT c.id FROM c GROUP BY c.id"],
)
def test_a_run_that_holds_too_much_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "MOST_ROWS", 100)
    with pytest.raises(Refusal, match="more than 100"):
        select(text, ITEMS, {}, CLOCK)


def test_pages_of_an_order_hold_no_more_than_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "MOST_ROWS", 2_000)
    items = [{"id": f"i{number}", "pk": number, "n": number * 7919 % 5_000} for number in range(5_000)]
    source = Shelves(items, 2, size=500)
    statement = prepare("SELECT VALUE c.n FROM c ORDER BY c.n")
    position: Any = None
    rows: list[Any] = []
    for _ in range(3):
        page = read_page(statement.pages(start_run(source, {}, lambda: 0, lambda: 0.5), position), 100)
        rows += page.values
        position = page.position
    assert rows == list(range(300))


def test_a_join_is_cut_into_pieces() -> None:
    item = {"x": list(range(20_000))}
    program = prepare("SELECT VALUE a FROM c JOIN a IN c.x").program
    from_one = start_run(Shelves([item]), {}, lambda: 0, lambda: 0.5)
    sizes = [len(batch) for batch in program(from_one)]
    assert sum(sizes) == 20_000
    assert max(sizes) <= execute.PIECE
