"""What every engine holds a work to before anything is written, so that all of them refuse the same things."""

from typing import Final

from armillary.errors import Kind, Refusal
from armillary.kv.engine import Changes, Limits, TermChanges

FIRST: Final = b"\x01"
# What LMDB takes (its keys, and duplicate values, are at most 511 bytes) and what is sane to hold in memory at once.
EMBEDDED: Final = Limits(key_bytes=511, value_bytes=32 << 20, commit_bytes=256 << 20, commit_works=256, term_bytes=511)


def weigh_changes(changes: Changes, limits: Limits) -> int:
    """The bytes a work wants to write; refuses what the engine cannot take."""
    total = len(changes.header or b"")
    for key, value in changes.effects.items():
        size = len(key)
        if size > limits.key_bytes:
            raise Refusal(Kind.KEY_TOO_LONG, size=size, limit=limits.key_bytes)
        if key < FIRST:
            raise ValueError(f"the key {key!r} belongs to the engine: keys begin with a byte above zero")
        if value is not None:
            if len(value) > limits.value_bytes:
                raise Refusal(Kind.COMMIT_TOO_LARGE, size=len(value), limit=limits.value_bytes)
            size += len(value)
        total += size
    if total > limits.commit_bytes:
        raise Refusal(Kind.COMMIT_TOO_LARGE, size=total, limit=limits.commit_bytes)
    return total


def check_terms(changes: TermChanges, limits: Limits) -> None:
    """Refuses a step with a term that the engine cannot take."""
    for terms in (changes.removes, changes.adds):
        for term, _ in terms:
            if len(term) > limits.term_bytes:
                raise Refusal(Kind.KEY_TOO_LONG, size=len(term), limit=limits.term_bytes)
            if not term:
                raise ValueError("a term has at least one byte")
