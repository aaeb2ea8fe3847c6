"""Suffixes are even: for identification numbers, UUIDs, order numbers and timestamps, for every count."""

import random
import string
from collections import Counter
from collections.abc import Callable, Iterable
from math import prod, sqrt
from statistics import NormalDist
from typing import Final
from uuid import UUID

import pytest

from armillary.keys.parts import pick_slot

VIN_LETTERS: Final = "".join(sorted(set(string.ascii_uppercase + string.digits) - set("IOQ")))
KINDS: Final[dict[str, Callable[[random.Random, int], str]]] = {
    "vin": lambda source, _: "".join(source.choices(VIN_LETTERS, k=17)),
    "uuid": lambda source, _: str(UUID(int=source.getrandbits(128))),
    "order": lambda _, number: f"order-{number}",
    "time": lambda _, number: str(1_533_772_800 + number),
}
CHANCE: Final = 0.001


def make_samples(kind: str, amount: int) -> list[str]:
    source = random.Random(20180809)
    return [KINDS[kind](source, number) for number in range(amount)]


def find_chances(places: list[int], counts: Iterable[int]) -> dict[int, float]:
    """For each count, how likely an even hash is as uneven as this: chi-square as Wilson and Hilferty put it."""
    chances = {}
    for count in counts:
        found = Counter(map(count.__rmod__, places))
        expected, freedom = len(places) / count, count - 1
        square = sum((found[slot] - expected) ** 2 for slot in range(count)) / expected
        spread = 2 / (9 * freedom)
        chances[count] = NormalDist().cdf((1 - spread - (square / freedom) ** (1 / 3)) / sqrt(spread))
    return chances


def check_evenness(samples: list[str], counts: Iterable[int], pick: Callable[[str], int] | None = None) -> None:
    """The chance that an even hash fails at ANY of the counts is at most 0.001: each look has 0.001 / looks.

    A chance under 0.001 at one single count means nothing by itself, since there are hundreds of them: bytes of the
    system's random source fall under it at some count in 2 samples of 4, these in 7 of 16, at another count each time.
    So the counts that do are counted too: with one in a thousand expected, more than 1 % says that something is wrong.
    """
    chances = find_chances([(pick or pick_widely)(sample) for sample in samples], counts)
    least = min(chances, key=chances.__getitem__)
    print(f"least even: {least} suffixes, {chances[least]:.5f}")
    assert chances[least] > CHANCE / len(chances), f"{least} suffixes"
    assert sum(chance <= CHANCE for chance in chances.values()) <= len(chances) / 100


def pick_widely(text: str) -> int:
    return pick_slot(text, 1 << 48)


@pytest.mark.parametrize("kind", KINDS)
def test_suffixes_of_few_are_even(kind: str) -> None:
    check_evenness(make_samples(kind, 6_000), (2, 7, 16, 100))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_suffixes_of_a_million_are_even_for_every_count(kind: str) -> None:
    check_evenness(make_samples(kind, 1_000_000), range(2, 401))


@pytest.mark.parametrize("pick", [lambda text: prod(map(ord, text)), lambda text: pick_widely(text) // 3 * 3])
def test_suffixes_that_are_uneven_are_caught(pick: Callable[[str], int]) -> None:
    """The product of the code points, as in published samples, and a hash that loses two slots of three."""
    with pytest.raises(AssertionError, match="suffixes"):
        check_evenness(make_samples("vin", 6_000), [3, 16, 100], pick)


def test_the_slot_of_a_text_follows_from_its_last_48_bits() -> None:
    """Any count divides the same number: readers of other languages need no other arithmetic."""
    samples = make_samples("vin", 200)
    assert all(
        pick_slot(sample, count) == pick_widely(sample) % count for sample in samples for count in (2, 9, 400, 9_999)
    )
