"""The partition key in a header: a JSON array of key values, `x-ms-documentdb-partitionkey`.

    []        no value at all: items of a container that was made without a key
    [{}]      undefined: the item has nothing at the path
    [null]    JSON null
    [""]      the empty text
    ["a", 5]  one value for each level of a hierarchical key

These are five different keys. Whether a number of values fits a container, its definition says (`keys`).
"""

import re
from typing import Final

from armillary.errors import Kind, Refusal
from armillary.json import dump, parse
from armillary.values import UNDEFINED, KeyValue

HEADER: Final = "x-ms-documentdb-partitionkey"

_PLAIN_TEXT: Final = re.compile(rb'\["([^"\\\x00-\x1f\x80-\xff]*)"\]')
_SCALARS: Final = (str, int, float)


def parse_key(header: bytes) -> tuple[KeyValue, ...]:
    """The key values of a header; refused when it is no array of scalars and `{}`.

    >>> parse_key(b'["a",5,{},null]')
    ('a', 5, undefined, None)
    """
    plain = _PLAIN_TEXT.fullmatch(header)
    if plain:  # nearly every header, and nothing in it that a parser would change
        return (plain[1].decode(),)
    try:
        values = parse(header)
    except Refusal as refused:
        raise Refusal(Kind.BAD_HEADER, header=HEADER, reason=refused.context["reason"]) from None
    if not isinstance(values, list):
        raise Refusal(Kind.BAD_HEADER, header=HEADER, reason="an array is expected")
    return tuple([_read_value(value) for value in values])


def dump_key(values: tuple[KeyValue, ...]) -> bytes:
    """The header of key values."""
    return dump([{} if value is UNDEFINED else value for value in values])


def _read_value(value: object) -> KeyValue:
    if value is None or isinstance(value, _SCALARS):
        return value
    if value == {}:
        return UNDEFINED
    raise Refusal(Kind.BAD_HEADER, header=HEADER, reason="a value must be a string, a number, a boolean, null or {}")
