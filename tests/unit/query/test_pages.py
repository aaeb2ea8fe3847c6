"""Positions under change: what nobody touches comes exactly once, whatever is written, split and merged meanwhile."""

import os
from collections import Counter
from random import Random
from typing import Any, Final

import pytest
from tests.unit.query.shelves import Shelves

from armillary.errors import Kind, Refusal
from armillary.keys import EpkRange
from armillary.lang.sql import prepare
from armillary.query.pages import Page, read_page
from armillary.query.positions import Cut, Position, read_position, write_position
from armillary.query.source import Progress, Run, start_run

SEEDS: Final = 400 if "ARMILLARY_LONG" in os.environ else 25
SIZES: Final = (1, 2, 3, 7, 100)

QUERIES: Final = {
    "stream": "SELECT VALUE c.id FROM c",
    "filter": "SELECT VALUE c.id FROM c WHERE c.n >= 3 AND c.n < 8",
    "equality": "SELECT VALUE c.id FROM c WHERE c.n = 5",
    "join": "SELECT VALUE [c.id, t] FROM c JOIN t IN c.tags",
    "order": "SELECT VALUE c.id FROM c ORDER BY c.n",
    "order down": "SELECT VALUE c.id FROM c ORDER BY c.n DESC",
    "order two": "SELECT VALUE c.id FROM c ORDER BY c.n DESC, c.m ASC",
    "order join": "SELECT VALUE [c.id, t] FROM c JOIN t IN c.tags ORDER BY c.n DESC",
    "distinct": "SELECT DISTINCT VALUE c.id FROM c",
    "subquery": "SELECT VALUE x.id FROM (SELECT c.id, c.n FROM c WHERE c.n > 2) x",
}
GROUPED: Final = "SELECT c.n, COUNT(1) AS k, AVG(c.m) AS a FROM c GROUP BY c.n"


def make_item(random: Random, number: int) -> dict[str, Any]:
    tags = [random.choice("abc") for _ in range(random.randrange(4))]
    return {"id": f"i{number}", "pk": random.randrange(12), "n": random.randrange(10), "m": number % 4, "tags": tags}


def begin(source: Shelves) -> Run:
    return start_run(source, {}, lambda: 0, lambda: 0.5)


def disturb(random: Random, source: Shelves, touched: set[str]) -> None:
    """Write, change, delete, split or merge something."""
    choice = random.randrange(6)
    number = random.choice(sorted(source.stored)) if source.stored else None
    if choice == 0 or number is None:
        fresh = make_item(random, 1_000 + random.randrange(1_000_000))
        touched.add(fresh["id"])
        source.put(fresh)
    elif choice == 1:
        touched.add(source.stored[number][1]["id"])
        del source.stored[number]
    elif choice == 2:
        item = source.stored[number][1]
        touched.add(item["id"])
        source.stored[number] = (source.stored[number][0], {**item, "n": random.randrange(10)})
    elif choice == 3 and len(source.bounds) < 9:
        source.split(random.randrange(len(source.bounds)))
    elif choice == 4 and len(source.bounds) > 1:
        source.merge(random.randrange(len(source.bounds) - 1))


def next_page(random: Random, text: str, source: Shelves, position: Position | None) -> Page:
    """The next page, sometimes ended before it is complete."""
    pages = prepare(text).pages(begin(source), position)
    most = random.choice(SIZES)
    if random.random() < 0.3:
        pages.begin(most)
        steps = random.randrange(2, 8)
        while steps and pages.advance():
            steps -= 1
        if pages.can_end:
            return pages.end()
    return read_page(pages, most)


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("name", QUERIES)
def test_what_nobody_touches_comes_exactly_once(name: str, indexed: bool) -> None:
    for seed in range(SEEDS):
        random = Random(f"{name} {seed}")
        source = Shelves([make_item(random, number) for number in range(40)], random.choice((1, 2, 5)), indexed=indexed)
        source.size = random.choice((1, 2, 5))
        start = read_page(prepare(QUERIES[name]).pages(begin(source)), 10_000).values
        touched: set[str] = set()
        rows: list[Any] = []
        position = None
        for _ in range(5_000):
            page = next_page(random, QUERIES[name], source, position)
            rows += page.values
            if page.position is None:
                break
            position = read_position(write_position(page.position))
            if len(touched) < 12:
                disturb(random, source, touched)
        else:
            raise AssertionError(f"{name} {seed}: no end")
        untouched = [row for row in start if (row[0] if isinstance(row, list) else row) not in touched]
        kept = [row for row in rows if (row[0] if isinstance(row, list) else row) not in touched]
        assert Counter(map(str, kept)) == Counter(map(str, untouched)), f"seed {seed}"
        if "order" in name:
            assert kept == untouched, f"seed {seed}"


