"""Writing items: everything that changes with an item changes in one transaction, here and nowhere else.

A put or a removal keeps these in step; `check` verifies each of them:

    ITEM      the record                     NUMBER    item number -> item key, for as long as the item lives
    LOGICAL   sums of its logical partition  UNIQUE    an entry for each unique-key rule
    DUE, AGE  when it expires                LOG       one entry for each change, one for each live item

Ids, unique keys, etags and sizes are checked here, inside the transaction, and only here. An item that has expired is
not there: whoever meets it in a write removes it in the same transaction, with a log entry of its own.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from armillary.clock import TICKS_PER_SECOND
from armillary.errors import Kind, Refusal
from armillary.keycode import split_key
from armillary.kv.engine import Changes
from armillary.store.layout import (
    AGE,
    CREATED,
    DELETED,
    DUE,
    EMPTY_LOGICAL,
    EXPIRED,
    FORMAT,
    JSON,
    NO_TTL,
    PLAIN,
    REPLACED,
    Entry,
    Envelope,
    Logical,
    item_number,
    log_key,
    log_place,
    logical_of,
    moment_key,
    number_key,
    pack_entry,
    pack_logical,
    pack_record,
    read_body,
    read_entry,
    read_envelope,
    read_identity,
    read_logical,
    unique_key,
)
from armillary.store.rids import document_rid
from armillary.store.rules import OFF, Rules, has_expired
from armillary.store.transaction import Transaction
from armillary.store.unique import digest_body, digest_item

_TRIM_STEP: Final = 256  # more than the changes of any one transaction, so that a step always gets past one
_DOCUMENT_END: Final = b'/","_etag":"\\"%b\\"","_attachments":"attachments/","_ts":%d}'


class Place(NamedTuple):
    """Where an item lives: its keys, and the whole codes of key, and of key and id, when something was shortened."""

    item: bytes
    logical: bytes
    id: str
    identity: bytes = b""
    key_identity: bytes = b""


class Draft(NamedTuple):
    """An item as its writer means it: normal form without system properties and without the closing brace."""

    body: bytes
    ttl: int
    value: object


Edit: TypeAlias = Callable[[bytes], Draft]  # makes an item of the stored one, inside the write


class Mode(Enum):
    """What to do about an item that is there, or is not."""

    CREATE = "create"
    UPSERT = "upsert"
    REPLACE = "replace"


class Condition(NamedTuple):
    """Etags without quotes; `*` means any. Empty means no condition."""

    match: str = ""
    none_match: str = ""


class Item(NamedTuple):
    """An item as it is stored."""

    envelope: Envelope
    body: bytes


class Written(NamedTuple):
    """What a write did, at which LSN, and the size of the version it replaced; of a deletion the item that is gone."""

    created: bool
    item: Item
    old_size: int
    lsn: int


NO_CONDITION: Final = Condition()


def etag_text(etag: bytes) -> str:
    """The etag as clients see it, without its quotes."""
    text = etag.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def place_of(item: bytes, record: bytes, envelope: Envelope) -> Place:
    """The place of an item that was found by walking."""
    logical = logical_of(item, envelope)
    if not envelope.identity_size:
        return Place(item, logical, "")
    identity = read_identity(record, envelope)
    key = b"".join(split_key(identity)[:-1])
    return Place(item, logical, "", identity, b"" if logical.endswith(key) else key)


def put_item(
    tx: Transaction, place: Place, draft: Draft | Edit, mode: Mode, condition: Condition = NO_CONDITION
) -> Written:
    """Create, replace, or either; refuses what the state forbids and then leaves no trace."""
    old = live_item(tx, place)
    check_condition(old, condition, mode)
    if old is None and mode is Mode.REPLACE:
        raise Refusal(Kind.ITEM_MISSING, id=place.id)
    if old is not None and mode is Mode.CREATE:
        raise Refusal(Kind.ITEM_EXISTS, id=place.id)
    if not isinstance(draft, Draft):
        draft = draft(old.body if old is not None else b"{}")
    envelope = _next_envelope(tx, old, place, draft)
    body = _finish_body(tx.rules, draft, envelope)
    _claim_unique(tx, place, draft, envelope.number, old)
    growth = len(body) - (len(old.body) if old else 0)
    logical = count_item(tx, place, growth, 0 if old else 1, tx.lsn)
    if logical.size > tx.rules.key_bytes and growth > 0:
        raise Refusal(Kind.KEY_FULL, limit=tx.rules.key_bytes, size=logical.size, note=tx.rules.note)
    move_expiry(tx, place.item, old.envelope if old else None, envelope)
    if old is not None:
        _forget_entry(tx, old.envelope)
    kind = CREATED if old is None else REPLACED
    _log(tx, Entry(kind, envelope.number, envelope.time, place.item, _image(tx, old)), envelope.position)
    if old is None:
        tx.put(number_key(envelope.number), place.item)
    tx.put(place.item, pack_record(envelope, place.identity, body))
    return Written(old is None, Item(envelope, body), len(old.body) if old else 0, tx.lsn)


def delete_item(tx: Transaction, place: Place, condition: Condition = NO_CONDITION) -> Written:
    old = live_item(tx, place)
    if old is None:
        raise Refusal(Kind.ITEM_MISSING, id=place.id)
    check_condition(old, condition, Mode.REPLACE)
    remove_item(tx, place, old, DELETED)
    return Written(False, old, 0, tx.lsn)


def live_item(tx: Transaction, place: Place) -> Item | None:
    """The item at this place; one that has expired is removed and not there."""
    record = tx.get(place.item)
    if record is None:
        return None
    envelope = read_envelope(record)
    if envelope.identity_size and read_identity(record, envelope) != place.identity:
        raise Refusal(Kind.STORE_BROKEN, detail=f"two identities share the item key {place.item.hex()}")
    item = Item(envelope, read_body(record, envelope))
    if has_expired(envelope, tx.rules, tx.moment.ticks):
        remove_item(tx, place, item, EXPIRED)
        return None
    return item


def check_condition(old: Item | None, condition: Condition, mode: Mode) -> None:
    """If-Match and If-None-Match against the item as it is now."""
    if not (condition.match or condition.none_match):
        return
    etag = etag_text(old.envelope.etag) if old else ""
    if condition.match and condition.match not in (etag, "*") and (old is not None or mode is Mode.UPSERT):
        raise Refusal(Kind.ETAG_MISMATCH, etag=etag)
    if old is not None and mode is not Mode.CREATE and condition.none_match in (etag, "*"):
        raise Refusal(Kind.ETAG_MISMATCH, etag=etag)


def remove_item(tx: Transaction, place: Place, old: Item, kind: int) -> None:
    """Take an item out of everything it is in, and say so in the log."""
    for rule, digest in enumerate(digest_body(tx.rules.unique, old.body)):
        tx.delete(unique_key(place.logical, rule, digest))
    move_expiry(tx, place.item, old.envelope, None)
    count_item(tx, place, -len(old.body), -1, tx.lsn)
    _forget_entry(tx, old.envelope)
    time = max(tx.moment.ticks, old.envelope.time + 1)
    _log(tx, Entry(kind, old.envelope.number, time, place.item, _image(tx, old)), tx.next_position())
    tx.header.loose += 1
    tx.fresh += 1
    tx.delete(number_key(old.envelope.number))
    tx.delete(place.item)


def apply_changes(tx: Transaction, result: object) -> Changes:
    """The end of every work: trims the log a little and hands everything to the engine."""
    trim_log(tx)
    return Changes(tx.effects, tx.header.pack(), result)


def trim_log(tx: Transaction) -> None:
    """Drop the entries that no reader of the log needs any more, a few at a time: tombstones and superseded ones.

    Without an index that is everything before this commit, unless a running split holds it.
    """
    header = tx.header
    bound = header.synced if header.indexed else tx.lsn - 1
    if header.held:
        bound = min(bound, header.held - 1)
    if bound <= header.trimmed:
        return
    waiting = header.loose - tx.fresh
    if waiting > 0:
        rows = tx.stored(log_key(header.trimmed + 1, 0, 0), log_key(bound + 1, 0, 0), _TRIM_STEP)
        for key, value in rows:
            # What this transaction has dropped itself was never counted.
            if key not in tx.effects and _is_loose(tx, key, read_entry(value)):
                tx.delete(key)
                header.loose -= 1
                waiting -= 1
        if waiting > 0 and len(rows) == _TRIM_STEP:
            bound = log_place(rows[-1][0])[0] - 1
    header.trimmed = max(header.trimmed, bound)


def _is_loose(tx: Transaction, key: bytes, entry: Entry) -> bool:
    """Whether an entry says nothing of a live version."""
    if entry.kind in (DELETED, EXPIRED):
        return True
    record = tx.get(entry.item)
    if record is None:
        return True
    envelope = read_envelope(record)
    return log_key(envelope.lsn, envelope.origin, envelope.position) != key


def _next_envelope(tx: Transaction, old: Item | None, place: Place, draft: Draft) -> Envelope:
    header = tx.header
    time = tx.moment.ticks
    if old is None:
        number = item_number(header.birth, header.counter)
        header.counter += 1
    else:
        number = old.envelope.number
        time = max(time, old.envelope.time + 1)
    position = tx.next_position()
    etag = tx.moment.salt[:14] + position.to_bytes(2, "big")
    id_size = len(place.item) - len(place.logical)
    sizes = (id_size, len(place.identity))
    return Envelope(FORMAT, JSON, *sizes, number, tx.lsn, header.birth, position, time, etag, draft.ttl)


def _finish_body(rules: Rules, draft: Draft, envelope: Envelope) -> bytes:
    """The body as clients read it: the system properties come last, made once and never again."""
    rid = document_rid(*rules.owner, envelope.number).encode()
    end = _DOCUMENT_END % (etag_text(envelope.etag).encode(), envelope.time // TICKS_PER_SECOND)
    return b"".join((draft.body, b',"_rid":"', rid, b'","_self":"', rules.prefix, rid, end))


def _claim_unique(tx: Transaction, place: Place, draft: Draft, number: int, old: Item | None) -> None:
    unique = tx.rules.unique
    if not unique:
        return
    before = digest_body(unique, old.body) if old else ()
    for rule, digest in enumerate(digest_item(unique, draft.value)):
        if old is not None and before[rule] == digest:
            continue
        key = unique_key(place.logical, rule, digest)
        holder = tx.get(key)
        if holder is not None and _is_alive(tx, holder):
            paths = ", ".join("/" + "/".join(path) for path in unique[rule])
            raise Refusal(Kind.UNIQUE_CLASH, paths=paths)
        if old is not None:
            tx.delete(unique_key(place.logical, rule, before[rule]))
        tx.put(key, number.to_bytes(8, "big"))


def _is_alive(tx: Transaction, number: bytes) -> bool:
    """Whether the item that holds a unique key is still there; one that has expired is removed here."""
    item = tx.get(number_key(int.from_bytes(number, "big")))
    record = tx.get(item) if item is not None else None
    if item is None or record is None:
        raise Refusal(Kind.STORE_BROKEN, detail=f"a unique key is held by the missing item {number.hex()}")
    envelope = read_envelope(record)
    if not has_expired(envelope, tx.rules, tx.moment.ticks):
        return True
    remove_item(tx, place_of(item, record, envelope), Item(envelope, read_body(record, envelope)), EXPIRED)
    return False


def count_item(tx: Transaction, place: Place, size: int, items: int, lsn: int) -> Logical:
    """Let the sums of the logical partition and of the header follow; the former as they are then."""
    stored = tx.get(place.logical)
    was = read_logical(stored) if stored is not None else EMPTY_LOGICAL
    now = Logical(was.state, was.size + size, was.items + items, max(was.lsn, lsn), was.deleted_to, was.identity)
    tx.header.bytes += size
    tx.header.items += items
    if now.items == 0 and now.state == PLAIN and now.deleted_to == 0:
        tx.delete(place.logical)
    else:
        tx.put(place.logical, pack_logical(now._replace(identity=place.key_identity) if stored is None else now))
    return now


def move_expiry(tx: Transaction, item: bytes, old: Envelope | None, new: Envelope | None) -> None:
    """Let the DUE or AGE entry of an item follow it."""
    if old is not None:
        if old.ttl > 0:
            tx.delete(moment_key(DUE, old.time + old.ttl * TICKS_PER_SECOND, old.number))
        elif old.ttl == NO_TTL and tx.header.aging != OFF:
            tx.delete(moment_key(AGE, old.time, old.number))
    if new is not None:
        if new.ttl > 0:
            tx.put(moment_key(DUE, new.time + new.ttl * TICKS_PER_SECOND, new.number), item)
        elif new.ttl == NO_TTL and tx.rules.ages:
            tx.put(moment_key(AGE, new.time, new.number), item)


def _forget_entry(tx: Transaction, old: Envelope) -> None:
    """The entry of the version that goes: dropped at once when no index waits for it, otherwise left to trimming."""
    if old.lsn <= tx.header.trimmed or (not tx.header.indexed and not tx.header.held):
        tx.delete(log_key(old.lsn, old.origin, old.position))
    else:
        tx.header.loose += 1


def _image(tx: Transaction, old: Item | None) -> bytes:
    """The version that goes, for as long as an index still has its terms."""
    if old is None or not tx.header.indexed:
        return b""
    return pack_record(old.envelope._replace(identity_size=0), b"", old.body)


def _log(tx: Transaction, entry: Entry, position: int) -> None:
    tx.header.time = max(tx.header.time, entry.time)
    entry = entry._replace(time=tx.header.time)
    tx.put(log_key(tx.lsn, tx.header.birth, position), pack_entry(entry))
