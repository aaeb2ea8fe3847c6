"""Functions over strings; positions and lengths are UTF-16 units (`query.texts`).

What is no string where one is expected makes the answer undefined, and so does a number that is not whole where one is
counted. White space is Unicode's.
"""

from collections.abc import Callable
from typing import Any, Final

from armillary.query.functions.function import UNBOUNDED, Function
from armillary.query.numbers import NUMBERS, whole
from armillary.query.texts import LONGEST, bounded, count_units, cut, find_first, find_last, lower_case, raise_case
from armillary.values import UNDEFINED

LONGEST_COPY: Final = 10_000
_WIDE_SPACES: Final = "".join(map(chr, range(0x2000, 0x200B)))
_SPACE: Final = f"\t\n\v\f\r \x85\xa0\u1680{_WIDE_SPACES}\u2028\u2029\u202f\u205f\u3000"
_TEXTS: Final = frozenset((str,))


def _textual(compute: Callable[..., object]) -> Callable[..., object]:
    """The function over strings only."""

    def call(*texts: Any) -> object:
        return compute(*texts) if _TEXTS.issuperset(map(type, texts)) else UNDEFINED

    return call


def _trimmer(trim: Callable[[str, str], str]) -> Callable[..., object]:
    def call(text: str, characters: str = _SPACE) -> str:
        return trim(text, characters)

    return _textual(call)


def _join(*texts: str) -> object:
    return bounded("".join(texts))


def _reverse(text: str) -> str:
    return text[::-1]  # characters, not units: a pair stays one


def _replace(text: str, part: str, other: str) -> object:
    if not part or len(text) + text.count(part) * (len(other) - len(part)) > LONGEST:
        return UNDEFINED
    return text.replace(part, other)


def _split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else [text]


def join_strings(values: object, separator: object) -> object:
    """StringJoin."""
    if not isinstance(values, list) or not isinstance(separator, str) or not _TEXTS.issuperset(map(type, values)):
        return UNDEFINED
    if sum(map(len, values)) + len(separator) * len(values) > LONGEST:
        return UNDEFINED
    return separator.join(values)


def take_part(text: object, start: object, length: object) -> object:
    """SUBSTRING: empty where the start is outside the string or the length is not positive."""
    if not isinstance(text, str) or type(start) not in NUMBERS or type(length) not in NUMBERS:
        return UNDEFINED
    if not text:
        return ""
    first, count = whole(start), whole(length)
    if first is None or count is None:
        return UNDEFINED
    return cut(text, first, first + count) if first >= 0 and count > 0 else ""


def take_left(text: object, length: object) -> object:
    return take_part(text, 0, length)


def take_right(text: object, length: object) -> object:
    """RIGHT."""
    count = whole(length)
    if not isinstance(text, str) or count is None:
        return UNDEFINED
    return take_part(text, max(0, count_units(text) - count), count)


def index_of(text: object, part: object, start: object = 0) -> object:
    """INDEX_OF: from a position on, where a negative one is the beginning."""
    first = whole(start)
    if not isinstance(text, str) or not isinstance(part, str) or first is None:
        return UNDEFINED
    return find_first(text, part, max(0, first))


def last_index_of(text: object, part: object, *last: object) -> object:
    """LASTINDEXOF: what ends at the given position or before it."""
    if not isinstance(text, str) or not isinstance(part, str):
        return UNDEFINED
    limit = whole(last[0]) if last else count_units(text)
    return UNDEFINED if limit is None else find_last(text, part, limit) if limit >= 0 else -1


def replicate(text: object, count: object) -> object:
    """REPLICATE: undefined below zero and where the result would be too long; a fraction is cut off."""
    if not isinstance(text, str) or not isinstance(count, int | float) or isinstance(count, bool) or count < 0:
        return UNDEFINED
    return text * int(count) if count_units(text) * int(count) <= LONGEST_COPY else UNDEFINED


STRINGS: Final = (
    Function("CONCAT", 2, UNBOUNDED, _textual(_join)),
    Function("INDEX_OF", 2, 3, index_of),
    Function("LASTINDEXOF", 2, 3, last_index_of),
    Function("LEFT", 2, 2, take_left),
    Function("LENGTH", 1, 1, _textual(count_units)),
    Function("LOWER", 1, 1, _textual(lower_case)),
    Function("LTRIM", 1, 2, _trimmer(str.lstrip)),
    Function("REPLACE", 3, 3, _textual(_replace)),
    Function("REPLICATE", 2, 2, replicate),
    Function("REVERSE", 1, 1, _textual(_reverse)),
    Function("RIGHT", 2, 2, take_right),
    Function("RTRIM", 1, 2, _trimmer(str.rstrip)),
    Function("StringJoin", 2, 2, join_strings),
    Function("StringSplit", 2, 2, _textual(_split)),
    Function("SUBSTRING", 3, 3, take_part),
    Function("TRIM", 1, 2, _trimmer(str.strip)),
    Function("UPPER", 1, 1, _textual(raise_case)),
)
