"""A text to tokens."""

import re
from typing import Any, Final, NamedTuple

from tests.naive.values import QueryError

TOKEN: Final = re.compile(
    r"""
      (?P<blank> \s+ | --[^\n]* )
    | (?P<number> 0[xX][0-9a-fA-F]+ | (?: [0-9]+ (?:\.[0-9]*)? | \.[0-9]+ ) (?:[eE][+-]?[0-9]+)? )
    | (?P<word> [^\W\d]\w* )
    | (?P<parameter> @\w+ )
    | (?P<string> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
    | (?P<sign> >>> | << | >> | <= | >= | != | <> | \|\| | \?\? | [-+*/%&|^~=<>().,:?\[\]{}] )
    """,
    re.VERBOSE | re.DOTALL,
)
ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"} | {same: same for same in "'\"\\/"}


class Token(NamedTuple):
    """A piece of the text: its kind, what it says, and its value when it is a literal."""

    kind: str
    text: str
    value: Any = None


def read_tokens(text: str) -> list[Token]:
    """All tokens, and one of kind "end"."""
    tokens: list[Token] = []
    place = 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            raise QueryError("syntax", f"at {text[place : place + 20]!r}")
        place = found.end()
        if found.lastgroup != "blank":
            tokens.append(_token(str(found.lastgroup), found.group()))
        if found.lastgroup == "number" and re.match(r"\w", text[place : place + 1]):
            raise QueryError("syntax", f"a number runs into {text[place : place + 20]!r}")
    return [*tokens, Token("end", "")]


def _token(kind: str, text: str) -> Token:
    match kind:
        case "number":
            value = float(int(text, 16)) if text[:2] in ("0x", "0X") else float(text)
            if value == float("inf"):
                raise QueryError("syntax", f"{text} is no double")
            return Token(kind, text, value)
        case "string":
            plain = ESCAPE.sub(_unescape, text[1:-1])
            # Two escapes may be the halves of one character.
            return Token(kind, text, plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))
    return Token(kind, text)


def _unescape(found: re.Match[str]) -> str:
    letter = found.group(1)
    if len(letter) == 5:
        return chr(int(letter[1:], 16))
    if letter not in ESCAPED:
        raise QueryError("syntax", f"unknown escape \\{letter}")
    return ESCAPED[letter]
