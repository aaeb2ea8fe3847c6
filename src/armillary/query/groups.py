"""Groups under way: the folds of every distinct tuple of keys, which can be put down and taken up again.

The law: groups that were put down and taken up in the middle end as if they had never been.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeAlias

from armillary.errors import Kind, Refusal
from armillary.query.aggregates import Aggregate, Fold
from armillary.query.expressions import Compiled, Row
from armillary.query.semantics import Semantics
from armillary.values import UNDEFINED

State: TypeAlias = list[Any]


def pack(value: object) -> list[object]:
    """A value that JSON can hold, undefined too."""
    return [] if value is UNDEFINED else [value]


def unpack(packed: Sequence[object]) -> object:
    return packed[0] if packed else UNDEFINED


class Groups:
    """The groups of one run; `calls` are aggregates and what each folds."""

    __slots__ = ("_calls", "_canonical", "_found", "_keys", "_most", "_semantics")

    def __init__(
        self, keys: Sequence[Compiled], calls: Sequence[tuple[Aggregate, Compiled]], semantics: Semantics, most: int
    ) -> None:
        self._keys = keys
        self._calls = calls
        self._semantics = semantics
        self._canonical: Callable[[object], Hashable] = semantics.canonical
        self._most = most
        self._found: dict[Hashable, tuple[list[object], list[Fold]]] = {}
        if not keys:
            self._open([])

    def add(self, rows: Sequence[Row]) -> None:
        """Fold rows into their groups."""
        for row in rows:
            values = [key(row) for key in self._keys]
            group = self._found.get(tuple(map(self._canonical, values))) or self._open(values)
            for fold, (_, argument) in zip(group[1], self._calls, strict=True):
                fold.add(argument(row))

    def results(self) -> list[tuple[object, ...]]:
        """The keys and aggregates of all groups."""
        return [(*values, *(fold.result() for fold in folds)) for values, folds in self._found.values()]

    def put_down(self) -> State:
        """What `take_up` goes on from, as JSON can hold it."""
        return [[[*map(pack, values)], [fold.state() for fold in folds]] for values, folds in self._found.values()]

    def take_up(self, state: State) -> None:
        for packed, folds in state:
            _, opened = self._open([unpack(value) for value in packed])
            for fold, inner in zip(opened, folds, strict=True):
                fold.restore(inner)

    def _open(self, values: list[object]) -> tuple[list[object], list[Fold]]:
        if len(self._found) >= self._most:
            reason = f"The query would hold more than {self._most} groups; narrow it down"
            raise Refusal(Kind.BAD_REQUEST, reason=reason)
        group = (values, [aggregate(self._semantics) for aggregate, _ in self._calls])
        self._found[tuple(map(self._canonical, values))] = group
        return group
