"""What the operations of a database come back with: what was found or done, where, at which LSN, and for how much.

`drawn` says whether an operation drew on the units of the minute; None where its container has none.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from armillary.store.catalog import Range
from armillary.store.feed import Changes
from armillary.store.items import Item, Written
from armillary.store.reading import ItemPage

# The LSN that a caller has seen of a range.
Session: TypeAlias = Callable[[Range], int]


def NO_SESSION(_: Range) -> int:  # noqa: N802 - a value to its users
    """The session of a caller who has seen nothing."""
    return 0


class Read(NamedTuple):
    """An item that was found, the LSN of its partition, and the charge."""

    item: Item
    place: Range
    lsn: int
    charge: float
    drawn: bool | None


class Wrote(NamedTuple):
    """A write that was applied."""

    written: Written
    place: Range
    lsn: int
    charge: float
    drawn: bool | None


class Feed(NamedTuple):
    """A page of items; `page.next` is empty at the end."""

    page: ItemPage
    place: Range
    lsn: int
    charge: float
    drawn: bool | None


class ChangeFeed(NamedTuple):
    """A page of changes, and the LSN of their partition."""

    changes: Changes
    place: Range
    lsn: int
    charge: float
    drawn: bool | None
