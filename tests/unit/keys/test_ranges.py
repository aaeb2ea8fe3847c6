"""Ranges: the bounds of new containers, and keys that lie in exactly one of them."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases.loader import Case, load_cases

from armillary.keys.effective import binary_number, hash_v1, hash_v2, read_number, size_v1
from armillary.keys.ranges import (
    EVERYTHING,
    EpkRange,
    divide_space,
    halve_range,
    measure_range,
    prefix_range,
    read_range,
)

BOUND = st.binary(max_size=3)


@pytest.mark.parametrize("case", load_cases("keys/ranges"), ids=lambda case: case.input)
def test_bounds_of_new_containers(case: Case) -> None:
    parts, version = case.input.split(" V")
    ranges = divide_space(int(parts), int(version))
    bounds = ["", *case.output.split(), "FF"]
    assert [found.texts for found in ranges] == list(pairwise(bounds))


@pytest.mark.parametrize(("version", "hashed"), [(1, hash_v1), (2, hash_v2)])
def test_every_key_lies_in_one_range_and_no_range_is_poor(version: int, hashed: Callable[[tuple[str]], bytes]) -> None:
    ranges = divide_space(7, version)
    found = [[part.contains(hashed((f"key {number}",))) for part in ranges].index(True) for number in range(7_000)]
    assert min(map(found.count, range(7))) > 850


@given(BOUND, BOUND, BOUND, st.integers(0, 3))
def test_trailing_zeros_of_bounds_mean_nothing(start: bytes, stop: bytes, epk: bytes, zeros: int) -> None:
    padded = EpkRange(start + bytes(zeros), stop + bytes(zeros))
    assert padded.contains(epk) == EpkRange(start, stop).contains(epk)
    assert padded.contains(epk + bytes(zeros)) == EpkRange(start, stop).contains(epk)


@given(st.lists(BOUND, min_size=2, max_size=5), BOUND)
def test_neighbours_share_no_key(bounds: list[bytes], epk: bytes) -> None:
    edges = [b"", *sorted(bounds), b"\xff"]
    ranges = [EpkRange(start, stop) for start, stop in pairwise(edges)]
    assert sum(part.contains(epk) for part in ranges) == (epk < b"\xff")


@given(BOUND, BOUND, BOUND, BOUND, BOUND)
def test_what_lies_in_both_makes_them_overlap(a: bytes, b: bytes, c: bytes, d: bytes, epk: bytes) -> None:
    one, other = EpkRange(a, b), EpkRange(c, d)
    assert one.overlaps(other) == other.overlaps(one)
    assert (one.contains(epk) and other.contains(epk)) <= one.overlaps(other)


def test_a_prefix_covers_what_begins_with_it() -> None:
    day = prefix_range(hash_v2(("day",)))
    assert day.contains(day.start + hash_v2(("device",)))
    assert day.contains(day.start)
    assert not day.contains(hash_v2(("night",)))
    assert prefix_range(b"").contains(b"\x3f" * 16)


def test_texts_are_read_back() -> None:
    assert read_range("", "FF") == EVERYTHING
    assert read_range("1FFF", "2aaa").texts == ("1FFF", "2AAA")
    with pytest.raises(ValueError, match="hex"):
        read_range("x", "FF")


@pytest.mark.parametrize("version", [1, 2])
def test_halves_of_halves_are_the_bounds_of_a_division(version: int) -> None:
    whole = halve_range(EVERYTHING, version)
    assert whole is not None
    low, high = EpkRange(b"", whole), EpkRange(whole, b"\xff")
    assert measure_range(low, version) == pytest.approx(0.5)
    bounds = [halve_range(low, version), whole, halve_range(high, version)]
    shares = [measure_range(part, version) for part in divide_space(4, version)]
    assert shares == pytest.approx([0.25] * 4)
    assert [EpkRange(b"", bound or b"") for bound in bounds] == sorted(EpkRange(b"", bound or b"") for bound in bounds)
    assert measure_range(EpkRange(b"", bounds[0] or b""), version) == pytest.approx(0.25)


@given(st.integers(0, 2**32 - 1))
def test_a_number_is_read_back_from_its_binary_form(number: int) -> None:
    assert read_number(binary_number(number) + b"\x08rest\x00") == number


def test_what_is_too_narrow_is_not_halved() -> None:
    start = hash_v2(("day",))
    assert halve_range(prefix_range(start)) is None
    assert halve_range(EpkRange(start, (int.from_bytes(start, "big") + 1).to_bytes(16, "big"))) is None


KEY_VALUE = st.one_of(st.none(), st.booleans(), st.floats(allow_nan=False), st.text(max_size=120))


@given(KEY_VALUE, st.binary(max_size=9))
def test_the_size_of_an_old_effective_key_is_found(value: str | float | bool | None, rest: bytes) -> None:
    epk = hash_v1((value,))
    assert size_v1(epk + rest) == len(epk)
