"""From the key values and the id of an item to the keys it has in the store.

The law: one item, one place. A part that was shortened keeps its whole code in `identity`, which every read compares.
"""

from collections.abc import Sequence
from typing import Final

from armillary.keycode import ID_LIMIT, VALUE_LIMIT, encode_key, encode_value, is_shortened
from armillary.keys.definition import KeyDefinition
from armillary.store.items import Place
from armillary.store.layout import ITEM, LOGICAL
from armillary.values import KeyValue

_NO_KEY: Final = bytes(16)
_WHOLE: Final = 1 << 20


def find_place(definition: KeyDefinition, values: Sequence[KeyValue], name: str) -> Place:
    """Where the item with these key values and this id lives."""
    key, shortened = logical_code(definition, values)
    id_code = encode_value(name, ID_LIMIT)
    if not shortened and (len(id_code) < ID_LIMIT - 1 or not is_shortened(id_code)):
        return Place(ITEM + key + id_code, LOGICAL + key, name)
    whole = encode_key(values, _WHOLE)[0]
    identity = whole + encode_value(name, _WHOLE)
    return Place(ITEM + key + id_code, LOGICAL + key, name, identity, whole if shortened else b"")


def logical_code(definition: KeyDefinition, values: Sequence[KeyValue]) -> tuple[bytes, bool]:
    """Effective key and key values as they begin the keys of one logical partition; whether a value was shortened."""
    epk = definition.epk(values) or _NO_KEY
    if len(values) == 1:
        code = encode_value(values[0], VALUE_LIMIT)
        return epk + code, len(code) >= VALUE_LIMIT - 1 and is_shortened(code)
    codes, shortened = encode_key(values, VALUE_LIMIT)
    return epk + codes, shortened
