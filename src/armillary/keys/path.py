"""Paths of partition keys and unique keys: `/a/b`, `/"a-b"/c`.

    path    = 1*( "/" name )
    name    = 1*plain | quote text quote       quote is " or '; inside, a backslash before a quote escapes it

A plain name has no slash, quote, wildcard, bracket, backslash, white space or control character. Paths lead through
objects only: an array has no names. A path keeps its text, since clients compare what they sent with what they get.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from armillary.errors import Kind, Refusal
from armillary.values import KeyValue, value_at

_NAME: Final = re.compile(
    r"""/(?:([^/"'*?\[\]\\\s\x00-\x1f]+)|"((?:[^"\\]|\\.)+)"|'((?:[^'\\]|\\.)+)')(?=/|$)""", re.DOTALL
)
_ESCAPE: Final = re.compile(r"""\\(["'\\])""")
_REASON: Final = (
    "Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character"
)


class KeyPath(NamedTuple):
    """One path: as it was written, and the property names it leads through."""

    text: str
    names: tuple[str, ...]


def parse_path(text: str, what: str = "partition key definition", reason: str = _REASON) -> KeyPath:
    """Read a path; what is no path is refused with the service's own words.

    >>> parse_path('/a/"b-c"').names
    ('a', 'b-c')
    """
    names, at = [], 0
    while at < len(text):
        found = _NAME.match(text, at)
        if not found:
            break
        plain, double, single = found.groups()
        names.append(plain or _ESCAPE.sub(r"\1", double or single))
        at = found.end()
    if not names or at < len(text):
        raise Refusal(Kind.BAD_DEFINITION, what=what, reason=reason)
    return KeyPath(text, tuple(names))


def extract(item: Mapping[str, object], path: KeyPath) -> KeyValue:
    """The key value of an item at a path; undefined when it is missing or no scalar."""
    return value_at(item, path.names)
