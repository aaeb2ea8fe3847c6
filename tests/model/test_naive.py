"""Random queries over random items: the product beside an evaluator that knows no plan, no rule and no page.

The evaluator in `tests/naive` was written from the facts alone. Where they leave a choice, it is set here to what the
decision pages say. What is compared is the answer of the whole language: parsed, lowered, rewritten, run in memory.
"""

import os
import random

import pytest
from tests.naive import expressions, values
from tests.naive.compare import find_difference
from tests.naive.evaluator import answer
from tests.naive.generate import make_items, make_question

from armillary.clock import Clock
from armillary.errors import Refusal
from armillary.lang.sql import select

LONG = "ARMILLARY_LONG" in os.environ
COUNT = 20_000 if LONG else 500
PARTS = 4
ITEMS = 40
# The service's own refusal, which the facts do not name.
REFUSED = "an aggregate function on an expression containing an aggregate or a subquery"


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_answers_are_those_of_the_naive_evaluator(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "CROSS_TYPE_EQUALITY", "false")
    monkeypatch.setattr(expressions, "CONDITIONAL_NON_BOOLEAN", "else")
    first = int(os.environ.get("SEED", random.SystemRandom().randrange(2**31)))
    print(f"SEED={first}")
    answered = 0
    for seed in range(first + part, first + COUNT, PARTS):
        answered += must_agree(seed)
    assert answered > 0.9 * COUNT / PARTS


def must_agree(seed: int) -> bool:
    """Whether the question was answered; both answer it alike, in any case."""
    items = make_items(seed // 50, ITEMS)
    question = make_question(seed, 1 + seed % 5)
    try:
        rows = select(question.text, items, question.parameters, Clock())
    except Refusal as refused:
        if REFUSED not in str(refused):
            raise AssertionError(f"seed {seed}: {question.text}") from refused
        return False
    expected = answer(question.text, question.parameters, items)
    difference = find_difference(expected, rows, question.like)
    assert difference is None, f"seed {seed}: {question.text}\n{question.parameters}\n{difference}"
    return True
