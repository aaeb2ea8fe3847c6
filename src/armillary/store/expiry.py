"""Removing what has expired, and keeping the entries that find it: the keeper's share of the time to live.

Nothing waits for this: reads judge envelopes. Each function is one work with a bounded number of steps, safe to repeat
and to run in two places at once, since it looks at everything again inside its own transaction.
"""

from typing import Final

from armillary.clock import TICKS_PER_SECOND
from armillary.kv.engine import Changes, Reader, Row, View, Work
from armillary.store.header import Header
from armillary.store.items import Item, apply_changes, place_of, remove_item
from armillary.store.layout import (
    AGE,
    DUE,
    EXPIRED,
    ITEM,
    META,
    NO_TTL,
    family_end,
    moment_key,
    read_body,
    read_envelope,
    read_moment,
)
from armillary.store.rules import BUILDING, CLEARING, COMPLETE, OFF, STARTING, Rules, has_expired
from armillary.store.transaction import Moment, Transaction

STEP: Final = 100
_CURSOR: Final = META + b"aging"


def next_expiry(reader: Reader, rules: Rules) -> int | None:
    """The first moment in ticks at which something may expire; None when nothing will."""
    if rules.default_ttl is None:
        return None
    moments = [_first(reader, DUE)]
    if rules.ages:
        age = _first(reader, AGE)
        moments.append(None if age is None else age + rules.default_ttl * TICKS_PER_SECOND)
    return min((moment for moment in moments if moment is not None), default=None)


def remove_expired(partition: bytes, rules: Rules, moment: Moment) -> Work:
    """Remove up to a step of items that have expired; the result is how many."""

    def work(view: View) -> Changes:
        tx = Transaction(view, partition, rules, moment)
        removed = 0
        for _, item in _due(tx):
            record = tx.get(item)
            if record is None:
                continue
            envelope = read_envelope(record)
            if has_expired(envelope, rules, moment.ticks):
                remove_item(tx, place_of(item, record, envelope), Item(envelope, read_body(record, envelope)), EXPIRED)
                removed += 1
        return apply_changes(tx, removed)

    return work


def is_aging(header: bytes) -> bool:
    """Whether AGE entries are being built or cleared."""
    return Header(header).aging in (STARTING, BUILDING, CLEARING)


def move_aging(partition: bytes, rules: Rules, moment: Moment) -> Work:
    """One step of building or clearing the AGE entries; the result says whether more is to be done."""

    def work(view: View) -> Changes:
        tx = Transaction(view, partition, rules, moment)
        if tx.header.aging in (STARTING, BUILDING):
            return apply_changes(tx, _build(tx))
        if tx.header.aging == CLEARING:
            return apply_changes(tx, _clear(tx))
        return apply_changes(tx, False)

    return work


def _due(tx: Transaction) -> list[Row]:
    now = tx.moment.ticks
    rules = tx.rules
    if rules.default_ttl is None:
        return []
    rows = tx.stored(DUE, moment_key(DUE, now + 1, 0), STEP)
    if rules.ages and len(rows) < STEP:
        oldest = max(0, now - rules.default_ttl * TICKS_PER_SECOND)
        rows += tx.stored(AGE, moment_key(AGE, oldest + 1, 0), STEP - len(rows))
    return rows


def _build(tx: Transaction) -> bool:
    """Walk the items behind a cursor; writers keep the entries of what they write themselves."""
    cursor = tx.get(_CURSOR) if tx.header.aging == BUILDING else None
    tx.header.aging = BUILDING
    rows = tx.stored((cursor or ITEM) + b"\0", family_end(ITEM), STEP)
    for item, record in rows:
        envelope = read_envelope(record)
        if envelope.ttl == NO_TTL:
            tx.put(moment_key(AGE, envelope.time, envelope.number), item)
    if len(rows) == STEP:
        tx.put(_CURSOR, rows[-1][0])
        return True
    tx.delete(_CURSOR)
    tx.header.aging = COMPLETE
    return False


def _clear(tx: Transaction) -> bool:
    rows = tx.stored(AGE, family_end(AGE), STEP)
    for key, _ in rows:
        tx.delete(key)
    tx.delete(_CURSOR)
    if len(rows) < STEP:
        tx.header.aging = OFF
    return len(rows) == STEP


def _first(reader: Reader, family: bytes) -> int | None:
    for page in reader.scan(family, family_end(family), page=1):
        return read_moment(page.rows[0][0])[0]
    return None
