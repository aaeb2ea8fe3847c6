"""Patterns matched in time linear in the text: regular expressions, and LIKE.

The law: no backtracking, whatever the pattern. Regular expressions run on RE2 (this is its only importer): back
references and look-around do not exist there, and a pattern that has them is no pattern. LIKE is cut at its `%`: pieces
without other marks are found one after the other, the leftmost first (it leaves the most room for the rest, so nothing
is tried twice); a pattern with other marks is given to RE2 as a whole.

    %       any characters, none too        [a-f]   one of these       ESCAPE '!'   the character after ! is itself
    _       one character                   [^a-f]  none of these      [%]          a mark in brackets is itself, too
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import re2

Matcher: TypeAlias = Callable[[str], bool]

_KEPT: Final = 512
_MODIFIERS: Final = frozenset("msix")
# What the modifier x keeps (escaped characters, sets) and what it drops (white space, comments).
_SPACED: Final = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*+\])|\s+|#[^\n]*+", re.DOTALL)
_RUN: Final = ".*"
_ANY: Final = "."
_NOTHING: Final = r"[^\x{0}-\x{10FFFF}]"
_MARKS: Final = {"%": _RUN, "_": _ANY}
_SET: Final = re.compile(r"\[(\^?)([^\]]*+)\]")


@lru_cache(_KEPT)
def compile_expression(pattern: str, modifiers: str = "") -> Matcher | None:
    """What says whether a text contains the regular expression; None where this is none."""
    if not _MODIFIERS.issuperset(modifiers):
        return None
    if "x" in modifiers:
        pattern = _SPACED.sub(r"\1", pattern)
    flags = "".join(flag for flag in "ims" if flag in modifiers)
    return _compile(f"(?{flags}){pattern}" if flags else pattern)


@lru_cache(_KEPT)
def compile_like(pattern: str, escape: str | None = None) -> Matcher | None:
    """What says whether a whole text is like the pattern; None where the escape is not one character."""
    if escape is not None and len(escape) != 1:
        return None
    pieces = _read_like(pattern, escape)
    if any(piece.special and piece.text != _RUN for piece in pieces):
        spelled = "".join(piece.text if piece.special else re2.escape(piece.text) for piece in pieces)
        return _compile(rf"(?s)\A{spelled}\z")
    texts = [""]
    for piece in pieces:
        if piece.special:
            texts.append("")
        else:
            texts[-1] += piece.text
    return _match_texts(texts)


class _Piece(NamedTuple):
    """A piece of a LIKE pattern: one character, or the regular expression that a mark stands for."""

    text: str
    special: bool


def _read_like(pattern: str, escape: str | None) -> list[_Piece]:
    pieces, at = [], 0
    while at < len(pattern):
        character = pattern[at]
        found = _SET.match(pattern, at) if character == "[" else None
        if character == escape and at + 1 < len(pattern):
            at += 1
            pieces.append(_Piece(pattern[at], False))
        elif found:
            at = found.end() - 1
            pieces.append(_Piece(_spell_set(found[1], found[2]), True))
        elif character in _MARKS:
            pieces.append(_Piece(_MARKS[character], True))
        else:
            pieces.append(_Piece(character, False))
        at += 1
    return pieces


def _spell_set(mark: str, members: str) -> str:
    """A set of LIKE as one of RE2; a range whose ends are the wrong way round holds nothing, as in SQL."""
    ranges, at = [], 0
    while at < len(members):
        stop = at + 2 if members[at + 1 : at + 2] == "-" and at + 2 < len(members) else at
        if members[at] <= members[stop]:
            ranges.append(rf"\x{{{ord(members[at]):x}}}-\x{{{ord(members[stop]):x}}}")
        at = stop + 1
    if not ranges:
        return _ANY if mark else _NOTHING
    return f"[{mark}{''.join(ranges)}]"


def _match_texts(texts: list[str]) -> Matcher:
    """The matcher of fixed texts with anything between them."""
    first, *middle, last = texts if len(texts) > 1 else (texts[0], texts[0])
    if len(texts) == 1:
        return first.__eq__
    room = len(first) + len(last)
    middle = [text for text in middle if text]

    def matches(text: str) -> bool:
        if len(text) < room or not text.startswith(first) or not text.endswith(last):
            return False
        at, stop = len(first), len(text) - len(last)
        for part in middle:
            at = text.find(part, at, stop)
            if at < 0:
                return False
            at += len(part)
        return True

    return matches


def _compile(expression: str) -> Matcher | None:
    try:
        found = re2.compile(expression, _OPTIONS)
    except re2.error:
        return None
    search = found.search
    return lambda text: search(text) is not None


_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
