"""What an item tells of itself."""

from binascii import Error, a2b_base64
from typing import Final

from armillary.query.functions.function import Function
from armillary.query.numbers import narrow
from armillary.values import UNDEFINED

_RID_SIZE: Final = 16
_NUMBER_BITS: Final = 60


def read_number(item: object) -> object:
    """DOCUMENTID: the number in the item's `_rid` - its last 8 bytes, little-endian, without the kind."""
    rid = item.get("_rid") if isinstance(item, dict) else None
    if not isinstance(rid, str):
        return UNDEFINED
    try:
        raw = a2b_base64(rid.replace("-", "/"), strict_mode=True)
    except (Error, ValueError):
        return UNDEFINED
    if len(raw) != _RID_SIZE:
        return UNDEFINED
    return narrow(int.from_bytes(raw[8:], "little") & ((1 << _NUMBER_BITS) - 1))


ITEM: Final = (Function("DOCUMENTID", 1, 1, read_number),)
