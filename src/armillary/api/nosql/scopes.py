"""Which items a feed is about: those of a key, of a prefix of a hierarchical key, of a range, or all of them.

Routers address a range by the id they know from the map, and may ask for a part of it by effective keys. An id that the
map does not have any more is told, so that they look again.
"""

from armillary.api.nosql.call import Call
from armillary.container import Container
from armillary.errors import Kind, Refusal
from armillary.keys.ranges import EVERYTHING, EpkRange
from armillary.store.reading import Scope, scope_of


def find_scope(call: Call, container: Container) -> Scope:
    """The item keys that a request is about."""
    if b"x-ms-documentdb-partitionkey" in call.headers:
        return container.scope(call.key(container, whole=False))
    within = find_range(call, container)
    low, high = call.text(b"x-ms-start-epk"), call.text(b"x-ms-end-epk")
    if low or high:
        asked = _read_bounds(low, high)
        within = EpkRange(max(within.start, asked.start), min(within.stop, asked.stop))
    return scope_of(within)


def find_range(call: Call, container: Container) -> EpkRange:
    """The range that the header names, or everything."""
    name = call.text(b"x-ms-documentdb-partitionkeyrangeid").rpartition(",")[2]
    if not name:
        return EVERYTHING
    for place, bounds in zip(container.row.ranges, container.ranges, strict=True):
        if place.id == name:
            return bounds
    raise Refusal(Kind.RANGE_GONE, id=name, name=container.row.id)


def _read_bounds(low: str, high: str) -> EpkRange:
    try:
        return EpkRange(bytes.fromhex(low), bytes.fromhex(high or "FF"))
    except ValueError:
        raise Refusal(Kind.BAD_HEADER, header="x-ms-start-epk", reason="an effective key is hexadecimal") from None
