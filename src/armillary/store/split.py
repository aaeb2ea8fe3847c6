"""The works of a split: how the data of one partition comes into two new ones while everybody goes on using it.

    hold       the parent keeps its log entries from this LSN on
    fill       items go to the children, piece by piece, each piece from a fresh snapshot of the parent
    follow     what the log says has changed since goes after them, again and again, until little is left
    seal       the parent takes no more writes; its last LSN is known
    follow     the rest
    open       the children are online, and go on with the parent's LSNs

`splitting` takes these steps in this order, and the catalog decides after the last whether they count. Filling and
following set an item to what the parent has: they may be repeated, and nobody reads a child before it is online. A
child keeps in META how far it is, in the same commit, so a split goes on where it was.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from armillary.errors import Kind, Refusal
from armillary.kv.engine import Changes, Reader, View, Work
from armillary.store.header import FILLING, ONLINE, SEALED, Header, header_lsn
from armillary.store.items import Item, count_item, move_expiry, place_of
from armillary.store.layout import (
    LOG,
    META,
    Envelope,
    family_end,
    log_key,
    log_place,
    number_key,
    read_body,
    read_entry,
    read_envelope,
    unique_key,
)
from armillary.store.reading import Scope
from armillary.store.rules import Rules
from armillary.store.transaction import Moment, Transaction
from armillary.store.unique import digest_body

PIECE_ITEMS: Final = 200
PIECE_BYTES: Final = 1 << 20
NEARLY: Final = 100

_CURSOR: Final = META + b"split cursor"
_FOLLOWED: Final = META + b"split followed"
_DONE: Final = b"\xff"


class Moved(NamedTuple):
    """An item as the parent has it: its record and its log entry, both None when it is gone."""

    item: bytes
    record: bytes | None
    entry: bytes | None


class Piece(NamedTuple):
    """What a child is to take over, and how far it is then: a key to copy on from, or an LSN that was followed."""

    moved: Sequence[Moved]
    cursor: bytes | None = None
    followed: int | None = None


class Progress(NamedTuple):
    """How far a child is: the key to copy on from, empty when all is copied; the LSN up to which it follows."""

    cursor: bytes
    followed: int

    @property
    def is_copied(self) -> bool:
        return self.cursor == _DONE


def hold(partition: bytes, rules: Rules, moment: Moment) -> Work:
    """Keep the log from here on; the result is the LSN that a split starts from."""

    def work(view: View) -> Changes:
        tx = Transaction(view, partition, rules, moment)
        tx.header.held = tx.header.held or tx.lsn
        return Changes({}, tx.header.pack(), tx.header.held)

    return work


def release(seal: bytes, *, keep: bool = False) -> Work:
    """Undo `hold`, unless another split needs it kept, and this seal; the result says whether there was something to
    undo.
    """

    def work(view: View) -> Changes:
        header = Header(view.header)
        sealed = header.state == SEALED and header.seal == seal
        if sealed:
            header.state, header.seal = ONLINE, bytes(16)
        held = header.held if keep else 0
        if header.state != ONLINE or not (sealed or header.held != held):
            return Changes({}, None, False)
        header.held = held
        return Changes({}, header.pack(), True)

    return work


def seal(partition: bytes, rules: Rules, moment: Moment, name: bytes) -> Work:
    """Take no more writes; the result is the last LSN."""

    def work(view: View) -> Changes:
        tx = Transaction(view, partition, rules, moment)
        tx.header.state, tx.header.seal = SEALED, name
        return Changes({}, tx.header.pack(), tx.lsn)

    return work


def fill(partition: bytes, rules: Rules, moment: Moment, piece: Piece) -> Work:
    """Set items of a child to what its parent has."""

    def work(view: View) -> Changes:
        tx = Transaction(view, partition, rules, moment, FILLING)
        for moved in piece.moved:
            _set_item(tx, moved)
        if piece.cursor is not None:
            tx.put(_CURSOR, piece.cursor or _DONE)
        if piece.followed is not None:
            tx.put(_FOLLOWED, piece.followed.to_bytes(8, "big"))
        return Changes(tx.effects, tx.header.pack())

    return work


def open_child(partition: bytes, rules: Rules, moment: Moment, last: int, time: int) -> Work:
    """Put a child online with the parent's last LSN and time."""

    def work(view: View) -> Changes:
        tx = Transaction(view, partition, rules, moment, FILLING)
        tx.header.state = ONLINE
        tx.header.base = last - view.lsn
        tx.header.time = max(tx.header.time, time)
        tx.header.trimmed = tx.header.retained = last
        return Changes({_CURSOR: None, _FOLLOWED: None}, tx.header.pack())

    return work