@pytest.mark.parametrize("text", ["SELECT VALUE SUM(c.n) FROM c", GROUPED])
def test_groups_are_put_down_and_taken_up(text: str) -> None:
    random = Random(7)
    source = Shelves([make_item(random, number) for number in range(60)], 3)
    expected = Counter(map(str, read_page(prepare(text).pages(begin(source)), 1_000).values))
    rows: list[Any] = []
    position, pauses = None, 0
    while True:
        pages = prepare(text).pages(begin(source), position)
        pages.begin(4)
        steps = 2
        while steps and pages.advance():
            steps -= 1
        page = pages.end()
        pauses += not page.values
        rows += page.values
        if page.position is None:
            break
        position = read_position(write_position(page.position))
        if random.random() < 0.3:
            source.split(random.randrange(len(source.bounds)))
    assert Counter(map(str, rows)) == expected
    assert pauses > 5


@pytest.mark.parametrize("most", [1, 3, 1_000])
@pytest.mark.parametrize("text", [*QUERIES.values(), GROUPED, "SELECT VALUE c.id FROM c OFFSET 3 LIMIT 9"])
def test_a_run_that_is_kept_alive_gives_all_pages(text: str, most: int) -> None:
    random = Random(11)
    source = Shelves([make_item(random, number) for number in range(30)], 3)
    whole = read_page(prepare(text).pages(begin(source)), 10_000).values
    pages = prepare(text).pages(begin(source))
    rows: list[Any] = []
    for _ in range(200):
        page = read_page(pages, most)
        assert len(page.values) <= most
        rows += page.values
        if page.position is None:
            break
    assert Counter(map(str, rows)) == Counter(map(str, whole))


@pytest.mark.parametrize("text", ["SELECT VALUE c.id FROM c ORDER BY c.n", "SELECT DISTINCT VALUE c.n FROM c"])
def test_what_must_see_all_rows_first_has_given_nothing_before(text: str) -> None:
    random = Random(5)
    source = Shelves([make_item(random, number) for number in range(30)], 2)
    whole = read_page(prepare(text).pages(begin(source)), 10_000).values
    first = read_page(prepare(text).pages(begin(source)), 4)
    for position in (None, first.position):
        pages = prepare(text).pages(begin(source), position)
        pages.begin(4)
        assert pages.advance()
        assert not pages.can_end
        page = pages.end()
        assert page.values == []
        assert page.position is not None
        rest = read_page(prepare(text).pages(begin(source), read_position(write_position(page.position))), 10_000)
        assert rest.values == (whole if position is None else whole[4:])


def test_folds_that_were_made_up_are_refused() -> None:
    source = Shelves([{"id": "a", "pk": 1, "n": 1}])
    whole = (Progress(EpkRange(b"", b"\xff")),)
    made_up: list[Any] = [[1], [[[], []]], [[[], [1, 2, 3]]], [[[1], ["x"]]], [["a", "b", "c"]], [[[], [[1]]], 5]]
    for groups in made_up:
        with pytest.raises(Refusal, match="none of this query"):
            prepare("SELECT SUM(c.n), COUNT(1) FROM c").pages(begin(source), Position(pending=whole, groups=groups))


def test_an_order_served_by_an_index_reads_no_more_than_it_needs() -> None:
    items = [{"id": f"i{number}", "pk": number, "n": number * 7919 % 1000} for number in range(1_000)]
    indexed, plain = Shelves(items, 3, size=10, indexed=True), Shelves(items, 3, size=10)
    text = "SELECT TOP 10 VALUE c.n FROM c ORDER BY c.n"
    for source in (indexed, plain):
        assert read_page(prepare(text).pages(begin(source)), 100).values == list(range(10))
    assert plain.batches >= 100
    assert indexed.batches <= 15

    first = read_page(prepare("SELECT VALUE c.n FROM c ORDER BY c.n").pages(begin(indexed)), 10)
    indexed.batches = 0
    second = read_page(prepare("SELECT VALUE c.n FROM c ORDER BY c.n").pages(begin(indexed), first.position), 10)
    assert second.values == list(range(10, 20))
    assert indexed.batches <= 15


