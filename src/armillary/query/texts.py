"""Strings as the query language counts and sorts them: by UTF-16 units, where Python counts characters.

    "a😀"    2 characters of Python, 3 units: a, D83D, DE00

The law: positions and lengths are units, and the order of strings is that of their units; a half of a pair never leaves
(a cut through a pair leaves U+FFFD in its place), so every string can be written as UTF-8. Upper and lower case map one
character to one, whatever the language; what would become two characters stays as it is.
"""

import re
from functools import lru_cache
from typing import Final

from armillary.values import UNDEFINED, Undefined

LONGEST: Final = 4 * 1024 * 1024  # what is longer than any answer has no value: nobody could be given it
_PAIRED: Final = re.compile("[\U00010000-\U0010ffff]")


def bounded(text: str) -> str | Undefined:
    """The text, or undefined where it is longer than any answer."""
    return text if len(text) <= LONGEST else UNDEFINED


def spread(text: str) -> str:
    """The text with its pairs as two halves each: what sorts by units. It is for sorting and leaves nowhere."""
    if text.isascii() or not _PAIRED.search(text):
        return text
    return _PAIRED.sub(_halve, text)


def count_units(text: str) -> int:
    return len(text) if text.isascii() else len(text) + len(_PAIRED.findall(text))


def cut(text: str, start: int, stop: int) -> str:
    """The units from `start` up to `stop`; both may pass the end.

    >>> cut("a😀b", 3, 4), cut("a😀b", 0, 2)
    ('b', 'a�')
    """
    if text.isascii() or not _PAIRED.search(text):
        return text[start:stop]
    return text.encode("utf-16-le")[2 * start : 2 * stop].decode("utf-16-le", "replace")


def find_first(text: str, part: str, start: int) -> int:
    """Where `part` first begins, from the unit `start` on; -1 where it does not."""
    return _count_before(text, text.find(part, _characters(text, start)))


def find_last(text: str, part: str, last: int) -> int:
    """Where the last `part` begins that ends at the unit `last` or before; -1 where there is none."""
    return _count_before(text, text.rfind(part, 0, _whole_characters(text, last + 1)))


def raise_case(text: str) -> str:
    return text.upper() if text.isascii() else "".join(map(_raise_one, text))


def lower_case(text: str) -> str:
    return text.lower() if text.isascii() else "".join(map(_lower_one, text))


def _halve(found: re.Match[str]) -> str:
    code = ord(found[0]) - 0x10000
    return chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))


def _characters(text: str, units: int) -> int:
    """How many characters begin within the first `units`."""
    return units if text.isascii() or not _PAIRED.search(text) else len(cut(text, 0, units))


def _whole_characters(text: str, units: int) -> int:
    """How many characters end within the first `units`."""
    if text.isascii() or not _PAIRED.search(text):
        return units
    return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))


def _count_before(text: str, at: int) -> int:
    return at if at <= 0 or text.isascii() else count_units(text[:at])


@lru_cache(4096)
def _raise_one(character: str) -> str:
    raised = character.upper()
    return raised if len(raised) == 1 else character


@lru_cache(4096)
def _lower_one(character: str) -> str:
    lowered = character.lower()
    return lowered if len(lowered) == 1 else character
