"""The generator: its questions have answers, most of them rows, and all parts of the language come up.

Each question is also asked in three parts, which must add up: no evaluator is right that loses a row between a
condition, its negation, and what is neither.
"""

import os
import random
from collections import Counter
from typing import Final

import pytest
from tests.naive.compare import find_difference, same_rows
from tests.naive.evaluator import answer, run
from tests.naive.functions import FUNCTIONS
from tests.naive.generate import FEATURES, QueryWriter, make_items, make_question

RUNS: Final = 400 if "ARMILLARY_LONG" not in os.environ else 20_000


def test_a_seed_is_a_question() -> None:
    assert [make_question(seed) for seed in range(50)] == [make_question(seed) for seed in range(50)]
    assert make_items(7, 20) == make_items(7, 20)
    assert make_items(7, 20) != make_items(8, 20)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_questions_have_answers(size: int) -> None:
    items = make_items(size, 40)
    full = 0
    for seed in range(RUNS):
        question = make_question(seed, size)
        print(f"seed {seed}, size {size}: {question.text} {question.parameters}")
        found = answer(question.text, question.parameters, items)
        full += bool(found.rows)
        assert find_difference(found, found.rows, question.like) is None
        assert question.ordered or len(found.ties) <= 1
    assert full > RUNS * 0.75


def test_all_of_the_language_comes_up() -> None:
    questions = [make_question(seed, 3) for seed in range(2000)]
    features = Counter(feature for question in questions for feature in question.features)
    assert all(features[feature] > 100 for feature in FEATURES), features
    text = " ".join(question.text for question in questions).upper()
    words = (
        "BETWEEN",
        "NOT IN",
        "LIKE",
        "ESCAPE",
        "EXISTS(",
        "ARRAY(",
        "JOIN",
        "OFFSET",
        "DISTINCT",
        "TOP @",
        "??",
        "||",
        ">>>",
    )
    assert [word for word in words if word not in text] == []
    called = {name for name in FUNCTIONS if f"{name}(" in text}
    assert len(called) > 90, sorted(set(FUNCTIONS) - called)


def test_a_condition_splits_all_rows_in_three() -> None:
    items = make_items(3, 40)
    everything = run("SELECT VALUE c.id FROM c", {}, items)
    for seed in range(RUNS):
        writer = QueryWriter(random.Random(seed), 3)
        writer.scope.append(("c", "item"))
        condition = writer.truth(3)
        print(f"seed {seed}: {condition}")
        parts = [condition, f"NOT ({condition})", f"NOT IS_BOOL({condition})"]
        rows = [run(f"SELECT VALUE c.id FROM c WHERE {part}", writer.parameters, items) for part in parts]
        assert same_rows(everything, [row for part in rows for row in part])
