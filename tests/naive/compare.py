"""Whether two lists of rows are the same answer.

Numbers are compared as doubles and exactly; where a query is approximate (sums, transcendental functions), within one
part in a billion. Rows are a multiset unless they are ordered; equal sort keys leave the order among them free.
"""

import math
from typing import Any, Final, NamedTuple

from tests.naive.evaluator import Answer
from tests.naive.values import Value, identity, kind

TOLERANCE: Final = 1e-9
SHOWN: Final = 3


class Likeness(NamedTuple):
    """How alike two values must be: `approximate` frees the last digits, `loose` the order within arrays."""

    approximate: bool = False
    loose: bool = False

    def same_value(self, left: Value, right: Value) -> bool:
        """Deep equality."""
        if self == EXACT:
            return bool(identity(left) == identity(right))
        if kind(left) != kind(right):
            return False
        match kind(left):
            case "number":
                return math.isclose(left, right, rel_tol=TOLERANCE) if self.approximate else bool(left == right)
            case "array":
                return self.same_rows(left, right, ordered=not self.loose)
            case "object":
                return left.keys() == right.keys() and all(self.same_value(left[name], right[name]) for name in left)
        return bool(left == right)

    def same_rows(self, left: list[Value], right: list[Value], *, ordered: bool) -> bool:
        """Whether two lists have the same rows, in the same order if they are ordered."""
        if len(left) != len(right):
            return False
        if ordered:
            return all(self.same_value(one, other) for one, other in zip(left, right, strict=True))
        return not self.list_unmatched(left, right)

    def list_unmatched(self, rows: list[Value], among: list[Value]) -> list[Value]:
        """The rows that have no partner of their own in the other list."""
        free: dict[Any, list[Value]] = {}
        for row in among:
            free.setdefault(self.sketch(row), []).append(row)
        unmatched = []
        for row in rows:
            rest = free.get(self.sketch(row), [])
            place = next((place for place, other in enumerate(rest) if self.same_value(row, other)), None)
            if place is None:
                unmatched.append(row)
            else:
                rest.pop(place)
        return unmatched

    def sketch(self, row: Value) -> Any:
        """Something that is equal for rows that are the same: it only spares comparisons."""
        return identity(row) if self == EXACT else kind(row)


EXACT: Final = Likeness()


def same_rows(left: list[Value], right: list[Value], *, ordered: bool = False, like: Likeness = EXACT) -> bool:
    """Whether two lists have the same rows, in the same order if they are ordered."""
    return like.same_rows(left, right, ordered=ordered)


def find_difference(expected: Answer, rows: list[Value], like: Likeness = EXACT) -> str | None:
    """Why these rows are no right answer, in words; None when they are one.

    Within a tie, and so in a whole answer without ORDER BY, any order and any choice of a window are right.
    """
    wanted = len(expected.rows)
    if len(rows) != wanted:
        return f"{len(rows)} rows, not {wanted}: {rows[:SHOWN]!r}, not {expected.rows[:SHOWN]!r}"
    place = start = 0
    for tie in expected.ties:
        first = max(start, expected.offset)
        start += len(tie)
        size = min(start - first, wanted - place)
        if size <= 0:
            continue
        if strangers := like.list_unmatched(rows[place : place + size], tie):
            return f"from row {place} on: {strangers[:SHOWN]!r} are not among {tie[:SHOWN]!r}"
        place += size
    return None
