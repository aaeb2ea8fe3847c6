from typing import Any, Final

import pytest
from tests.naive.compare import EXACT, Likeness, find_difference, same_rows
from tests.naive.evaluator import answer

APPROXIMATE: Final = Likeness(approximate=True)
LOOSE: Final = Likeness(loose=True)

SAME: Final = [
    ([1, "a"], ["a", 1], EXACT),
    ([1], [1.0], EXACT),
    ([0.0], [-0.0], EXACT),
    ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}], EXACT),
    ([1e16], [10**16], EXACT),
    ([{"s": [0.1 + 0.2]}], [{"s": [0.3]}], APPROXIMATE),
    ([1.0, 2.0], [2.0000000001, 1.0], APPROXIMATE),
    ([[1, 2, 2]], [[2, 1, 2]], LOOSE),
    ([{"l": ["a", {"b": [1, 2]}]}], [{"l": [{"b": [2, 1]}, "a"]}], LOOSE),
]

OTHER: Final = [
    ([1], [], EXACT),
    ([1, 1, 2], [1, 2, 2], EXACT),
    ([1], [True], EXACT),
    ([0], [False], EXACT),
    ([None], [False], EXACT),
    (["1"], [1], EXACT),
    ([[1, 2]], [[2, 1]], EXACT),
    ([{}], [[]], EXACT),
    ([{"a": None}], [{}], EXACT),
    ([0.1 + 0.2], [0.3], EXACT),
    ([1.0], [1.0001], APPROXIMATE),
    ([1], [True], APPROXIMATE),
    ([{"a": 1}], [{"b": 1}], APPROXIMATE),
    ([[1, 2]], [[2, 1]], APPROXIMATE),
    ([[1, 2, 2]], [[2, 1, 1]], LOOSE),
]


@pytest.mark.parametrize(("left", "right", "like"), SAME)
def test_same_rows(left: list[Any], right: list[Any], like: Likeness) -> None:
    assert same_rows(left, right, like=like)
    assert same_rows(right, left, like=like)


@pytest.mark.parametrize(("left", "right", "like"), OTHER)
def test_other_rows(left: list[Any], right: list[Any], like: Likeness) -> None:
    assert not same_rows(left, right, like=like)
    assert not same_rows(right, left, like=like)


def test_order_counts_where_it_is_said() -> None:
    assert same_rows([1, 2], [2, 1])
    assert not same_rows([1, 2], [2, 1], ordered=True)


ITEMS: Final = [{"id": str(place), "k": k} for place, k in enumerate([2, 1, 2, 1, 3])]

# Query, answers that are right, answers that are wrong.
ANSWERS: Final = [
    ("SELECT VALUE c.id FROM c ORDER BY c.k", ["13024", "31204"], ["10324", "1302", "13042", "11024", "130244"]),
    ("SELECT VALUE c.id FROM c ORDER BY c.k DESC", ["40213", "42031"], ["04213"]),
    ("SELECT TOP 3 VALUE c.id FROM c ORDER BY c.k", ["130", "132", "312"], ["103", "13", "134", "131"]),
    ("SELECT VALUE c.id FROM c ORDER BY c.k OFFSET 1 LIMIT 2", ["10", "12", "30", "32"], ["02", "14", "01", "13"]),
    ("SELECT VALUE c.id FROM c OFFSET 1 LIMIT 2", ["01", "40"], ["0", "00", "012"]),
    ("SELECT VALUE c.id FROM c", ["01234", "43210"], ["0123", "01233"]),
    ("SELECT VALUE c.id FROM c WHERE false", [""], ["0"]),
]


@pytest.mark.parametrize(("text", "right", "wrong"), ANSWERS)
def test_ties_and_windows(text: str, right: list[str], wrong: list[str]) -> None:
    expected = answer(text, {}, ITEMS)
    assert [find_difference(expected, list(rows)) for rows in right] == [None] * len(right)
    assert all(find_difference(expected, list(rows)) for rows in wrong)
