"""Read feeds: pages of items, databases, containers and ranges.

A continuation is a position, never an offset: for items the key to go on from, for the others the number of the last
row. `AF1~{owner rid}~{kind}~{position}` is its text; another owner's, or one that says nothing this
server would write, is refused.
"""

from base64 import b64decode, urlsafe_b64encode
from binascii import Error
from typing import Any, Final

from armillary.api.nosql.call import DRAWN, PAGE_BYTES, Call
from armillary.api.nosql.resources import render_container, render_database, render_feed, render_ranges
from armillary.api.nosql.scopes import find_scope
from armillary.container import Container, compile_container
from armillary.errors import Kind, Refusal
from armillary.store.layout import ITEM
from armillary.units import PRICES
from armillary.wire.http import Response

_MARK: Final = "AF1"
_PARTS: Final = 4
_MOST_DIGITS: Final = 12
_CHARGE: Final = PRICES["lists"].units


def read_items(call: Call) -> Response:
    """A page of items of a key, of a range, or of the whole container."""
    container = call.container()
    scope = find_scope(call, container)
    after = _read_position(call, container.rid, "d")
    if after is not None:
        scope = scope._replace(start=max(scope.start, _decode(after)))
    limits = (call.page_size(), PAGE_BYTES)
    found = call.database.read_feed(container, scope, limits, call.session, call.factor(), call.wish())
    page = found.page
    head = call.place_head(found.charge, container, found.place, found.lsn) + DRAWN[found.drawn]
    if page.next:
        head += f"x-ms-continuation: {_MARK}~{container.rid}~d~{_encode(page.next)}\r\n"
    return answer_items(container, [item.body for item in page.items], head)


def read_databases(call: Call) -> Response:
    rows = call.database.databases(after_number(call, "", "b"), call.page_size() + 1)
    return answer_rows(call, "", "Databases", "b", rows, [render_database(row) for row in rows])


def read_containers(call: Call) -> Response:
    owner = call.owner()
    rows = call.database.containers(owner, after_number(call, owner.rid, "c"), call.page_size() + 1)
    resources = [render_container(compile_container(row, owner)) for row in rows]
    return answer_rows(call, owner.rid, "DocumentCollections", "c", rows, resources)


def read_ranges(call: Call) -> Response:
    """The map. Routers follow it like a change feed: they ask until they are told that nothing is new.

    Its position is the version that brought the newest range; who knows one gets the ranges that came after it.
    """
    container = call.resource()
    newest = max(place.since for place in container.row.ranges)
    head = call.head(_CHARGE) + f'etag: "{newest}"\r\n'
    known = call.etag(b"if-none-match")
    after = int(known) if known.isdecimal() and len(known) < _MOST_DIGITS else 0
    if after == newest:
        return Response(304, head.encode())
    rows = render_ranges(container, after if after < newest else 0)
    head += f"x-ms-item-count: {len(rows)}\r\n"
    return Response(200, head.encode(), render_feed(container.rid, "PartitionKeyRanges", rows))


def answer_items(container: Container, bodies: list[bytes], head: str) -> Response:
    """A page of items that are bytes already."""
    head += f"x-ms-item-count: {len(bodies)}\r\n"
    body = b'{"_rid":"%b","Documents":[%b],"_count":%d}' % (container.rid.encode(), b",".join(bodies), len(bodies))
    return Response(200, head.encode("latin-1"), body)


def answer_rows(
    call: Call, owner: str, name: str, kind: str, rows: list[Any], resources: list[dict[str, Any]]
) -> Response:
    """One row more than a page was read: whether there is a next page is known, not guessed."""
    size = call.page_size()
    head = call.head(_CHARGE) + f"x-ms-item-count: {min(len(rows), size)}\r\n"
    if len(rows) > size:
        head += continue_after(owner, kind, rows[size - 1].number)
    return Response(200, head.encode(), render_feed(owner, name, resources[:size]))


def continue_after(owner: str, kind: str, number: int) -> str:
    """The header line of a feed that goes on behind the row with this number."""
    return f"x-ms-continuation: {_MARK}~{owner}~{kind}~{number}\r\n"


def after_number(call: Call, owner: str, kind: str) -> int:
    text = _read_position(call, owner, kind)
    if text is None:
        return -1
    if not text.isdecimal():
        raise Refusal(Kind.BAD_CONTINUATION, reason="its position is no number")
    return int(text)


def _read_position(call: Call, owner: str, kind: str) -> str | None:
    text = call.text(b"x-ms-continuation")
    if not text:
        return None
    parts = text.split("~")
    if len(parts) != _PARTS or parts[0] != _MARK:
        raise Refusal(Kind.BAD_CONTINUATION, reason="it is none of this server's")
    if parts[1] != owner or parts[2] != kind:
        raise Refusal(Kind.BAD_CONTINUATION, reason="it belongs to another feed")
    return parts[3]


def _encode(position: bytes) -> str:
    return urlsafe_b64encode(position).decode().rstrip("=")


def _decode(text: str) -> bytes:
    try:
        position = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (Error, ValueError):
        raise Refusal(Kind.BAD_CONTINUATION, reason="its position is damaged") from None
    if position[:1] != ITEM:
        raise Refusal(Kind.BAD_CONTINUATION, reason="its position is none in a feed of items")
    return position
