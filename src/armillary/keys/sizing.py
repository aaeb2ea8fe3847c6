"""How many suffixes one base value needs: three lower bounds, and the largest of them.

    throughput   peak RU/s of the base value / (target x what one logical partition serves)
    storage      its bytes / (target x what one logical partition holds)
    spread       2 N ln N / excess^2 for N partitions: the hottest partition then has about 1 + excess of the mean

A balanced suffix needs no luck to spread: one suffix for each partition, rounded up to a power of two, so that it stays
even while partitions are halved. The upper bound is the caller's: suffixes with few items each cost reads and bring
nothing, since a read of the whole base visits each partition at most once anyway. No strategy has more than
`MOST_SUFFIXES`; a bound above that says that the suggestion does not reach it.
"""

from dataclasses import dataclass
from math import ceil, log
from typing import Final

from armillary.keys.texts import refuse_definition

PARTITION_RU: Final = 10_000
PARTITION_BYTES: Final = 20 * 2**30
MOST_SUFFIXES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A count of suffixes, and the bound that each reason sets."""

    count: int
    throughput: int
    storage: int
    spread: int


def suggest_count(
    partitions: int,
    *,
    peak_ru: float = 0,
    peak_bytes: float = 0,
    balanced: bool = False,
    excess: float = 0.25,
    target: float = 0.8,
) -> Suggestion:
    """How many suffixes a base value with this peak needs over so many partitions.

    >>> suggest_count(10, peak_ru=36_000)
    Suggestion(count=737, throughput=5, storage=0, spread=737)
    >>> suggest_count(10, peak_ru=36_000, balanced=True)
    Suggestion(count=16, throughput=5, storage=0, spread=16)
    """
    if partitions < 1 or min(peak_ru, peak_bytes) < 0 or excess <= 0 or not 0 < target <= 1:
        raise refuse_definition(
            "a count follows from one partition or more, peaks from 0 up, an excess above 0 and a target of 1 at most"
        )
    throughput = ceil(peak_ru / (target * PARTITION_RU))
    storage = ceil(peak_bytes / (target * PARTITION_BYTES))
    if balanced:
        spread = 1 << (partitions - 1).bit_length()
        needed = max(throughput, storage, spread, 1)
        count = 1 << min((needed - 1).bit_length(), MOST_SUFFIXES.bit_length() - 1)
        return Suggestion(count, throughput, storage, spread)
    spread = ceil(2 * partitions * log(partitions) / excess**2)
    return Suggestion(min(max(throughput, storage, spread, 1), MOST_SUFFIXES), throughput, storage, spread)
