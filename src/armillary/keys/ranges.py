"""Ranges of effective keys: [start, stop) of bytes, in text as upper-case hex, from "" to "FF".

The laws: bounds are compared without their trailing zeros (clients pad and cut them), so a key belongs to exactly one
of two neighbours; the ranges of a container leave no gap and never overlap.
"""

from itertools import pairwise
from typing import Final, NamedTuple

from armillary.keys.effective import binary_number, bound_v1, bound_v2, hashes_v1, hashes_v2

MINIMUM: Final = b""
MAXIMUM: Final = b"\xff"


class EpkRange(NamedTuple):
    """All effective keys from `start` on and below `stop`."""

    start: bytes
    stop: bytes

    def contains(self, epk: bytes) -> bool:
        """Whether a key lies in this range."""
        return self.start.rstrip(b"\x00") <= epk < self.stop.rstrip(b"\x00")

    def overlaps(self, other: "EpkRange") -> bool:
        """Whether any key can lie in both."""
        start = max(self.start.rstrip(b"\x00"), other.start.rstrip(b"\x00"))
        return start < min(self.stop.rstrip(b"\x00"), other.stop.rstrip(b"\x00"))

    @property
    def texts(self) -> tuple[str, str]:
        """Both bounds as clients see them."""
        return self.start.hex().upper(), self.stop.hex().upper()


EVERYTHING: Final = EpkRange(MINIMUM, MAXIMUM)


def read_range(start: str, stop: str) -> EpkRange:
    """A range from its texts; raises ValueError for what is no hex."""
    return EpkRange(bytes.fromhex(start), bytes.fromhex(stop))


def prefix_range(epk: bytes) -> EpkRange:
    """All effective keys that begin with `epk`: those of a hierarchical prefix, or all for the empty one."""
    return EpkRange(epk, epk + b"\xff")


def divide_space(parts: int, version: int = 2) -> list[EpkRange]:
    """The ranges of a new container with so many partitions; hierarchical keys divide as version 2.

    >>> [found.texts for found in divide_space(2)][0]
    ('', '1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF')
    """
    bound = bound_v1 if version == 1 else bound_v2
    bounds = [MINIMUM, *(bound(part, parts) for part in range(1, parts)), MAXIMUM]
    return [EpkRange(start, stop) for start, stop in pairwise(bounds)]


def halve_range(within: EpkRange, version: int = 2) -> bytes | None:
    """The effective key that halves a range as evenly as hashes fall; None for one too narrow to halve."""
    middle = sum((hashes_v1 if version == 1 else hashes_v2)(*within)) // 2
    bound = binary_number(middle) if version == 1 else middle.to_bytes(16, "big")
    point = bound.rstrip(b"\x00")
    return bound if within.start.rstrip(b"\x00") < point < within.stop.rstrip(b"\x00") else None


def measure_range(within: EpkRange, version: int = 2) -> float:
    """How much of all hashes fall into a range."""
    low, high = (hashes_v1 if version == 1 else hashes_v2)(*within)
    least, most = (hashes_v1 if version == 1 else hashes_v2)(*EVERYTHING)
    return (high - low) / (most - least)
