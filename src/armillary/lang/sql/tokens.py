"""The tokens of a query text: one expression finds them all.

A token is (kind, value, start, end). The kind of a keyword is its upper-case spelling, of an operator the operator
itself; the others are `NAME`, `NUMBER`, `STRING`, `PARAMETER`, `PLACEHOLDER` and `END`. The value of a number or a text
is what it stands for, of everything else how it was written. White space and `--` comments are no tokens.

Keywords are case-insensitive but for `true`, `false`, `null`, `undefined` and `udf`, which are lower-case. A keyword is
no name, not even after a dot (`c["order"]` is how its property is reached), but for `ALL`, `FIRST`, `LAST` and `RANK`,
which are names wherever no keyword fits; the parser decides.
"""

import re
from typing import Final, TypeAlias

from armillary.lang.sql.errors import refuse_syntax

Number: TypeAlias = int | float
Token: TypeAlias = tuple[str, str | Number, int, int]  # a plain tuple: the parser takes thousands of them apart

KEYWORDS: Final = frozenset(
    (
        "ALL", "AND", "ARRAY", "AS", "ASC", "BETWEEN", "BY", "DESC", "DISTINCT", "ESCAPE", "EXISTS", "FIRST", "FROM",
        "GROUP", "IN", "JOIN", "LAST", "LIKE", "LIMIT", "NOT", "OFFSET", "OR", "ORDER", "RANK", "SELECT", "TOP",
        "VALUE", "WHERE",
    )
)  # fmt: skip
LITERALS: Final = frozenset(("true", "false", "null", "undefined", "udf"))
_KINDS: Final = {word: word for word in LITERALS} | {form: word for word in KEYWORDS for form in (word, word.lower())}

_TOKEN: Final = re.compile(
    r"""\s*+(?:--[^\n]*\s*)*+
    (?: (?P<word>[^\W\d]\w*)
      | (?P<op>\?\?|\|\||<=|>=|<>|!=|>>>|>>|<<|[-+*/%=<>()\[\]{},:?|&^~]|\.(?!\d))
      | (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+)(?!\w))
      | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*+"|'(?:[^'\\\x00-\x1f]|\\.)*+')
      | (?P<param>@\w+)
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORD, _OP, _NUMBER, _STRING, _PARAM = 1, 2, 3, 4, 5
_PLACEHOLDER: Final = re.compile(r"\{documentdb-[a-z0-9-]+\}")
_GAP: Final = re.compile(r"\s*+(?:--[^\n]*\s*)*+")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "'": "'", '"': '"', "\\": "\\", "/": "/"}
_LARGEST: Final = 1 << 53


def read_tokens(text: str) -> list[Token]:
    """All tokens of a text, `END` last; refused at the first character that begins none.

    >>> [token[0] for token in read_tokens("select c.a")]
    ['SELECT', 'NAME', '.', 'NAME', 'END']
    """
    tokens: list[Token] = []
    add, match, at = tokens.append, _TOKEN.match, 0
    while True:
        found = match(text, at)
        if found is None:
            raise _refuse(text, at)
        group = found.lastindex
        start, at = found.span(group or 0)
        if group == _WORD:
            word = text[start:at]
            kind = _KINDS.get(word)
            if kind is None:
                kind = upper if (upper := word.upper()) in KEYWORDS else "NAME"
            add((kind, word, start, at))
        elif group == _OP:
            op = text[start:at]
            if op == "{" and (placeholder := _PLACEHOLDER.match(text, start)):
                at = placeholder.end()
                add(("PLACEHOLDER", placeholder[0], start, at))
            else:
                add((op, op, start, at))
        elif group == _NUMBER:
            add(("NUMBER", _read_number(text, start, at), start, at))
        elif group == _STRING:
            add(("STRING", _read_string(text, start, at), start, at))
        elif group == _PARAM:
            add(("PARAMETER", text[start:at], start, at))
        else:
            add(("END", "", start, at))
            return tokens


def _read_number(text: str, start: int, end: int) -> Number:
    """A number as the nearest double, kept as a whole number where it is one: 1, 1.0 and 1e0 are one text."""
    digits = text[start:end]
    if digits[:2] in ("0x", "0X"):
        digits = str(int(digits, 16)) if end - start < 300 else "1e999"
    value = float(digits)
    if value - value != 0:  # infinite minus itself is no number
        raise refuse_syntax(text, start, end, "a number that a double can hold")
    return int(value) if value <= _LARGEST and value.is_integer() else value


def _read_string(text: str, start: int, end: int) -> str:
    content = text[start + 1 : end - 1]
    if "\\" not in content:
        return content

    def unescape(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        if escape not in _ESCAPED:
            at = start + 1 + found.start()
            raise refuse_syntax(text, at, at + len(found[0]), "one of \\' \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX")
        return _ESCAPED[escape]

    joined = _ESCAPE.sub(unescape, content)
    try:
        # Two escapes may be the halves of one character.
        return joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise refuse_syntax(text, start, end, "whole characters, and not half a pair") from None


def _refuse(text: str, at: int) -> Exception:
    gap = _GAP.match(text, at)
    at = gap.end() if gap else at
    expected = "a closing quote on the same line" if text[at] in "'\"" else "a token of the language"
    return refuse_syntax(text, at, at + 1, expected)
