"""Key values as text, and several texts as one: what synthetic keys are written with.

Numbers are spelled as JavaScript spells them (2018, 0.5, 1e-7), so that every language can; whole numbers of 2^53 and
beyond are refused, since not every language tells them from their neighbours. Text is taken exactly: case and
composition count, and half a pair of UTF-16 is refused.

    types     unified   2018, 2018.0 and "2018" are one, true and "true" are one; null is as good as missing
              apart     all are told apart: a text that looks like something else gets a leading quote

    missing   refuse    the key cannot be made
              drop      the part is left out; only at the end
              mark      the part is a mark, which looks like a text; in `unified` no value may be written like it

    mode      readable  parts joined by the delimiter: abc-123-2018. Every part after the first must be free of it, so
                        that the key is read back from the right; fixed widths (dates) are free of that rule
              escaped   the delimiter and the backslash inside a part get a backslash: a\\-b-c
              length    each part after its length in bytes: 3:a-b|1:c

The law: under one set of rules two tuples have one key only when they are one tuple (or were unified on purpose). What
could be read in two ways is refused, in words that say what to do.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final, Literal, NamedTuple, TypeAlias

from armillary.errors import Kind, Refusal
from armillary.values import UNDEFINED, KeyValue

Types: TypeAlias = Literal["unified", "apart"]
Missing: TypeAlias = Literal["refuse", "drop", "mark"]
Mode: TypeAlias = Literal["readable", "escaped", "length"]

TYPES: Final = ("unified", "apart")
MISSING: Final = ("refuse", "drop", "mark")
MODES: Final = ("readable", "escaped", "length")

_LARGEST: Final = (1 << 53) - 1
_SMALLEST_PLAIN: Final = 1e-6
# A text that begins like this reads like another type, or like a text with the quote that tells it apart.
_LOOKS_TYPED: Final = re.compile(r'"|-?[0-9]|(?:true|false|null)\Z')
_WHAT: Final = "synthetic key"


class Rules(NamedTuple):
    """How values become text: see the module."""

    types: Types = "unified"
    missing: Missing = "refuse"
    mark: str = "undefined"


def check_rules(rules: Rules, mode: Mode, delimiter: str) -> None:
    """Hold rules against each other: a mark that reads like a value would be two things."""
    for given, known in ((mode, MODES), (rules.types, TYPES), (rules.missing, MISSING)):
        if given not in known:
            raise refuse_definition(f"{given!r} is none of {', '.join(known)}")
    check_delimiter(delimiter, "\\")
    _check_mark(rules.mark)
    if rules.missing == "mark" and mode == "readable" and delimiter in rules.mark:
        raise refuse_definition(f"the mark {rules.mark!r} holds the delimiter {delimiter!r}")


def check_delimiter(delimiter: object, banned: str) -> None:
    """Hold a delimiter against what it must not be."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isprintable() or delimiter in banned:
        raise refuse_definition(f"the delimiter is one printable character and none of {banned}, not {delimiter!r}")


def _check_mark(mark: object) -> None:
    if not isinstance(mark, str) or not mark or not mark.isprintable() or _LOOKS_TYPED.match(mark):
        raise refuse_definition(f"the mark {mark!r} is no word that only a missing value is written as")


def spell_value(value: KeyValue, rules: Rules, name: str) -> str | None:
    """One value as text, or None when it is dropped; `name` says in a refusal which source it was."""
    apart = rules.types == "apart"
    if value is UNDEFINED or (value is None and not apart):
        return _spell_missing(rules, name)
    if isinstance(value, str):
        return _spell_text(value, rules, name)
    if value is None or isinstance(value, bool):
        return {None: "null", False: "false", True: "true"}[value]
    text = spell_number(value, name)
    if not apart:
        return text
    return "-0" if text == "0" and str(value).startswith("-") else text


def spell_number(value: float, name: str) -> str:
    """A number in its shortest spelling.

    >>> [spell_number(number, "n") for number in (2018.0, 0.5, 1e-7, -0.0)]
    ['2018', '0.5', '1e-7', '0']
    """
    if not abs(value) <= _LARGEST:
        reason = "is not finite" if value != value else "is 2^53 or beyond and not the same in all languages"
        raise refuse(f"the number {value} of {name!r} {reason}: write it as a text")
    if value == int(value):
        return str(int(value))
    digits = Decimal(repr(float(value)))
    if abs(value) >= _SMALLEST_PLAIN:
        return f"{digits:f}"
    _, places, _ = digits.as_tuple()
    head = str(places[0]) + ("." + "".join(map(str, places[1:])) if len(places) > 1 else "")
    return f"{'-' if value < 0 else ''}{head}e{digits.adjusted()}"


def join_texts(texts: Sequence[str], fixed: Sequence[bool], mode: Mode, delimiter: str) -> str:
    """One text of several; `fixed` says which have a width that never changes.

    >>> join_texts(["abc-123", "2018"], [False, False], "readable", "-")
    'abc-123-2018'
    """
    if mode == "length":
        return delimiter.join(f"{len(text.encode())}:{text}" for text in texts)
    if mode == "escaped":
        return delimiter.join(text.replace("\\", "\\\\").replace(delimiter, "\\" + delimiter) for text in texts)
    for text, width in zip(texts[1:], fixed[1:], strict=True):
        if delimiter in text and not width:
            raise refuse_delimiter(text, delimiter)
    return delimiter.join(texts)


def refuse(reason: str) -> Refusal:
    """A refusal to make a key."""
    return Refusal(Kind.BAD_KEY, reason=reason)


def refuse_definition(reason: str) -> Refusal:
    """A refusal of the definition of a key."""
    return Refusal(Kind.BAD_DEFINITION, what=_WHAT, reason=reason)


def refuse_delimiter(text: str, delimiter: str) -> Refusal:
    """The refusal of a text that would make a key readable in two ways."""
    return refuse(
        f"{text!r} holds the delimiter {delimiter!r}, and the key could be read in two ways: "
        "use the mode 'escaped' or 'length', which take any value, or another delimiter"
    )


def _spell_missing(rules: Rules, name: str) -> str | None:
    if rules.missing == "refuse":
        raise refuse(f"the item has no value at {name!r}: set missing to 'mark' or 'drop' if that is meant")
    return None if rules.missing == "drop" else rules.mark


def _spell_text(value: str, rules: Rules, name: str) -> str:
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise refuse(f"the value of {name!r} holds half a pair of UTF-16 and is no text")
    is_mark = rules.missing == "mark" and value == rules.mark
    if rules.types == "apart":
        return '"' + value if is_mark or _LOOKS_TYPED.match(value) else value
    if is_mark:
        raise refuse(f"the value {value!r} of {name!r} is the mark for a missing value: choose another mark")
    return value
