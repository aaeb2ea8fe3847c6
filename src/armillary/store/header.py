"""The header of a partition: what every operation looks at inside its own transaction, so that a process with an old
map, policy or ttl finds out at once.

    format 1 | state 1 | aging 1 | indexed 1 | birth 4 | counter, version, trimmed, retained, synced, loose, time,
    items, bytes, unusual, held: 8 each | seal 16 | base 8 | 8 spare

Its bytes are fixed for ever, like those of `layout`. Reads unpack only what they need of it.
"""

from struct import Struct
from typing import Final

from armillary.store.layout import FORMAT

ONLINE, SEALED, GONE, FILLING = range(4)

_HEADER: Final = Struct(">BBBBIQQQQQQQQQQQ16sq8x")
_GLANCE: Final = Struct(">xB14xQ88xq")
_BASE_AT: Final = 8 + 11 * 8 + 16


class Header:
    """The header, taken apart.

    `trimmed`   no log entry at or below it is a tombstone, superseded, or has an image
    `retained`  the feed with all versions is whole above it
    `synced`    what no power failure takes back of the index
    `loose`     log entries above `trimmed` that wait to be trimmed
    `unusual`   logical partitions that are not plain
    `base`      what is added to the engine's LSN: a child goes on where its parent ended, however it was filled
    `held`      the first LSN whose log entries a running split still needs; 0 for none
    `aging`     how far the AGE entries are: see `expiry`
    """

    __slots__ = (
        "aging",
        "base",
        "birth",
        "bytes",
        "counter",
        "held",
        "indexed",
        "items",
        "loose",
        "retained",
        "seal",
        "state",
        "synced",
        "time",
        "trimmed",
        "unusual",
        "version",
    )

    def __init__(self, raw: bytes) -> None:
        (
            _,
            self.state,
            self.aging,
            self.indexed,
            self.birth,
            self.counter,
            self.version,
            self.trimmed,
            self.retained,
            self.synced,
            self.loose,
            self.time,
            self.items,
            self.bytes,
            self.unusual,
            self.held,
            self.seal,
            self.base,
        ) = _HEADER.unpack(raw)

    def pack(self) -> bytes:
        return _HEADER.pack(
            FORMAT,
            self.state,
            self.aging,
            self.indexed,
            self.birth,
            self.counter,
            self.version,
            self.trimmed,
            self.retained,
            self.synced,
            self.loose,
            self.time,
            self.items,
            self.bytes,
            self.unusual,
            self.held,
            self.seal,
            self.base,
        )


def new_header(birth: int, version: int, aging: int, state: int = ONLINE) -> bytes:
    """The header of an empty partition; `birth` is its number among all partitions its container ever had."""
    header = Header(bytes(_HEADER.size))
    header.birth = birth
    header.version = version
    header.aging = aging
    header.state = state
    return header.pack()


def header_state(raw: bytes) -> tuple[int, int]:
    """State and version."""
    return raw[1], int.from_bytes(raw[16:24], "big")


def header_glance(raw: bytes) -> tuple[int, int, int]:
    """State, version and base: what a read needs, and nothing else."""
    glance: tuple[int, int, int] = _GLANCE.unpack_from(raw)
    return glance


def header_lsn(raw: bytes, lsn: int) -> int:
    """The LSN of a partition whose engine is at `lsn`."""
    return lsn + int.from_bytes(raw[_BASE_AT : _BASE_AT + 8], "big", signed=True)


def header_seal(raw: bytes) -> bytes:
    return raw[_BASE_AT - 16 : _BASE_AT]
