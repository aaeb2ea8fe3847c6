"""Which effective keys a query can find anything under: what its WHERE says of the partition key.

    c.pk = 5                        the point of 5 (and that of minus zero, for 0)
    c.pk IN ("a", "b")              two points           c.pk = 1 OR c.other = 2       everything
    c.pk = 1 AND c.pk = 2           nothing: the point "", which is no key of a container with one
    c.tenant = 1                    for /tenant, /user: all keys that begin with 1

What the paths are known to be is kept as a list of alternatives, each with values for some of the levels; what grows
too long, or is not understood, is not known. An object or an array at a key path counts as undefined, so what equals
one is found there.

The law: an item that the query selects lies in one of the ranges. More may lie there as well.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from armillary.errors import Refusal
from armillary.keys import EpkRange, KeyDefinition
from armillary.query.plan import Derive, Filter, Group, Plan, Scan, Single, nodes_of
from armillary.query.scalars import Among, Apply, Constant, Invoke, Parameter, Scalar, path_of
from armillary.values import UNDEFINED, KeyValue, is_number, key_value

Alternative: TypeAlias = dict[int, KeyValue]  # levels of the key and the values that they have

MOST_ALTERNATIVES: Final = 16_000


class QueryRange(NamedTuple):
    """A range of effective keys as clients see it; a point has two equal bounds that both belong to it."""

    start: bytes
    stop: bytes
    is_point: bool = False

    def overlaps(self, other: EpkRange) -> bool:
        """Whether any of its keys can lie in a range."""
        if self.is_point:
            return other.contains(self.start)
        return EpkRange(self.start, self.stop).overlaps(other)

    def to_json(self) -> dict[str, object]:
        return {
            "min": self.start.hex().upper(),
            "max": self.stop.hex().upper(),
            "isMinInclusive": True,
            "isMaxInclusive": self.is_point,
        }


EVERYTHING: Final = QueryRange(b"", b"\xff")
NOTHING: Final = QueryRange(b"", b"", is_point=True)


def find_ranges(plan: Plan, parameters: Mapping[str, object], definition: KeyDefinition) -> list[QueryRange]:
    """The ranges that a plan needs, in the order of the keys."""
    nodes = list(nodes_of(plan))
    if isinstance(nodes[-1], Single):
        return [NOTHING]
    reader = _Reader(nodes[-1], parameters, definition)
    alternatives: list[Alternative] = [{}]
    for node in nodes:
        if isinstance(node, Derive | Group):
            alternatives = [{}]  # what is above says nothing of the items
        if isinstance(node, Filter):
            alternatives = _both(alternatives, reader.read(node.condition))
    return _cover(_locate(alternative, definition) for alternative in alternatives)


class _Reader:
    """Reads conditions on the key paths of one scan."""

    def __init__(self, scan: Plan, parameters: Mapping[str, object], definition: KeyDefinition) -> None:
        self._slot = scan.slot if isinstance(scan, Scan) else -1
        self._parameters = parameters
        self._levels = {path.names: level for level, path in enumerate(definition.paths)}

    def read(self, condition: Scalar) -> list[Alternative]:
        """What must hold where the condition is true."""
        match condition:
            case Constant(value):
                return [{}] if value is True else []
            case Apply("AND", operands):
                found: list[Alternative] = [{}]
                for operand in operands:
                    found = _both(found, self.read(operand))
                return found
            case Apply("OR", operands):
                return _bound([alternative for operand in operands for alternative in self.read(operand)])
            case Apply("=", (left, right)):
                return self._equal(left, [right]) or self._equal(right, [left]) or [{}]
            case Among(value, items):
                return self._equal(value, items) or [{}]
            case Apply("NOT", (Invoke("IS_DEFINED", (value,)),)):
                return self._has(value, [UNDEFINED])
            case Invoke("IS_NULL", (value,)):
                return self._has(value, [None])
            case Invoke("IS_BOOL", (value,)):
                return self._has(value, [False, True])
            case Invoke("ARRAY_CONTAINS", (Constant(list(values)), value)):
                return self._has(value, _key_values(values))
            case _:
                return self._has(condition, [True])

    def _equal(self, path: Scalar, others: Iterable[Scalar]) -> list[Alternative] | None:
        """What a path equal to one of these constants has; None where it is no such path."""
        level = self._level(path)
        values: list[Any] = []
        for other in others:
            if isinstance(other, Constant):
                values.append(other.value)
            elif isinstance(other, Parameter):
                values.append(self._parameters.get(other.name, UNDEFINED))
            else:
                return None
        if level is None:
            return None
        found = [{level: value} for value in _key_values(value for value in values if value is not UNDEFINED)]
        return found or [_IMPOSSIBLE]

    def _has(self, path: Scalar, values: list[KeyValue]) -> list[Alternative]:
        level = self._level(path)
        return [{}] if level is None else [{level: value} for value in values]

    def _level(self, scalar: Scalar) -> int | None:
        found = path_of(scalar)
        return self._levels.get(found[1]) if found is not None and found[0].slot == self._slot else None


_IMPOSSIBLE: Final[Alternative] = {-1: None}


def _key_values(values: Iterable[object]) -> list[KeyValue]:
    """The key values that items have whose property equals one of these."""
    found: list[KeyValue] = []
    for value in values:
        key = key_value(value)
        found += [0.0, -0.0] if is_number(key) and key == 0 else [key]
    return found


def _both(one: list[Alternative], other: list[Alternative]) -> list[Alternative]:
    """Every pair of alternatives that can hold together."""
    if len(one) * len(other) > MOST_ALTERNATIVES:
        return min(one, other, key=len)  # both are known to hold: the shorter one alone is not wrong
    pairs = ((left, right) for left in one for right in other)
    return [
        {**left, **right}
        for left, right in pairs
        if all(repr(right[level]) == repr(left[level]) for level in left.keys() & right.keys())
    ]


def _bound(alternatives: list[Alternative]) -> list[Alternative]:
    return alternatives if len(alternatives) <= MOST_ALTERNATIVES else [{}]


def _locate(alternative: Alternative, definition: KeyDefinition) -> QueryRange | None:
    """The range of keys with the values of an alternative; None where no key can have them."""
    if -1 in alternative:
        return None
    prefix: list[KeyValue] = []
    while len(prefix) in alternative:
        prefix.append(alternative[len(prefix)])
    if not prefix:
        return EVERYTHING
    try:
        epk = definition.epk(definition.check_values(tuple(prefix), whole=False))
    except Refusal:
        return None  # a value that is too long for a key
    if definition.is_complete(prefix):
        return QueryRange(epk, epk, is_point=True)
    return QueryRange(epk, epk + b"\xff")


def _cover(found: Iterable[QueryRange | None]) -> list[QueryRange]:
    """The ranges in order, without those that lie inside others."""
    ranges = sorted({one for one in found if one is not None}, key=lambda one: (one.start, one.is_point))
    if EVERYTHING in ranges:
        return [EVERYTHING]
    kept: list[QueryRange] = []
    for one in ranges:
        if not (kept and not kept[-1].is_point and one.start < kept[-1].stop):
            kept.append(one)
    return kept or [NOTHING]
