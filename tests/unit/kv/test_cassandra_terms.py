"""Stamps of steps and effects of terms, without a cluster."""

from hypothesis import given
from hypothesis import strategies as st

from armillary.kv.cassandra_cql import Statement
from armillary.kv.cassandra_terms import Mark, choose_stamp, cut_batches, fold_terms
from armillary.kv.engine import TermChanges


def test_a_step_forward_is_stamped_by_its_watermark_alone() -> None:
    """So two indexers give the same stamp to the same news, and the one that went further wins, whoever is first."""
    assert choose_stamp(Mark(1, 3, 3 << 16, 3 << 16), 9) == 9 << 16
    assert choose_stamp(Mark(1, 3, 3 << 16, 12 << 16), 9) == 9 << 16


def test_a_second_attempt_at_a_watermark_is_above_the_first() -> None:
    assert choose_stamp(Mark(1, 3, 3 << 16, 9 << 16), 9) == (9 << 16) + 1
    assert choose_stamp(Mark(1, 9, 9 << 16, (9 << 16) + 4), 9) == (9 << 16) + 5


@given(st.lists(st.integers(0, 6), max_size=40))
def test_stamps_of_one_indexer_only_grow(watermarks: list[int]) -> None:
    """Whatever watermarks it sets, also backwards: a later step wins over every earlier one."""
    mark = Mark(1, 0, 1, 1)
    for watermark in watermarks:
        stamp = choose_stamp(mark, watermark)
        assert stamp > mark.finished
        mark = Mark(1, watermark, stamp, max(mark.reserved, stamp))


def test_one_effect_for_each_term() -> None:
    a, b, c = (b"a", 1), (b"b", 1), (b"c", 1)
    found = [(statement, values["term"]) for statement, values in fold_terms(TermChanges([a, b, a], [c, b, c], 1), {})]
    assert found == [(Statement.REMOVE_TERM, b"a"), (Statement.ADD_TERM, b"b"), (Statement.ADD_TERM, b"c")]


def test_batches_stay_below_the_wall() -> None:
    commands = [(Statement.ADD_TERM, {"at": at}) for at in range(500)]
    assert [len(batch) for batch in cut_batches(iter(commands), 511, 44_800)] == [75] * 6 + [50]
    assert [len(batch) for batch in cut_batches(iter(commands), 511, 8 << 20)] == [200, 200, 100]
    assert [len(batch) for batch in cut_batches(iter(commands[:2]), 511, 100)] == [1, 1]
