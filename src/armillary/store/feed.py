"""The change feed, latest version: the log of a partition, read in the order of its LSNs.

Each item comes once, at the LSN of its newest version; deletions do not come. A position is an LSN: everything up to it
has been seen. A transaction is never cut, since it has one LSN. A start by time is found by bisection: the times of the
log only grow. Whoever has seen everything is told so by the header alone.
"""

from typing import Final, NamedTuple

from armillary.kv.engine import Reader
from armillary.store.header import header_lsn
from armillary.store.items import Item
from armillary.store.layout import LOG, Entry, family_end, log_key, log_place, read_body, read_entry, read_envelope
from armillary.store.reading import Scope
from armillary.store.rules import Rules, has_expired

_LONGEST_LOOK: Final = 5_000


class Changes(NamedTuple):
    """Items that changed behind a position; `position` is where to go on, `more` whether there may be something."""

    items: list[Item]
    position: int
    size: int
    more: bool


def read_changes(
    reader: Reader, scope: Scope, position: int, rules: Rules, ticks: int, limits: tuple[int, int]
) -> Changes:
    """The changes behind a position, up to `limits`: so many items and, after the first, so many bytes."""
    most, most_bytes = limits
    found: list[Item] = []
    total = looked_at = 0
    end = header_lsn(reader.header, reader.lsn)
    if position >= end:
        return Changes(found, position, total, more=False)
    base, seen = end - reader.lsn, position
    for page in reader.scan(log_key(position + 1, 0, 0), family_end(LOG), page=min(most + 1, 1000)):
        end = page.lsn + base
        for key, value in page.rows:
            lsn = log_place(key)[0]
            if lsn != seen and (len(found) >= most or total >= most_bytes or looked_at >= _LONGEST_LOOK):
                return Changes(found, seen, total, more=True)
            seen = lsn
            looked_at += 1
            item = _newest(reader, scope, lsn, read_entry(value))
            if item is not None and not has_expired(item.envelope, rules, ticks):
                found.append(item)
                total += len(item.body)
    return Changes(found, end, total, more=False)


def find_start(reader: Reader, ticks: int) -> int:
    """The position before the first change at or after a moment."""
    low, high = 0, header_lsn(reader.header, reader.lsn)
    while low < high:
        middle = (low + high) // 2
        entry = _next_entry(reader, middle + 1)
        if entry is None or entry[1].time >= ticks:
            high = middle
        else:
            low = entry[0]
    return low


def _newest(reader: Reader, scope: Scope, lsn: int, entry: Entry) -> Item | None:
    """The item of an entry, if this is its newest version and it is asked for."""
    if not scope.start <= entry.item < scope.stop:
        return None
    record = reader.get(entry.item)
    if record is None:
        return None
    envelope = read_envelope(record)
    if (envelope.lsn, envelope.number) != (lsn, entry.number):
        return None
    return Item(envelope, read_body(record, envelope))


def _next_entry(reader: Reader, lsn: int) -> tuple[int, Entry] | None:
    for page in reader.scan(log_key(lsn, 0, 0), family_end(LOG), page=1):
        key, value = page.rows[0]
        return log_place(key)[0], read_entry(value)
    return None
