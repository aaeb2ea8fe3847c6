"""What operators mean, handed down as one value: `SQL` here, others for other languages.

Values are those of JSON - None, bool, int or float, str, list, dict - and `UNDEFINED`. The rules of the SQL language:

    =  !=           deep; values of two types are unequal; undefined on either side makes the answer undefined
    <  <=  >  >=    between two of one type (null, boolean, number, string), else undefined; strings by UTF-16 units
    + - * / %       between numbers, else undefined; so is what is no finite number (x / 0)
    & | ^ ~ << ...  between numbers, on 32 bits as in JavaScript, else undefined
    ||              between strings, else undefined
    AND OR NOT      three values: false wins AND, true wins OR, what is no boolean counts as undefined
    ??  ?:          the right side where the left is undefined; the last where the condition is not true

    undefined < null < false < true < numbers < strings < arrays < objects     `order_key`

The laws: a function here is total (no value raises) and pure; `order_key` and `canonical` agree with `=` (equal values
have equal keys); numbers leave in the form of `numbers`. Leaves out: short cuts of AND and OR, which the compiler of
expressions takes, since it alone can leave an operand unevaluated.
"""

import math
import operator
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from armillary.query import patterns
from armillary.query.numbers import NUMBERS, narrow, to_int32, to_uint32
from armillary.query.texts import bounded, spread
from armillary.values import UNDEFINED, Undefined

Value: TypeAlias = object
Unary: TypeAlias = Callable[[Value], Value]
Binary: TypeAlias = Callable[[Value, Value], Value]

_ORDERED: Final = frozenset((bool, str, type(None)))
_KEYS: Final[dict[Any, tuple[int]]] = {UNDEFINED: (0,), None: (1,), False: (2,), True: (3,)}
_MARKED: Final = {False: ("f",), True: ("t",)}


@dataclass(frozen=True, slots=True)
class Semantics:
    """How a language compares, orders and computes; operators by the way they are written, words in capitals."""

    unary: Mapping[str, Unary]
    binary: Mapping[str, Binary]
    choose: Callable[[Value, Value, Value], Value]
    between: Callable[[Value, Value, Value], Value]
    is_in: Callable[[Value, Collection[Value]], Value]
    like: Callable[..., Value]  # text, pattern and, where there is one, the escape character
    compile_in: Callable[[Collection[Value]], Unary]
    compile_like: Callable[..., Unary]
    order_key: Callable[[Value], tuple[Any, ...]]
    canonical: Callable[[Value], Hashable]


def is_equal(one: Value, other: Value) -> bool | Undefined:
    """Whether two values are one; undefined where either is."""
    if one is UNDEFINED or other is UNDEFINED:
        return UNDEFINED
    return is_same(one, other)


def is_same(one: Value, other: Value) -> bool:
    """Deep equality of two values that are both defined (or both undefined)."""
    kind, other_kind = type(one), type(other)
    if kind is not other_kind:
        return kind in NUMBERS and other_kind in NUMBERS and one == other
    if kind is list:
        return one == other and _are_same_lists(one, other)
    if kind is dict:
        return one == other and _are_same_objects(one, other)
    return one == other


# Python's own == comes first: it is quick, and only takes more for equal than it should (1 and true), never less.
def _are_same_lists(one: Any, other: Any) -> bool:
    return all(map(is_same, one, other))


def _are_same_objects(one: Any, other: Any) -> bool:
    return all(is_same(value, other[name]) for name, value in one.items())


def is_different(one: Value, other: Value) -> bool | Undefined:
    if one is UNDEFINED or other is UNDEFINED:
        return UNDEFINED
    return not is_same(one, other)


def _comparison(compare: Callable[[Any, Any], bool]) -> Binary:
    on_nulls = compare(0, 0)

    def decide(one: Value, other: Value) -> bool | Undefined:
        kind, other_kind = type(one), type(other)
        if kind in NUMBERS and other_kind in NUMBERS:
            return compare(one, other)
        if kind is not other_kind or kind not in _ORDERED:
            return UNDEFINED
        if isinstance(one, str) and isinstance(other, str):
            return compare(one, other) if one.isascii() or other.isascii() else compare(spread(one), spread(other))
        return on_nulls if one is None else compare(one, other)

    return decide


def _arithmetic(compute: Callable[[Any, Any], int | float]) -> Binary:
    def decide(one: Value, other: Value) -> int | float | Undefined:
        if type(one) in NUMBERS and type(other) in NUMBERS:
            return narrow(compute(one, other))
        return UNDEFINED

    return decide


def _divide(one: float, other: float) -> float:
    return one / other if other else math.nan


def _remain(one: float, other: float) -> float:
    return math.fmod(one, other) if other else math.nan  # the sign of the first, as in JavaScript


def _bitwise(compute: Callable[[Any, Any], int]) -> Binary:
    def decide(one: Value, other: Value) -> int | Undefined:
        if type(one) in NUMBERS and type(other) in NUMBERS:
            return compute(one, other)
        return UNDEFINED

    return decide


def _numeric(compute: Callable[[Any], int | float]) -> Unary:
    def decide(value: Value) -> int | float | Undefined:
        return narrow(compute(value)) if type(value) in NUMBERS else UNDEFINED

    return decide


