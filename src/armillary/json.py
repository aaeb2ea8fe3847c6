"""JSON: the one parser and the one writer of the product, and the normal form that items are kept in.

The normal form has no white space, no duplicate names (the last value wins, at the place of the first), characters
unescaped in UTF-8 (but `"`, `\\` and control characters) and numbers as doubles:

    1   1.0   1e2   -0    0.1000   9007199254740993   18446744073709551616   1e21    1e-7   is sent
    1   1.0   100.0 -0.0  0.1      9007199254740992   1.8446744073709552e+19 1e+21   1e-7   is kept and comes back

A number keeps whether it was written as a whole number, since typed clients read 1 and 1.0 into different types; its
value is the nearest double, in the shortest spelling that reads back as it. Whole numbers beyond 64 bits are spelled
with an exponent.

Refused: what is not UTF-8 or begins with a byte-order mark, lone surrogates, NaN, Infinity and numbers that round to
it, more than 128 objects and arrays inside each other, text after the end, and nothing at all.

The laws: what `dump` wrote, `load` and `parse` read as one value, and it is written as the same bytes again. `parse` is
for what others sent; `load` is the same parser without the checks, for what is in normal form already.
"""

import re
from typing import Final

import orjson

from armillary.errors import Kind, Refusal

MOST_LEVELS: Final = 128

load = orjson.loads
dump = orjson.dumps

_LARGEST: Final = 1 << 53
_UNSIGNED_64: Final = 1 << 64
_NODES: Final = frozenset((dict, list))
_WHOLE_OR_NODES: Final = frozenset((int, dict, list))
# Digits become zeros and the rest spaces, so that one search finds a number that may pass 2^53. It finds long fractions
# and texts of digits as well; then the values are looked at.
_DIGITS: Final = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG: Final = b"0" * 16
_MINUS_ZERO: Final = re.compile(rb"-0(?=[,\]}\s]|$)")  # also finds 1e-0 and texts: a reason to look, no more
_TEXT_OR_MINUS_ZERO: Final = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|(?<![eE])-0(?=[,\]}\s]|$)', re.DOTALL)


def parse(body: bytes) -> object:
    """The value of a JSON text that somebody sent; refused when it is no JSON or has no normal form."""
    try:
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(Kind.BAD_JSON, reason=str(error)) from None
    if _MINUS_ZERO.search(body):
        value = orjson.loads(_TEXT_OR_MINUS_ZERO.sub(_spell_zero, body))  # the parser drops the sign of a whole zero
    if body.count(b"[") + body.count(b"{") > MOST_LEVELS and _is_deep(value):
        raise Refusal(Kind.BAD_JSON, reason=f"more than {MOST_LEVELS} objects and arrays inside each other")
    if _LONG in body.translate(_DIGITS):
        return _round_numbers(value)
    return value


def parse_object(body: bytes) -> dict[str, object]:
    """The same for a body that must be an object."""
    value = parse(body)
    if not isinstance(value, dict):
        raise Refusal(Kind.BAD_JSON, reason="an object is expected")
    return value


def _spell_zero(found: re.Match[bytes]) -> bytes:
    return found[1] or b"-0.0"


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(MOST_LEVELS):
        inner: list[object] = []
        for node in level:
            if isinstance(node, dict):
                inner += node.values()
            elif isinstance(node, list):
                inner += node
        level = [node for node in inner if type(node) in _NODES]
        if not level:
            return False
    return True


def _round_numbers(value: object) -> object:
    if isinstance(value, dict):
        for name, child in value.items():
            if type(child) in _WHOLE_OR_NODES:
                value[name] = _round_numbers(child)
    elif isinstance(value, list):
        for at, child in enumerate(value):
            if type(child) in _WHOLE_OR_NODES:
                value[at] = _round_numbers(child)
    elif isinstance(value, int) and abs(value) > _LARGEST:
        rounded = float(value)
        whole = int(rounded)
        return whole if whole < _UNSIGNED_64 else rounded
    return value
