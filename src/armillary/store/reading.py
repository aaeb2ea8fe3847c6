"""Reading items: one by its place, or a stretch of them in the order of their keys.

An item that has expired is judged by its envelope and is not there, whether or not somebody has removed it yet. A page
ends at a number of items or of bytes and says from which key the next begins: a position, so that what happens between
two pages neither repeats nor hides an item that nobody touched.
"""

from collections.abc import Sequence
from typing import NamedTuple

from armillary.errors import Kind, Refusal
from armillary.json import load
from armillary.keys.ranges import EpkRange
from armillary.kv.engine import Reader
from armillary.store.items import Item, Place
from armillary.store.layout import ITEM, number_key, read_body, read_envelope, read_identity
from armillary.store.rules import Rules, has_expired
from armillary.values import KeyValue


class Scope(NamedTuple):
    """Item keys in [start, stop); where they are those of one key value, its code and the value."""

    start: bytes
    stop: bytes
    key: bytes | None = None
    values: Sequence[KeyValue] = ()


class ItemPage(NamedTuple):
    """Items of a stretch and their keys; `next` is the key to go on from, empty when the stretch is at its end."""

    items: list[Item]
    next: bytes
    size: int
    keys: list[bytes]


def read_item(reader: Reader, place: Place, rules: Rules, ticks: int) -> Item | None:
    record = reader.get(place.item)
    if record is None:
        return None
    envelope = read_envelope(record)
    if envelope.identity_size and read_identity(record, envelope) != place.identity:
        raise Refusal(Kind.STORE_BROKEN, detail=f"two identities share the item key {place.item.hex()}")
    if rules.default_ttl is not None and has_expired(envelope, rules, ticks):
        return None
    return Item(envelope, read_body(record, envelope))


def find_id(reader: Reader, number: int, scope: Scope) -> str | None:
    """The id of the item that has this number, if it lies in the scope."""
    key = reader.get(number_key(number))
    record = reader.get(key) if key is not None and scope.start <= key < scope.stop else None
    return None if record is None else str(load(read_body(record, read_envelope(record)))["id"])


def read_stretch(
    reader: Reader, start: bytes, stop: bytes, rules: Rules, ticks: int, limits: tuple[int, int]
) -> ItemPage:
    """What lies in [start, stop), up to `limits`: so many items and, after the first, so many bytes."""
    items, size = limits
    found: list[Item] = []
    keys: list[bytes] = []
    total = 0
    for page in reader.scan(start, stop, page=min(items + 1, 1000)):
        for key, record in page.rows:
            envelope = read_envelope(record)
            if has_expired(envelope, rules, ticks):
                continue
            body = read_body(record, envelope)
            if found and (len(found) == items or total + len(body) > size):
                return ItemPage(found, key, total, keys)
            found.append(Item(envelope, body))
            keys.append(key)
            total += len(body)
    return ItemPage(found, b"", total, keys)


def scope_of(within: EpkRange) -> Scope:
    """The item keys of a range of effective keys."""
    return Scope(ITEM + within.start.rstrip(b"\0"), ITEM + within.stop.rstrip(b"\0"))
