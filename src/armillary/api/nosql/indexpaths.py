"""Paths of an indexing policy, from text to names.

    path      = "/*" | "/"                      everything; the second is how it was written once
              | 1*step ( "/?" | "/*" )          the scalar there, or all that is below
              | 1*step "/[]" tuple "/?"         several properties of one member of an array
    step      = "/" ( label | "[]" )            a property, or every member of an array
    tuple     = "/{" label *( "/" label ) *( "," label *( "/" label ) ) "}"
    property  = 1*( "/" label )                 in composite, vector and full-text indexes: no end, no arrays
    label     = 1*( letter | digit | "_" ) | quote text quote

A label with any other character stands in quotes, " or ', inside which a backslash escapes. Two paths are equal when
they lead to the same place, whatever their quotes.
"""

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from armillary.api.nosql.shapes import Part
from armillary.keys import KeyPath

Step = str | None
"""A property name, or None for every member of an array."""

_LABEL: Final = r"""\w+|"(?:[^"\\]|\\.)+"|'(?:[^'\\]|\\.)+'"""
_STEP: Final = re.compile(rf"/({_LABEL}|\[\])", re.DOTALL)
_TUPLE: Final = re.compile(r"/\{(.*)\}/\?", re.DOTALL)
_MEMBER: Final = re.compile(rf"\s*((?:{_LABEL})(?:/(?:{_LABEL}))*)\s*(?:,(?=.)|$)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ROOTS: Final = ("/*", "/")


class End(Enum):
    """What a path takes in at the place it leads to."""

    SCALAR = "/?"
    EVERYTHING = "/*"


@dataclass(frozen=True, slots=True)
class IndexPath:
    """One included or excluded path; a tuple path has members, each relative to the steps."""

    text: str = field(compare=False)
    steps: tuple[Step, ...]
    end: End
    members: tuple[tuple[str, ...], ...] = ()


ROOT: Final = IndexPath("/*", (), End.EVERYTHING)
ETAG: Final = IndexPath('/"_etag"/?', ("_etag",), End.SCALAR)


def parse_index_path(part: Part) -> IndexPath:
    """An included, excluded or spatial path; what is none is refused with the place where it fails."""
    text = part.text()
    if text in _ROOTS:
        return ROOT
    steps, at = _take_steps(text)
    rest = text[at:]
    if steps and rest in (End.SCALAR.value, End.EVERYTHING.value):
        return IndexPath(text, steps, End(rest))
    found = _TUPLE.fullmatch(rest)
    members = _take_members(found[1]) if found and steps and steps[-1] is None else ()
    if not members:
        raise refuse_path(part, at)
    return IndexPath(text, steps, End.SCALAR, members)


def parse_property(part: Part) -> KeyPath:
    """A path without an end, as a composite index has it."""
    path = find_property(part)
    if path is None:
        raise refuse_path(part, _take_steps(part.text())[1])
    return path


def find_property(part: Part) -> KeyPath | None:
    """The same, None when it is no such path."""
    text = part.text()
    steps, at = _take_steps(text)
    names = tuple(step for step in steps if step is not None)
    return KeyPath(text, names) if names and at == len(text) and len(names) == len(steps) else None


def refuse_path(part: Part, at: int) -> Exception:
    return part.refuse(
        f"The indexing path '{part.value}' could not be accepted, failed near position '{at}'. Please ensure that the "
        "path is a valid path. Common errors include invalid characters or absence of quotes around labels."
    )


def _take_steps(text: str) -> tuple[tuple[Step, ...], int]:
    """The steps from the start, and where they stop."""
    steps: list[Step] = []
    at = 0
    while found := _STEP.match(text, at):
        if text[found.end() : found.end() + 1] not in ("", "/"):
            return tuple(steps), found.end()
        steps.append(None if found[1] == "[]" else _read_label(found[1]))
        at = found.end()
    return tuple(steps), at


def _take_members(text: str) -> tuple[tuple[str, ...], ...]:
    """The members of a tuple; none when one of them is no path."""
    members, at = [], 0
    while at < len(text):
        found = _MEMBER.match(text, at)
        if not found:
            return ()
        members.append(tuple(_read_label(label) for label in re.findall(_LABEL, found[1], re.DOTALL)))
        at = found.end()
    return tuple(members)


def _read_label(label: str) -> str:
    return _ESCAPE.sub(r"\1", label[1:-1]) if label[0] in "\"'" else label