@pytest.mark.parametrize("indexed", [False, True])
def test_an_index_that_lists_undefined_keeps_it_in_the_order(indexed: bool) -> None:
    items = [{"id": "a", "pk": 1, "n": 2}, {"id": "b", "pk": 2}, {"id": "c", "pk": 3, "n": None}, {"id": "d", "pk": 4}]
    for direction, expected in (("ASC", ["b", "d", "c", "a"]), ("DESC", ["a", "c", "d", "b"])):
        statement = prepare(f"SELECT VALUE c.id FROM c ORDER BY c.n {direction}")
        for listed, rows in ((frozenset({("n",)}), expected), (frozenset(), [row for row in expected if row in "ac"])):
            run = begin(Shelves(items, 2, indexed=indexed))._replace(listed=listed)
            assert [value for batch in statement.run(run) for value in batch] == rows
            found: list[Any] = []
            position = None
            while True:
                run = begin(Shelves(items, 2, indexed=indexed))._replace(listed=listed)
                page = read_page(statement.pages(run, position), 1)
                found += page.values
                position = page.position
                if position is None:
                    break
            assert found == rows


def test_a_bounded_distinct_ends_early() -> None:
    source = Shelves([{"id": f"i{number}", "pk": number, "n": number} for number in range(500)], 1, size=5)
    assert len(read_page(prepare("SELECT DISTINCT TOP 5 VALUE c.n FROM c").pages(begin(source)), 100).values) == 5
    assert source.batches <= 3


def test_a_slice_is_one_batch() -> None:
    source = Shelves([{"id": f"i{number}", "pk": number} for number in range(100)], 1, size=5)
    pages = prepare("SELECT VALUE c.id FROM c WHERE c.id = 'none'").pages(begin(source))
    pages.begin(10)
    for _ in range(4):
        before = source.batches
        assert pages.advance()
        assert source.batches <= before + 1
    page = pages.end()
    assert page.position is not None
    again = Shelves(source.items, 1, size=5)
    rest = read_page(prepare("SELECT VALUE c.id FROM c").pages(begin(again), page.position), 1_000)
    assert 85 <= len(rest.values) < 100


def test_positions_are_texts_and_come_back() -> None:
    whole = Progress(EpkRange(b"", b"\xff"), None)
    for position in (
        Position(),
        Position(Cut(3, 5), (whole,)),
        Position(Cut(0, None), (Progress(EpkRange(b"\x01", b"\x02"), b"abc", 7), whole)),
        Position(Cut(1, 0), None, b"\x00\xff", 2, ([None], [], ["a"], [1.5], [{"a": [True]}])),
        Position(Cut(), (whole,), groups=[[[[1]], [[3]]]]),
    ):
        text = write_position(position)
        assert text.isascii()
        assert not set(text) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        assert read_position(text) == position


def test_what_is_no_position_is_refused() -> None:
    random = Random(3)
    good = write_position(Position(Cut(0, 4), (Progress(EpkRange(b"", b"\xff"), b"abc"),), b"x", 1, ([1],)))
    texts = ["", "Q1", "x", "Q1!", "Q1" + "A" * 50, good[2:], "Q2" + good[2:], "Q1e30", "Q1W10"]
    for _ in range(300):
        broken = list(good)
        broken[random.randrange(len(broken))] = random.choice("AZaz09-_")
        texts.append("".join(broken[: random.randrange(1, len(broken) + 1)]))
    for text in texts:
        if text != good:
            assert may_be_read(text)


def may_be_read(text: str) -> bool:
    """A broken text may happen to be another position; it is never another error."""
    try:
        read_position(text)
    except Refusal as refusal:
        return refusal.kind is Kind.BAD_CONTINUATION
    return True


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("SELECT * FROM c", "SELECT * FROM c ORDER BY c.n"),
        ("SELECT * FROM c", "SELECT DISTINCT VALUE c.n FROM c"),
        ("SELECT * FROM c ORDER BY c.n", "SELECT * FROM c"),
        ("SELECT DISTINCT VALUE c.n FROM c", "SELECT * FROM c"),
        ("SELECT DISTINCT VALUE c.n FROM c", "SELECT * FROM c ORDER BY c.n"),
    ],
)
def test_a_position_of_another_plan_is_refused(text: str, other: str) -> None:
    source = Shelves([{"id": f"i{number}", "pk": number, "n": number} for number in range(10)], 2)
    position = read_page(prepare(text).pages(begin(source)), 3).position
    assert position is not None
    with pytest.raises(Refusal, match="none of this query"):
        read_page(prepare(other).pages(begin(source), position), 3)
