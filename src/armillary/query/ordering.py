"""Ranks: what brings rows into the order of a Sort, and values into an order of their own.

    ORDER BY c.a, c.b        rank (key of a, key of b, identity)      ascending
    ORDER BY c.a DESC, c.b   rank (key of a, key of b turned, identity), the whole descending

Rows that are equal for the query come in the order of their identities, in the direction of the first key, as a scan of
an index would bring them: so every order is total, and a position in it can be gone on from. A key that goes against
the first is turned round. What has no order is ranked by a digest of the value: any order will do, as long as it is the
same tomorrow.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import total_ordering
from hashlib import blake2b
from typing import Any, Final, TypeAlias

Rank: TypeAlias = tuple[Any, ...]

DIGEST_BYTES: Final = 16
_EXACT: Final = 1 << 53


@total_ordering
class Turned:
    """A key that sorts the other way round."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turned) and bool(self.key == other.key)

    def __lt__(self, other: "Turned") -> bool:
        return bool(other.key < self.key)

    def __hash__(self) -> int:
        return hash(self.key)


def make_ranker(
    order_key: Callable[[object], Any], directions: Sequence[bool]
) -> Callable[[Sequence[object], bytes], Rank]:
    """What ranks the values of the keys and an identity; `directions` say which keys descend."""
    turned = [direction != directions[0] for direction in directions]
    if not any(turned):
        return lambda values, identity: (*map(order_key, values), identity)

    def rank(values: Sequence[object], identity: bytes) -> Rank:
        keys = map(order_key, values)
        return (*(Turned(key) if turn else key for key, turn in zip(keys, turned, strict=True)), identity)

    return rank


def digest(form: Hashable) -> bytes:
    """A digest of the canonical form of a value: equal forms have equal digests, on every machine.

    >>> digest(("[", 1)) == digest(("[", 1.0)), digest(1) == digest("1")
    (True, False)
    """
    return blake2b(_spell(form), digest_size=DIGEST_BYTES).digest()


def _spell(form: Hashable) -> bytes:
    if isinstance(form, str):
        return b"s%d:" % len(form) + form.encode("utf-8", "surrogatepass")
    if isinstance(form, tuple):
        return b"(" + b"".join(map(_spell, form)) + b")"
    if isinstance(form, frozenset):
        return b"{" + b"".join(sorted(map(_spell, form))) + b"}"
    if isinstance(form, int | float):
        return b"n" + (float(form).hex() if abs(form) <= _EXACT else repr(int(form))).encode()
    return b"k" + repr(form).encode()
