"""The aggregates: each folds the values of a group into one.

    COUNT      how many are defined
    COUNTIF    how many are true
    SUM  AVG   of numbers; undefined as soon as one value is defined and no number; 0 and undefined over none
    MIN  MAX   by the order of types; undefined as soon as one value is an array or an object, and over none
    MAKELIST   all defined values       MAKESET   each of them once

The law: the answer does not depend on the order of the values, but for MAKELIST and MAKESET. Sums are exact until they
leave (`math.fsum`), so the same values have the same sum however they are divided.
"""

import math
from collections.abc import Callable, Hashable
from typing import Any, Final, Protocol, TypeAlias

from armillary.query.numbers import NUMBERS, narrow
from armillary.query.semantics import Semantics
from armillary.values import UNDEFINED


class Fold(Protocol):
    """An aggregate under way."""

    def add(self, value: object) -> None:
        """Take one value, which may be undefined."""

    def result(self) -> object:
        """The aggregate of all values taken."""

    def state(self) -> list[Any]:
        """What a new one goes on from, as JSON can hold it."""

    def restore(self, state: list[Any]) -> None:
        """Go on from such a state."""


Aggregate: TypeAlias = Callable[[Semantics], Fold]


class _Count:
    __slots__ = ("_count",)

    def __init__(self, _: Semantics) -> None:
        self._count = 0

    def add(self, value: object) -> None:
        if value is not UNDEFINED:
            self._count += 1

    def result(self) -> object:
        return self._count

    def state(self) -> list[Any]:
        return [self._count]

    def restore(self, state: list[Any]) -> None:
        (self._count,) = state


class _CountIf(_Count):
    __slots__ = ()

    def add(self, value: object) -> None:
        if value is True:
            self._count += 1


class _Sum:
    __slots__ = ("_numbers", "_spoilt", "_whole")

    def __init__(self, _: Semantics) -> None:
        self._whole = 0
        self._numbers: list[float] = []
        self._spoilt = False

    def add(self, value: object) -> None:
        if isinstance(value, int) and not isinstance(value, bool):
            self._whole += value
        elif isinstance(value, float):
            self._numbers.append(value)
            if len(self._numbers) > 4096:
                self._numbers = _compress(self._numbers)
        elif value is not UNDEFINED:
            self._spoilt = True

    def result(self) -> object:
        if self._spoilt:
            return UNDEFINED
        if not self._numbers:
            return narrow(self._whole)
        try:
            return narrow(math.fsum((*self._numbers, self._whole)))
        except OverflowError:
            return UNDEFINED

    def state(self) -> list[Any]:
        return [str(self._whole), _compress(self._numbers), self._spoilt]  # a text: the number may pass 64 bits

    def restore(self, state: list[Any]) -> None:
        whole, self._numbers, self._spoilt = state
        self._whole = int(whole)


def _compress(numbers: list[float]) -> list[float]:
    """Fewer numbers with exactly the same sum: what it rounds to, and what that leaves out."""
    try:
        parts = [math.fsum(numbers)]
        while parts[-1] and len(parts) < 64:
            parts.append(math.fsum((*numbers, *(-part for part in parts))))
    except OverflowError:
        return numbers
    return parts


class _Average(_Sum):
    __slots__ = ("_count",)

    def __init__(self, semantics: Semantics) -> None:
        super().__init__(semantics)
        self._count = 0

    def add(self, value: object) -> None:
        super().add(value)
        self._count += type(value) in NUMBERS

    def result(self) -> object:
        total: Any = super().result()
        return narrow(total / self._count) if self._count and total is not UNDEFINED else UNDEFINED

    def state(self) -> list[Any]:
        return [super().state(), self._count]

    def restore(self, state: list[Any]) -> None:
        inner, self._count = state
        super().restore(inner)


class _Least:
    __slots__ = ("_best", "_key", "_order", "_spoilt")

    def __init__(self, semantics: Semantics) -> None:
        self._order = semantics.order_key
        self._best: object = UNDEFINED
        self._key: tuple[Any, ...] = ()
        self._spoilt = False

    def add(self, value: object) -> None:
        if value is UNDEFINED:
            return
        if isinstance(value, list | dict):
            self._spoilt = True
            return
        key = self._order(value)
        if self._best is UNDEFINED or self.is_better(key, self._key):
            self._best, self._key = value, key

    @staticmethod
    def is_better(key: tuple[Any, ...], than: tuple[Any, ...]) -> bool:
        return key < than

    def result(self) -> object:
        return UNDEFINED if self._spoilt else self._best

    def state(self) -> list[Any]:
        return [[] if self._best is UNDEFINED else [self._best], self._spoilt]

    def restore(self, state: list[Any]) -> None:
        best, self._spoilt = state
        for value in best:
            self.add(value)


class _Greatest(_Least):
    __slots__ = ()

    @staticmethod
    def is_better(key: tuple[Any, ...], than: tuple[Any, ...]) -> bool:
        return key > than


class _List:
    __slots__ = ("_values",)

    def __init__(self, _: Semantics) -> None:
        self._values: list[object] = []

    def add(self, value: object) -> None:
        if value is not UNDEFINED:
            self._values.append(value)

    def result(self) -> object:
        return self._values

    def state(self) -> list[Any]:
        return self._values

    def restore(self, state: list[Any]) -> None:
        self._values = list(state)


class _Set:
    __slots__ = ("_canonical", "_values")

    def __init__(self, semantics: Semantics) -> None:
        self._canonical = semantics.canonical
        self._values: dict[Hashable, object] = {}

    def add(self, value: object) -> None:
        if value is not UNDEFINED:
            self._values.setdefault(self._canonical(value), value)

    def result(self) -> object:
        return list(self._values.values())

    def state(self) -> list[Any]:
        return list(self._values.values())

    def restore(self, state: list[Any]) -> None:
        for value in state:
            self.add(value)


AGGREGATES: Final[dict[str, Aggregate]] = {
    "AVG": _Average,
    "COUNT": _Count,
    "COUNTIF": _CountIf,
    "MAKELIST": _List,
    "MAKESET": _Set,
    "MAX": _Greatest,
    "MIN": _Least,
    "SUM": _Sum,
}
