"""Order-preserving bytes of typed values: the code that ids and key values have inside keys. Fixed for ever.

    08 undefined    10 null    18 false    20 true
    28 number       8 bytes: the double, sign bit flipped (all bits when negative), big-endian
    2c              kept free for whole numbers of 64 bits
    30 string       UTF-8, each 00 written 00 ff, then 00 00
    38 bytes        the same
    others          kept free for the types that ids have elsewhere

The laws: the order of codes is the order of types above, then of values (UTF-8 orders as code points do); no code is
the beginning of another, so codes are joined without a mark between them; two values have one code only when they are
one value. 0.0 and -0.0 are two (they hash apart, too) and sort side by side.

A string or bytes whose code would pass its limit is shortened: as much of the code as fits, then 00 80 and 16 bytes of
BLAKE2b over the whole. It still sorts with its beginning, is never equal to a whole code, and cannot be read back: who
shortens keeps the whole value beside the key and compares it.

    30 74 65 73 74 00 00          "test"
    30 74 65 ... 00 80 <hash>     "te...", shortened
"""

from collections.abc import Iterable
from hashlib import blake2b
from struct import Struct
from typing import Final, TypeAlias

from armillary.errors import Kind, Refusal
from armillary.values import UNDEFINED, KeyValue

Part: TypeAlias = KeyValue | bytes

# A key of the store is at most 511 bytes. It takes 1 + 48 (effective key) + 3 x 96 + 160 = 497 at most; with a V1
# effective key, which has a single value, 1 + 112 + 96 + 160 = 369.
VALUE_LIMIT: Final = 96
ID_LIMIT: Final = 160

_FIXED: Final[dict[object, bytes]] = {UNDEFINED: b"\x08", None: b"\x10", False: b"\x18", True: b"\x20"}
_FIXED_VALUES: Final[dict[int, Part]] = {0x08: UNDEFINED, 0x10: None, 0x18: False, 0x20: True}
_NUMBER, _STRING, _BYTES = 0x28, 0x30, 0x38
_STRING_TAG, _BYTES_TAG = b"\x30", b"\x38"
_ZERO, _ESCAPED, _END, _SHORTENED = b"\x00", b"\x00\xff", b"\x00\x00", b"\x00\x80"
_HASH_SIZE: Final = 16
_TAIL_SIZE: Final = len(_SHORTENED) + _HASH_SIZE
_SIGN: Final = 1 << 63
_ALL: Final = (1 << 64) - 1
_DOUBLE: Final = Struct(">d")
_TAGGED: Final = Struct(">BQ")
_U64: Final = Struct(">Q")


def encode_value(value: Part, limit: int = VALUE_LIMIT) -> bytes:
    """The code of one value, at most `limit` bytes long (a limit is at least 24).

    >>> encode_value("a").hex(" "), encode_value(1).hex(" ")
    ('30 61 00 00', '28 bf f0 00 00 00 00 00 00')
    """
    if isinstance(value, str):
        code = _STRING_TAG + value.encode().replace(_ZERO, _ESCAPED) + _END
    elif value is None or value is UNDEFINED or isinstance(value, bool):
        return _FIXED[value]
    elif isinstance(value, bytes):
        code = _BYTES_TAG + value.replace(_ZERO, _ESCAPED) + _END
    else:
        return _encode_number(value)
    return code if len(code) <= limit else _shorten(code, limit)


def encode_key(values: Iterable[Part], limit: int = VALUE_LIMIT) -> tuple[bytes, bool]:
    """The joined codes of a tuple, each within `limit`, and whether any of them is shortened."""
    codes = [encode_value(value, limit) for value in values]
    return b"".join(codes), any(map(is_shortened, codes))


def is_shortened(code: bytes) -> bool:
    """Whether the code of one value is shortened. (In a whole code 00 is followed by ff or ends it.)"""
    return code[0] >= _STRING and code[-_TAIL_SIZE:-_HASH_SIZE] == _SHORTENED and len(code) > _TAIL_SIZE


def split_key(key: bytes, start: int = 0) -> list[bytes]:
    """The codes of the values that are joined in `key` from `start` on; refused where the bytes are no code."""
    codes = []
    while start < len(key):
        stop = _find_end(key, start)
        codes.append(key[start:stop])
        start = stop
    return codes


def decode_key(key: bytes, start: int = 0) -> list[Part]:
    """The values of joined codes; refused when one is shortened."""
    return [decode_value(code) for code in split_key(key, start)]


def decode_value(code: bytes) -> Part:
    """The value of one whole code."""
    tag = code[0]
    if tag in _FIXED_VALUES:
        return _FIXED_VALUES[tag]
    if tag == _NUMBER:
        return _decode_number(code)
    if is_shortened(code):
        raise Refusal(Kind.STORE_BROKEN, detail="a shortened key code cannot be read back")
    content = code[1 : -len(_END)].replace(_ESCAPED, _ZERO)
    return content.decode() if tag == _STRING else content


def prefix_end(prefix: bytes) -> bytes:
    """The smallest key after all keys that begin with `prefix`.

    >>> prefix_end(b"ab"), prefix_end(b"a\\xff\\xff")
    (b'ac', b'b')
    """
    kept = prefix.rstrip(b"\xff")
    if not kept:
        raise ValueError("no key comes after all keys of this prefix")
    return kept[:-1] + bytes((kept[-1] + 1,))


def _encode_number(value: float) -> bytes:
    (bits,) = _U64.unpack(_DOUBLE.pack(value))
    return _TAGGED.pack(_NUMBER, bits ^ _ALL if bits & _SIGN else bits | _SIGN)


def _decode_number(code: bytes) -> float:
    _, bits = _TAGGED.unpack(code)
    number: float = _DOUBLE.unpack(_U64.pack(bits ^ _SIGN if bits & _SIGN else bits ^ _ALL))[0]
    return number


def _shorten(code: bytes, limit: int) -> bytes:
    # An escape cut in two would end in a lone 00 and make the mark unreadable: 00 | 00 80.
    head = code[: limit - _TAIL_SIZE]
    if head.count(_ZERO) != head.count(_ESCAPED):
        head = head[:-1]
    return head + _SHORTENED + blake2b(code, digest_size=_HASH_SIZE).digest()


def _find_end(key: bytes, start: int) -> int:
    tag = key[start]
    if tag in _FIXED_VALUES:
        return start + 1
    if tag == _NUMBER:
        return start + _TAGGED.size
    at = start + 1
    while tag in (_STRING, _BYTES):
        at = key.find(_ZERO, at)
        mark = key[at : at + 2]
        if at < 0 or mark not in (_ESCAPED, _END, _SHORTENED):
            break
        at += len(mark)
        if mark != _ESCAPED:
            return at if mark == _END else at + _HASH_SIZE
    raise Refusal(Kind.STORE_BROKEN, detail=f"no key code begins at {start} of {key.hex()}")
