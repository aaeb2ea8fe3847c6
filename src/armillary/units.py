"""Request units: what was done, counted, times one price table.

The law: the same work has the same price, always; nothing here is measured, and nothing depends on what else is stored
or running. The anchors are the published ones: an item of 1 KB is read for 1 and written for 5 to 6, one of 100 KB for
10 and 50. A whole KB is counted when it is complete, so an item of 1 KB stays one with its system properties.
"""

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Final, NamedTuple

from armillary.errors import Fault, Kind, fault_of

KB: Final = 1024


class Price(NamedTuple):
    """The price of one counter, and what it counts."""

    units: float
    meaning: str


@dataclass(slots=True)
class Work:
    """Counters of one operation."""

    reads: int = 0
    read_kb: int = 0
    writes: int = 0
    write_kb: int = 0
    replaced: int = 0
    replaced_kb: int = 0
    visits: int = 0
    items: int = 0
    item_kb: int = 0
    looks: int = 0
    lists: int = 0
    changes: int = 0


PRICES: Final[dict[str, Price]] = {
    "reads": Price(1.0, "an item read by key and id, found or not, and a resource that is no item"),
    "read_kb": Price(1 / 11, "each whole KB of such an item after the first"),
    "writes": Price(5.25, "an item created, replaced or deleted"),
    "write_kb": Price(0.45, "each whole KB of such an item after the first"),
    "replaced": Price(2.625, "an old version that a replacement removes"),
    "replaced_kb": Price(0.225, "each whole KB of an old version after the first"),
    "visits": Price(1.0, "a partition that a feed looks into"),
    "items": Price(0.05, "an item that a feed or a query loads"),
    "item_kb": Price(1 / 11, "each whole KB that a feed or a query loads"),
    "looks": Price(2.3, "a partition that a query looks into, for each of its pages"),
    "lists": Price(2.0, "a page of databases, containers, offers or ranges"),
    "changes": Price(5.0, "a database, container or offer created, replaced or deleted"),
}

_NAMES: Final = tuple(field.name for field in fields(Work))


def price_work(work: Work, factor: float = 1.0) -> float:
    """The price of what was counted; `factor` is 2 for reads that a second replica confirms."""
    total: float = sum(getattr(work, name) * PRICES[name].units for name in _NAMES)
    return round(factor * total, 2)


@lru_cache(4096)
def _price_kb(more: int, factor: float) -> float:
    return round(factor * (PRICES["reads"].units + more * PRICES["read_kb"].units), 2)


def price_read(size: int, factor: float = 1.0) -> float:
    """A point read."""
    return _price_kb(_more_kb(size), factor)


def price_write(size: int, replaced: int = 0) -> float:
    """An item written, in place of an old version when that has a size; a deletion is a write of what goes."""
    work = Work(writes=1, write_kb=_more_kb(size))
    if replaced:
        work.replaced = 1
        work.replaced_kb = _more_kb(replaced)
    return price_work(work)


def price_feed(items: int, size: int, visits: int = 1, factor: float = 1.0) -> float:
    """One page of items, for which so many partitions were visited."""
    return price_work(Work(visits=visits, items=items, item_kb=size // KB), factor)


def price_query(items: int, size: int, factor: float = 1.0) -> float:
    """What one page of a query does in one partition."""
    return price_work(Work(looks=1, items=items, item_kb=size // KB), factor)


def price_refusal(kind: Kind) -> float:
    """A refused operation: the look-up that found out what the state forbids."""
    return PRICES["reads"].units if fault_of(kind) is Fault.STATE else 0.0


def _more_kb(size: int) -> int:
    return max(0, size // KB - 1)
