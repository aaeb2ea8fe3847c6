"""The sketch of heavy keys: its promise for every stream, and what is shown of it."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from armillary.hotkeys import Hot, HotKeys, TopKeys, Use, merge_hot

SEED = 20261119


def uses(weights: dict[bytes, float]) -> dict[bytes, Use]:
    return {key: [weight, 10 * weight, key.decode()] for key, weight in weights.items()}


@given(
    st.lists(st.dictionaries(st.sampled_from([b"%d" % n for n in range(40)]), st.integers(1, 50), max_size=12)),
    st.integers(1, 8),
)
def test_a_count_is_never_too_high_and_too_low_by_no_more_than_the_error(
    batches: list[dict[bytes, int]], size: int
) -> None:
    sketch = TopKeys(size)
    truth: Counter[bytes] = Counter()
    for batch in batches:
        sketch.absorb(uses({key: float(weight) for key, weight in batch.items()}))
        truth.update(batch)
    assert len(sketch.uses) <= size
    assert sketch.error <= truth.total() / (size + 1)
    for key, weight in truth.items():
        count = sketch.uses[key][0] if key in sketch.uses else 0.0
        assert count <= weight <= count + sketch.error


def test_heavy_keys_are_found_among_very_many() -> None:
    draw = random.Random(SEED)
    sketch = TopKeys(64)
    for _ in range(400):
        batch: Counter[bytes] = Counter()
        for _ in range(250):
            heavy = draw.random() < 0.3
            batch[b"heavy-%d" % draw.randrange(3) if heavy else b"%d" % draw.randrange(1_000_000)] += 1
        sketch.absorb(uses({key: float(count) for key, count in batch.items()}))
    assert sorted(sketch.top(3)) == [b"heavy-0", b"heavy-1", b"heavy-2"]
    assert all(sketch.uses[key][0] > 8_000 for key in sketch.top(3))


def test_figures_are_of_this_minute_and_the_one_before() -> None:
    keys = HotKeys()
    keys.absorb(7, uses({b"old": 6.0, b"both": 2.0}), {})
    keys.absorb(8, uses({b"new": 4.0, b"both": 3.0}), uses({b"new": 2.0}))
    assert keys.top(8) == [("old", 6.0, 60.0, 0), ("both", 5.0, 50.0, 0), ("new", 4.0, 40.0, 2.0)]
    assert [name for name, *_ in keys.top(9)] == ["new", "both"]
    assert keys.top(10) == []


def test_a_key_that_is_only_refused_is_shown() -> None:
    keys = HotKeys()
    keys.absorb(1, {}, uses({b"a": 9.0}))
    assert keys.top(1) == [("a", 0, 0, 9.0)]


def test_what_workers_found_is_one_list() -> None:
    one = [Hot("a", 5.0, 1.0, 0.0), Hot("b", 4.0, 1.0, 0.0)]
    two = [Hot("b", 3.0, 2.0, 1.0), Hot("c", 1.0, 1.0, 0.0)]
    assert merge_hot([one, two, []]) == [Hot("b", 7.0, 3.0, 1.0), Hot("a", 5.0, 1.0, 0.0), Hot("c", 1.0, 1.0, 0.0)]
    assert merge_hot([one, two], 1) == [Hot("b", 7.0, 3.0, 1.0)]
