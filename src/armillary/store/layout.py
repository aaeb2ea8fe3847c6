"""EVERY key family of the product, and the bytes of every value. Fixed for ever; a change needs a new format version.

A partition of a container keeps, in this order:

    08 META      name                                  -> progress of something that runs over the whole partition
    10 ITEM      effective key, key values, id         -> envelope, then the body as clients see it
    18 NUMBER    item number                           -> its item key
    20 LOGICAL   effective key, key values             -> bytes, items, last LSN and state of one logical partition
    28 LOG       LSN, origin, position                 -> what changed: one entry for each change
    30 UNIQUE    effective key, key values, rule, hash -> item number
    38 DUE       moment it expires, item number        -> item key; items with their own positive ttl
    39 AGE       moment it was written, item number    -> item key; the others, while the default ttl is positive

and the catalog, a partition of its own under a fixed id:

    4F COUNTERS  -                                     -> the next database, container and offer numbers
    50 DATABASE  database number                       -> JSON
    51 NAME      parent number (0 for databases), name -> number
    52 CONTAINER database number, container number     -> JSON: definition, version, map
    54 OFFER     offer number                          -> JSON

Numbers are big-endian, so that their order is the order of the keys. An effective key that is empty (a container
without a key) is written as 16 zero bytes: it must stay below every bound of a map. A key never exceeds 511 bytes:
parts are shortened by `keycode`, and then the whole code is kept beside the item and in the logical record
(`identity`).

    envelope   format 1 | codec 1 | id code length 1 | identity length 2 | item number 8 | LSN 8 | origin 4 | position 2
               | time 8 | etag 16 | ttl 4 | identity
    log entry  kind 1 | item number 8 | time 8 | item key length 2 | item key | previous image

`origin` is the birth of the partition that committed the change: after a merge two lines of LSNs live side by side.
Leaves out: the header (`header`), and who changes these and when (`items`, `catalog`).
"""

from struct import Struct
from typing import Final, NamedTuple

FORMAT: Final = 1
CATALOG: Final = bytes(16)

META: Final = b"\x08"
ITEM: Final = b"\x10"
NUMBER: Final = b"\x18"
LOGICAL: Final = b"\x20"
LOG: Final = b"\x28"
UNIQUE: Final = b"\x30"
DUE: Final = b"\x38"
AGE: Final = b"\x39"
COUNTERS: Final = b"\x4f"
DATABASE: Final = b"\x50"
NAME: Final = b"\x51"
CONTAINER: Final = b"\x52"
OFFER: Final = b"\x54"

FAMILIES: Final = {
    META: "meta",
    ITEM: "item",
    NUMBER: "number",
    LOGICAL: "logical",
    LOG: "log",
    UNIQUE: "unique",
    DUE: "due",
    AGE: "age",
    COUNTERS: "counters",
    DATABASE: "database",
    NAME: "name",
    CONTAINER: "container",
    OFFER: "offer",
}

CREATED, REPLACED, DELETED, EXPIRED = range(4)
PLAIN, FENCED, MOVED = range(3)
JSON, BSON = range(2)
NO_TTL: Final = 0
NEVER: Final = -1

_NO_KEY: Final = bytes(16)
_BIRTH_BITS: Final = 36
_U32: Final = Struct(">I")
_U64: Final = Struct(">Q")
_PAIR: Final = Struct(">II")
_MOMENT: Final = Struct(">cQQ")
_PLACE: Final = Struct(">cQIH")
_ENVELOPE: Final = Struct(">BBBHQQIHQ16si")
_ENTRY: Final = Struct(">BQQH")
_LOGICAL: Final = Struct(">BQQQQ")


class Envelope(NamedTuple):
    """What is kept beside the body of an item. `time` is in ticks and grows with every version of the item."""

    format: int
    codec: int
    id_size: int
    identity_size: int
    number: int
    lsn: int
    origin: int
    position: int
    time: int
    etag: bytes
    ttl: int