def read_progress(reader: Reader, scope: Scope, held: int) -> Progress:
    """How far a child is, that takes over `scope` from a parent held at this LSN."""
    followed = reader.get(_FOLLOWED)
    return Progress(
        reader.get(_CURSOR) or scope.start, held - 1 if followed is None else int.from_bytes(followed, "big")
    )


def read_piece(reader: Reader, cursor: bytes, stop: bytes) -> Piece:
    """The next items of the parent for a child, from a fresh snapshot."""
    moved: list[Moved] = []
    size = 0
    for page in reader.scan(cursor, stop, page=PIECE_ITEMS):
        for item, record in page.rows:
            if len(moved) == PIECE_ITEMS or size >= PIECE_BYTES:
                return Piece(moved, cursor=item)
            moved.append(Moved(item, record, _must_get_entry(reader, read_envelope(record))))
            size += len(record)
    return Piece(moved, cursor=_DONE)


def read_followers(reader: Reader, followed: int, scope: Scope) -> tuple[Piece, int]:
    """What the parent's log says has changed in a scope behind an LSN; and how many LSNs are still to come after it."""
    last = header_lsn(reader.header, reader.lsn)
    touched: dict[bytes, None] = {}
    seen, count = followed, 0
    for page in reader.scan(log_key(followed + 1, 0, 0), family_end(LOG), page=PIECE_ITEMS):
        for key, value in page.rows:
            lsn = log_place(key)[0]
            if lsn != seen and count >= PIECE_ITEMS:
                return Piece([_read_moved(reader, item) for item in touched], followed=seen), last - seen
            seen, count = lsn, count + 1
            item = read_entry(value).item
            if scope.start <= item < scope.stop:
                touched[item] = None
    return Piece([_read_moved(reader, item) for item in touched], followed=last), 0


def _read_moved(reader: Reader, item: bytes) -> Moved:
    record = reader.get(item)
    if record is None:
        return Moved(item, None, None)
    return Moved(item, record, _must_get_entry(reader, read_envelope(record)))


def _must_get_entry(reader: Reader, envelope: Envelope) -> bytes:
    entry = reader.get(log_key(envelope.lsn, envelope.origin, envelope.position))
    if entry is None:
        raise Refusal(Kind.STORE_BROKEN, detail=f"the item {envelope.number} has no entry in the log")
    return entry


def _set_item(tx: Transaction, moved: Moved) -> None:
    """Replace whatever the child has of an item, in all families, by what the parent has."""
    old = tx.get(moved.item)
    if old is not None:
        _take_out(tx, moved.item, old)
    if moved.record is None or moved.entry is None:
        return
    envelope = read_envelope(moved.record)
    place = place_of(moved.item, moved.record, envelope)
    item = Item(envelope, read_body(moved.record, envelope))
    for rule, digest in enumerate(digest_body(tx.rules.unique, item.body)):
        tx.put(unique_key(place.logical, rule, digest), envelope.number.to_bytes(8, "big"))
    count_item(tx, place, len(item.body), 1, envelope.lsn)
    move_expiry(tx, moved.item, None, envelope)
    tx.put(log_key(envelope.lsn, envelope.origin, envelope.position), moved.entry)
    tx.header.time = max(tx.header.time, read_entry(moved.entry).time)
    tx.put(number_key(envelope.number), moved.item)
    tx.put(moved.item, moved.record)


def _take_out(tx: Transaction, item: bytes, record: bytes) -> None:
    envelope = read_envelope(record)
    place = place_of(item, record, envelope)
    body = read_body(record, envelope)
    number = envelope.number.to_bytes(8, "big")
    for rule, digest in enumerate(digest_body(tx.rules.unique, body)):
        key = unique_key(place.logical, rule, digest)
        if tx.get(key) == number:  # else another item, followed earlier, has taken it over
            tx.delete(key)
    count_item(tx, place, -len(body), -1, envelope.lsn)
    move_expiry(tx, item, envelope, None)
    tx.delete(log_key(envelope.lsn, envelope.origin, envelope.position))
    tx.delete(number_key(envelope.number))
    tx.delete(item)
