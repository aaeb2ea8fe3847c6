"""The effective partition key: where a key value falls on the one line that ranges divide.

    component   marker | content                          undefined 00, null 01, false 02, true 03
                05 | double, little-endian                number
                08 | UTF-8 | ff                           string (00 at the end in version 1)

    V2          16 bytes: murmur3 x64 128 of all components, reversed, the top two bits cleared; below 2^126
    MultiHash   the V2 bytes of each level, joined: a prefix of the values has a prefix of the bytes
    V1          the 32-bit murmur3 of all components as a number, then the components themselves, in a binary form that
                orders as they do; strings are cut to their first 100 characters before both

    V1 number   05 | top 8 bits of the ordered double | 7 bits and a 1 | ... | 7 bits and a 0, as many as are not zero
    V1 string   08 | each UTF-8 byte + 1 | 00 when it has at most 100 bytes, else 101 bytes and no end

The law: the bytes here are those of the official clients, for ever; golden vectors and a property test against a client
hold it. Characters are counted in UTF-16 units, as the .NET and Java clients do; half a pair becomes U+FFFD. The key
without values has the empty effective key. Texts of effective keys are upper-case hex.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from mmh3 import hash as murmur_32
from mmh3 import mmh3_x64_128_uintdigest as murmur_128

from armillary.values import UNDEFINED, KeyValue

_MARKERS: Final[dict[object, bytes]] = {UNDEFINED: b"\x00", None: b"\x01", False: b"\x02", True: b"\x03"}
_NUMBER, _STRING = b"\x05", b"\x08"
_HASHED_NUMBER: Final = Struct("<cd")
_DOUBLE: Final = Struct(">d")
_U64: Final = Struct(">Q")
_SIGN: Final = 1 << 63
_ALL: Final = (1 << 64) - 1
_V2_SPACE: Final = (1 << 126) - 1
_V1_SPACE: Final = (1 << 32) - 1
_V1_CHARACTERS: Final = 100
_V1_BYTES: Final = 100


def hash_v2(values: Sequence[KeyValue]) -> bytes:
    """The V2 effective key of a tuple of values.

    >>> hash_v2(("redmond",)).hex().upper()
    '22E342F38A486A088463DFF7838A5963'
    """
    if len(values) == 1:
        value = values[0]
        if type(value) is str:  # nearly every key: kept free of loops
            return (murmur_128(b"\x08%b\xff" % value.encode()) & _V2_SPACE).to_bytes(16, "big")
        return _hash_128(_component(value, b"\xff"))
    return _hash_128(b"".join([_component(value, b"\xff") for value in values])) if values else b""


def hash_levels(values: Sequence[KeyValue]) -> bytes:
    """The MultiHash effective key of a tuple or of a prefix of one: 16 bytes for each level."""
    return b"".join([hash_v2((value,)) for value in values])


def hash_v1(values: Sequence[KeyValue]) -> bytes:
    """The V1 effective key of a tuple of values."""
    if not values:
        return b""
    cut = [_cut_string(value) if isinstance(value, str) else value for value in values]
    hashed = murmur_32(b"".join([_component(value, b"\x00") for value in cut]), 0, signed=False)
    return binary_number(hashed) + b"".join(map(_binary, cut))


def binary_number(value: float) -> bytes:
    """The V1 binary form of a number; bounds of V1 ranges are such numbers."""
    (bits,) = _U64.unpack(_DOUBLE.pack(value))
    payload = -bits & _ALL if bits & _SIGN else bits ^ _SIGN
    out = bytearray((_NUMBER[0], payload >> 56))
    payload = payload << 8 & _ALL
    groups = []
    while payload:
        groups.append(payload >> 57 << 1 | 1)
        payload = payload << 7 & _ALL
    out += bytes(groups or (0,))
    out[-1] &= 0xFE
    return bytes(out)


def read_number(code: bytes) -> float:
    """The number that a V1 binary form begins with."""
    bits, left = code[1] << 56, 56
    for byte in code[2:]:
        left -= 7
        bits |= byte >> 1 << left if left >= 0 else byte >> 1 >> -left
        if not byte & 1:
            break
    number: float = _DOUBLE.unpack(_U64.pack(bits ^ _SIGN if bits & _SIGN else -bits & _ALL))[0]
    return number


def size_v1(code: bytes) -> int:
    """How many bytes of a longer code are the V1 effective key of one value that it begins with."""
    return _size_binary(code, _size_binary(code, 0))


def _size_binary(code: bytes, start: int) -> int:
    """Where the V1 binary form ends that begins here."""
    at = start + 1
    if code[start] == _NUMBER[0]:
        at += 1
        while code[at] & 1:
            at += 1
        return at + 1
    if code[start] == _STRING[0]:
        end = code.find(0, at, at + _V1_BYTES + 1)
        return at + _V1_BYTES + 1 if end < 0 else end + 1
    return at


def bound_v2(part: int, parts: int) -> bytes:
    """Where part begins when the V2 space is divided evenly: whole steps, so the last part is a little longer."""
    return (_V2_SPACE // parts * part).to_bytes(16, "big")


def bound_v1(part: int, parts: int) -> bytes:
    """The same for V1."""
    return binary_number(_V1_SPACE // parts * part)


def hashes_v2(start: bytes, stop: bytes) -> tuple[int, int]:
    """The hashes that two V2 bounds begin with, of which the first level counts; `stop` may be FF, the end of all."""
    low = int.from_bytes(start[:16].ljust(16, b"\0"), "big")
    return low, min(int.from_bytes(stop[:16].ljust(16, b"\0"), "big"), _V2_SPACE + 1)


def hashes_v1(start: bytes, stop: bytes) -> tuple[int, int]:
    """The same for V1."""
    low = int(read_number(start)) if start else 0
    return low, int(read_number(stop)) if stop[:1] == _NUMBER else _V1_SPACE + 1


def _hash_128(data: bytes) -> bytes:
    return (murmur_128(data) & _V2_SPACE).to_bytes(16, "big")


def _component(value: KeyValue, end: bytes) -> bytes:
    if isinstance(value, str):
        return _STRING + value.encode() + end
    if value is None or value is UNDEFINED or isinstance(value, bool):
        return _MARKERS[value]
    return _HASHED_NUMBER.pack(_NUMBER, value)


def _cut_string(value: str) -> str:
    if len(value) <= _V1_CHARACTERS and value.isascii():
        return value
    return value.encode("utf-16-le")[: 2 * _V1_CHARACTERS].decode("utf-16-le", "replace")


def _binary(value: KeyValue) -> bytes:
    if isinstance(value, str):
        content = value.encode()
        whole = len(content) <= _V1_BYTES
        return _STRING + bytes([byte + 1 for byte in content[: _V1_BYTES + 1]]) + (b"\x00" if whole else b"")
    if value is None or value is UNDEFINED or isinstance(value, bool):
        return _MARKERS[value]
    return binary_number(value)