class Entry(NamedTuple):
    """One change. `image` is the record it replaced, kept while an index still has to forget it."""

    kind: int
    number: int
    time: int
    item: bytes
    image: bytes


class Logical(NamedTuple):
    """One logical partition: what its items add up to; `identity` is its whole key code when the key was shortened."""

    state: int
    size: int
    items: int
    lsn: int
    deleted_to: int
    identity: bytes


EMPTY_LOGICAL: Final = Logical(PLAIN, 0, 0, 0, 0, b"")


def item_key(epk: bytes, key: bytes, id_code: bytes) -> bytes:
    return ITEM + (epk or _NO_KEY) + key + id_code


def logical_key(epk: bytes, key: bytes) -> bytes:
    return LOGICAL + (epk or _NO_KEY) + key


def logical_of(item: bytes, envelope: Envelope) -> bytes:
    """The logical record of an item key."""
    return LOGICAL + item[1 : len(item) - envelope.id_size]


def unique_key(logical: bytes, rule: int, digest: bytes) -> bytes:
    return UNIQUE + logical[1:] + bytes((rule,)) + digest


def number_key(number: int) -> bytes:
    return NUMBER + _U64.pack(number)


def item_number(birth: int, counter: int) -> int:
    return birth << _BIRTH_BITS | counter


def birth_of(number: int) -> tuple[int, int]:
    """The birth and the counter that a number was made of."""
    return number >> _BIRTH_BITS, number & ((1 << _BIRTH_BITS) - 1)


def log_key(lsn: int, origin: int, position: int) -> bytes:
    return _PLACE.pack(LOG, lsn, origin, position)


def log_place(key: bytes) -> tuple[int, int, int]:
    """LSN, origin and position of a log key."""
    _, lsn, origin, position = _PLACE.unpack(key)
    return lsn, origin, position


def moment_key(family: bytes, ticks: int, number: int) -> bytes:
    return _MOMENT.pack(family, ticks, number)


def read_moment(key: bytes) -> tuple[int, int]:
    """The ticks and the item number of a DUE or AGE key."""
    _, ticks, number = _MOMENT.unpack(key)
    return ticks, number


def pack_record(envelope: Envelope, identity: bytes, body: bytes) -> bytes:
    return _ENVELOPE.pack(*envelope) + identity + body


def read_envelope(record: bytes) -> Envelope:
    return Envelope._make(_ENVELOPE.unpack_from(record))


def read_identity(record: bytes, envelope: Envelope) -> bytes:
    return record[_ENVELOPE.size : _ENVELOPE.size + envelope.identity_size]


def read_body(record: bytes, envelope: Envelope) -> bytes:
    return record[_ENVELOPE.size + envelope.identity_size :]


def pack_entry(entry: Entry) -> bytes:
    return _ENTRY.pack(entry.kind, entry.number, entry.time, len(entry.item)) + entry.item + entry.image


def read_entry(value: bytes) -> Entry:
    kind, number, time, size = _ENTRY.unpack_from(value)
    start = _ENTRY.size
    return Entry(kind, number, time, value[start : start + size], value[start + size :])


def pack_logical(logical: Logical) -> bytes:
    state, size, items, lsn, deleted_to, identity = logical
    return _LOGICAL.pack(state, size, items, lsn, deleted_to) + identity


def read_logical(value: bytes) -> Logical:
    state, size, items, lsn, deleted_to = _LOGICAL.unpack_from(value)
    return Logical(state, size, items, lsn, deleted_to, value[_LOGICAL.size :])


def database_key(number: int) -> bytes:
    return DATABASE + _U32.pack(number)


def container_key(database: int, number: int) -> bytes:
    return CONTAINER + _PAIR.pack(database, number)


def name_key(parent: int, code: bytes) -> bytes:
    return NAME + _U32.pack(parent) + code


def offer_key(number: int) -> bytes:
    return OFFER + _U32.pack(number)


def family_end(family: bytes) -> bytes:
    """Where the keys of a family stop."""
    return bytes((family[0] + 1,))
