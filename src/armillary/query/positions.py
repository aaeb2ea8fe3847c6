"""Where a page ended: what the next one needs to know, and nothing of where the rows were then.

    a stream      what is still to be read, and how many values of the item there were given
    an order      the rank of the last row given: the values of its keys and its identity
    without one   the digest of the last value given
    groups        what is still to be read, and the folds so far

and in all of them what OFFSET has still to skip and LIMIT to give. None of them is an offset into an answer: items may
come, change and go, partitions may split, pages may be of any size.

The law: `read_position(write_position(p))` is p; what is no position is refused, and never something else than refused.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any, Final

from armillary.errors import Kind, Refusal
from armillary.json import dump, load
from armillary.keys import EpkRange
from armillary.query.source import Progress

_MARK: Final = "Q1"
_MOST: Final = 1 << 33


@dataclass(frozen=True, slots=True)
class Cut:
    """What is still to be skipped, and to be given; None without a bound."""

    skip: int = 0
    left: int | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """The end of a page. Which fields mean something, the plan knows: it makes and reads them."""

    cut: Cut = Cut()
    pending: tuple[Progress, ...] | None = None
    identity: bytes | None = None
    taken: int = 0
    keys: tuple[list[object], ...] = ()
    groups: list[Any] | None = None


def write_position(position: Position) -> str:
    """The position as a text of letters, digits, `-` and `_`; it begins with a mark of its own."""
    pending = position.pending
    fields = [
        position.cut.skip,
        position.cut.left,
        None if pending is None else [[*found.range.texts, _to_text(found.after), found.taken] for found in pending],
        _to_text(position.identity),
        position.taken,
        list(position.keys),
        position.groups,
    ]
    return _MARK + urlsafe_b64encode(dump(fields)).decode().rstrip("=")


def read_position(text: str) -> Position:
    """The position that a text stands for."""
    try:
        return _read_fields(load(urlsafe_b64decode(_after_mark(text) + "==")))
    except (ValueError, TypeError, AttributeError):
        raise refuse_position() from None


def refuse_position() -> Refusal:
    """The refusal of what is no position of this query."""
    return Refusal(Kind.BAD_CONTINUATION, reason="it is none of this query")


def _after_mark(text: str) -> str:
    if not text.startswith(_MARK):
        raise ValueError(text)
    return text.removeprefix(_MARK)


def _read_fields(fields: Any) -> Position:
    skip, left, pending, identity, taken, keys, groups = fields
    if not _are_counts(skip, 0 if left is None else left, taken) or not _are_packed(keys):
        raise ValueError(fields)
    if not (groups is None or isinstance(groups, list)):
        raise ValueError(groups)
    parts = None if pending is None else tuple(_read_progress(*part) for part in pending)
    return Position(Cut(skip, left), parts, _to_bytes(identity), taken, tuple(keys), groups)


def _read_progress(start: str, stop: str, after: str | None, taken: int) -> Progress:
    if not _are_counts(taken):
        raise ValueError(taken)
    return Progress(EpkRange(bytes.fromhex(start), bytes.fromhex(stop)), _to_bytes(after), taken)


def _are_counts(*values: object) -> bool:
    return all(type(value) is int and 0 <= value < _MOST for value in values)


def _are_packed(keys: object) -> bool:
    return isinstance(keys, list) and all(isinstance(key, list) and len(key) < 2 for key in keys)


def _to_text(found: bytes | None) -> str | None:
    return None if found is None else urlsafe_b64encode(found).decode()


def _to_bytes(found: str | None) -> bytes | None:
    return None if found is None else urlsafe_b64decode(found)
