"""Functions that ask what a string holds: contains, begins, ends, equals, matches.

The optional last argument of the first four leaves case aside where it is true. CONTAINS_ALL and CONTAINS_ANY are AND
and OR over CONTAINS, with their three values: `CONTAINS_ANY_CS("day", undefined, "d")` is true.
"""

import operator
from collections.abc import Callable
from functools import reduce
from typing import Final

from armillary.query.functions.function import UNBOUNDED, Function
from armillary.query.patterns import compile_expression
from armillary.query.semantics import both, either
from armillary.query.texts import raise_case
from armillary.values import UNDEFINED

Check = Callable[[str, str], bool]


def _checker(check: Check) -> Callable[..., object]:
    def call(text: object, part: object, without_case: object = False) -> object:
        if not isinstance(text, str) or not isinstance(part, str) or not isinstance(without_case, bool):
            return UNDEFINED
        return check(raise_case(text), raise_case(part)) if without_case else check(text, part)

    return call


contains = _checker(operator.contains)


def _gathering(gather: Callable[[object, object], object], without_case: bool) -> Callable[..., object]:
    def call(text: object, *parts: object) -> object:
        return reduce(gather, [contains(text, part, without_case) for part in parts])

    return call


def match_expression(text: object, pattern: object, modifiers: object = "") -> object:
    """RegexMatch: undefined where the pattern is no expression, or a modifier is none of m, s, i, x."""
    if not isinstance(text, str) or not isinstance(pattern, str) or not isinstance(modifiers, str):
        return UNDEFINED
    matches = compile_expression(pattern, modifiers)
    return UNDEFINED if matches is None else matches(text)


MATCHING: Final = (
    Function("CONTAINS", 2, 3, contains),
    Function("CONTAINS_ALL_CI", 2, UNBOUNDED, _gathering(both, True)),
    Function("CONTAINS_ALL_CS", 2, UNBOUNDED, _gathering(both, False)),
    Function("CONTAINS_ANY_CI", 2, UNBOUNDED, _gathering(either, True)),
    Function("CONTAINS_ANY_CS", 2, UNBOUNDED, _gathering(either, False)),
    Function("ENDSWITH", 2, 3, _checker(str.endswith)),
    Function("RegexMatch", 2, 3, match_expression),
    Function("STARTSWITH", 2, 3, _checker(str.startswith)),
    Function("STRINGEQUALS", 2, 3, _checker(operator.eq)),
)