def both(one: Value, other: Value) -> bool | Undefined:
    """AND."""
    if one is False or other is False:
        return False
    return True if one is True and other is True else UNDEFINED


def either(one: Value, other: Value) -> bool | Undefined:
    """OR."""
    if one is True or other is True:
        return True
    return False if one is False and other is False else UNDEFINED


def negate(value: Value) -> bool | Undefined:
    """NOT."""
    return not value if isinstance(value, bool) else UNDEFINED


def concatenate(one: Value, other: Value) -> str | Undefined:
    return bounded(one + other) if isinstance(one, str) and isinstance(other, str) else UNDEFINED


def coalesce(one: Value, other: Value) -> Value:
    return other if one is UNDEFINED else one


def choose(condition: Value, chosen: Value, otherwise: Value) -> Value:
    return chosen if condition is True else otherwise


def between(value: Value, low: Value, high: Value) -> bool | Undefined:
    return both(_AT_LEAST(value, low), _AT_MOST(value, high))


def is_in(value: Value, candidates: Collection[Value]) -> bool | Undefined:
    """Whether the value equals one of the candidates: OR over =."""
    answer: bool | Undefined = False
    for candidate in candidates:
        same = is_equal(value, candidate)
        if same is True:
            return True
        if same is UNDEFINED:
            answer = UNDEFINED
    return answer


def compile_in(candidates: Collection[Value]) -> Unary:
    """The same for candidates that are known before: one look-up, however many they are."""
    found = frozenset(map(canonical, candidates))
    otherwise: bool | Undefined = UNDEFINED if UNDEFINED in found else False
    none: bool | Undefined = UNDEFINED if found else False

    def decide(value: Value) -> bool | Undefined:
        if value is UNDEFINED:
            return none
        return True if canonical(value) in found else otherwise

    return decide


def like(text: Value, pattern: Value, escape: Value = None) -> Value:
    """Whether the whole text is like the pattern; undefined where one of them is no string."""
    return compile_like(pattern, escape)(text)


def compile_like(pattern: Value, escape: Value = None) -> Unary:
    """The same for a pattern that is known before."""
    matches = None
    if isinstance(pattern, str) and (escape is None or isinstance(escape, str)):
        matches = patterns.compile_like(pattern, escape)

    def decide(text: Value) -> bool | Undefined:
        return matches(text) if matches is not None and isinstance(text, str) else UNDEFINED

    return decide


def order_key(value: Value) -> tuple[Any, ...]:
    """What sorts values of all types in the order above; equal values have equal keys.

    >>> sorted(["b", 2, None, True, [1], {}, "a", 1.5], key=order_key)
    [None, True, 1.5, 2, 'a', 'b', [1], {}]
    """
    if isinstance(value, str):
        return (5, value if value.isascii() else spread(value))
    if type(value) in NUMBERS:
        return (4, value)
    if isinstance(value, list):
        return (6, tuple(map(order_key, value)))
    if isinstance(value, dict):
        return (7, tuple(sorted((spread(name), order_key(child)) for name, child in value.items())))
    return _KEYS[value]


def canonical(value: Value) -> Hashable:
    """A form of the value that can be hashed: two forms are equal where the values are (undefined equals itself).

    >>> canonical(1) == canonical(1.0), canonical(1) == canonical(True), canonical([1]) == canonical([True])
    (True, False, False)
    """
    if isinstance(value, bool):
        return _MARKED[value]
    if isinstance(value, list):
        return ("[", *map(canonical, value))
    if isinstance(value, dict):
        return ("{", frozenset((name, canonical(child)) for name, child in value.items()))
    return value


_AT_LEAST: Final = _comparison(operator.ge)
_AT_MOST: Final = _comparison(operator.le)

SQL: Final = Semantics(
    unary={
        "+": _numeric(operator.pos),
        "-": _numeric(operator.neg),
        "~": _numeric(lambda number: ~to_int32(number)),
        "NOT": negate,
    },
    binary={
        "=": is_equal,
        "!=": is_different,
        "<": _comparison(operator.lt),
        "<=": _AT_MOST,
        ">": _comparison(operator.gt),
        ">=": _AT_LEAST,
        "+": _arithmetic(operator.add),
        "-": _arithmetic(operator.sub),
        "*": _arithmetic(operator.mul),
        "/": _arithmetic(_divide),
        "%": _arithmetic(_remain),
        "&": _bitwise(lambda one, other: to_int32(one) & to_int32(other)),
        "|": _bitwise(lambda one, other: to_int32(one) | to_int32(other)),
        "^": _bitwise(lambda one, other: to_int32(one) ^ to_int32(other)),
        "<<": _bitwise(lambda one, other: to_int32(to_int32(one) << (to_int32(other) & 31))),
        ">>": _bitwise(lambda one, other: to_int32(one) >> (to_int32(other) & 31)),
        ">>>": _bitwise(lambda one, other: to_uint32(one) >> (to_int32(other) & 31)),
        "||": concatenate,
        "AND": both,
        "OR": either,
        "??": coalesce,
    },
    choose=choose,
    between=between,
    is_in=is_in,
    like=like,
    compile_in=compile_in,
    compile_like=compile_like,
    order_key=order_key,
    canonical=canonical,
)
