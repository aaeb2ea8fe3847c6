"""Resource ids: the addresses that the service gives to what it stores, as text.

A rid is bytes in base64 with `-` for `/`; its length tells what it names:

    offer        3 bytes   number, big-endian
    database     4 bytes   number, big-endian
    user         8 bytes   database, then a number with the top bit clear
    container    8 bytes   database, then a number with the top bit set
    document    16 bytes   container, then 8 bytes little-endian: kind (4 bits) over the item number (60 bits)
    permission  16 bytes   user, then 8 bytes

The law: a rid is one spelling. `parse_rid` refuses text that is not exactly what the functions here would write, so
that no two texts name one thing. Numbers never return after a deletion; that is kept by those who hand them out.
"""

from binascii import Error, a2b_base64, b2a_base64
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

_CONTAINER_BIT: Final = 1 << 31
_NUMBER_BITS: Final = 60
_PAIR: Final = Struct(">II")
_ORDINAL: Final = Struct("<Q")


class RidKind(IntEnum):
    """What a rid names; the values of what lives in a container are its kind nibble."""

    DOCUMENT = 0
    CONFLICT = 4
    RANGE = 5
    FUNCTION = 6
    TRIGGER = 7
    PROCEDURE = 8
    DATABASE = 16
    USER = 17
    CONTAINER = 18
    PERMISSION = 19
    OFFER = 20


class Rid(NamedTuple):
    """A rid taken apart; `container` is the user's number under a user, `number` is the innermost one."""

    kind: RidKind
    database: int
    container: int
    number: int


def database_rid(number: int) -> str:
    return _text(number.to_bytes(4, "big"))


def container_rid(database: int, number: int) -> str:
    return _text(_PAIR.pack(database, number | _CONTAINER_BIT))


def document_rid(database: int, container: int, number: int) -> str:
    """The rid of an item; its number has 60 bits and grows, since clients break ties of ORDER BY by it."""
    return _text(_PAIR.pack(database, container | _CONTAINER_BIT) + _ORDINAL.pack(number))


def child_rid(database: int, container: int, kind: RidKind, number: int) -> str:
    """The rid of anything else that lives in a container: ranges, procedures, triggers, functions."""
    return document_rid(database, container, kind << _NUMBER_BITS | number)


def offer_rid(number: int) -> str:
    return _text(number.to_bytes(3, "big"))


def parse_rid(text: str) -> Rid | None:
    """What this text names, or None when it is no rid at all (then it is a name)."""
    try:
        raw = a2b_base64(text.replace("-", "/"), strict_mode=True)
    except (Error, ValueError):
        return None
    reader = _READERS.get(len(raw))
    return reader(raw) if reader is not None and _text(raw) == text else None


def _text(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).decode().replace("/", "-")


def _offer(raw: bytes) -> Rid:
    return Rid(RidKind.OFFER, 0, 0, int.from_bytes(raw, "big"))


def _database(raw: bytes) -> Rid:
    number = int.from_bytes(raw, "big")
    return Rid(RidKind.DATABASE, number, 0, number)


def _second(raw: bytes) -> Rid:
    database, number = _PAIR.unpack_from(raw)
    kind = RidKind.CONTAINER if number & _CONTAINER_BIT else RidKind.USER
    number &= _CONTAINER_BIT - 1
    return Rid(kind, database, number, number)


def _third(raw: bytes) -> Rid | None:
    owner = _second(raw)
    (ordinal,) = _ORDINAL.unpack_from(raw, 8)
    if owner.kind is RidKind.USER:
        return Rid(RidKind.PERMISSION, owner.database, owner.container, ordinal)
    kind = _IN_CONTAINER.get(ordinal >> _NUMBER_BITS)
    return kind if kind is None else Rid(kind, owner.database, owner.container, ordinal & ((1 << _NUMBER_BITS) - 1))


_IN_CONTAINER: Final = {int(kind): kind for kind in RidKind if kind < RidKind.DATABASE}
_READERS: Final = {3: _offer, 4: _database, 8: _second, 16: _third}
