"""Unique keys: each rule of a container becomes one digest of an item, unique within one value of the partition key.

A missing property counts as null. Values of different types differ; numbers are compared as doubles, arrays and objects
by their normal form. The digest has 128 bits of BLAKE2b, so that two values share one only by a broken hash.
"""

from collections.abc import Sequence
from hashlib import blake2b

from armillary.json import dump, load

Paths = tuple[tuple[str, ...], ...]


def digest_item(rules: Sequence[Paths], item: object) -> tuple[bytes, ...]:
    """One digest for each rule."""
    return tuple(blake2b(dump([_find(item, path) for path in paths]), digest_size=16).digest() for paths in rules)


def digest_body(rules: Sequence[Paths], body: bytes) -> tuple[bytes, ...]:
    return digest_item(rules, load(body)) if rules else ()


def _find(value: object, path: Sequence[str]) -> object:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
