"""Counts of suffixes: each bound by itself, the largest of them, and what makes no sense."""

import pytest

from armillary.errors import Kind, Refusal
from armillary.keys.sizing import suggest_count


def test_counts_that_are_suggested() -> None:
    assert suggest_count(1).count == 1
    assert suggest_count(10, excess=0.5).spread == 185
    assert suggest_count(10, peak_ru=36_000, excess=2).throughput == 5
    assert suggest_count(1, peak_bytes=100 * 2**30).count == 7
    assert suggest_count(5, balanced=True).count == 8
    assert suggest_count(2, peak_ru=36_000, balanced=True).count == 8


def test_no_suggestion_is_larger_than_a_strategy_can_be() -> None:
    plain = suggest_count(100)
    assert (plain.count, plain.spread) == (10_000, 14_737)
    balanced = suggest_count(20_000, balanced=True)
    assert (balanced.count, balanced.spread) == (8_192, 32_768)


@pytest.mark.parametrize(
    "wrong",
    [{"partitions": 0}, {"peak_ru": -1}, {"peak_bytes": -1}, {"excess": 0}, {"target": 0}, {"target": 1.5}],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(Refusal, match="a count follows from") as refused:
        suggest_count(**{"partitions": 4, **wrong})  # type: ignore[arg-type] # a float where that is the mistake
    assert refused.value.kind is Kind.BAD_DEFINITION
