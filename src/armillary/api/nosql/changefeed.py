"""The change feed, latest version, of a key or of a range.

Its continuation is the ETag of every answer, also of the one that nothing is new (304): an LSN in quotes. The start is
the beginning, now (`*`), a moment, or such an ETag; a moment that comes again beside an ETag means nothing more.
"""

from typing import Final

from armillary.api.nosql.call import DRAWN, PAGE_BYTES, Call
from armillary.api.nosql.feeds import answer_items
from armillary.api.nosql.scopes import find_scope
from armillary.clock import TICKS_PER_SECOND
from armillary.container import Container
from armillary.errors import Kind, Refusal
from armillary.store.reading import Scope
from armillary.wire.http import Response
from armillary.wire.signature import parse_date

_LATEST: Final = "incremental feed"
_FULL: Final = "full-fidelity feed"
# What the service says where an account has no such feature.
_ALL_VERSIONS: Final = "'All Versions and Deletes' must be enabled for the account; this mode of the change feed"


def read_changes(call: Call) -> Response:
    mode = call.text(b"a-im").lower()
    if mode != _LATEST:
        raise Refusal(Kind.NOT_BUILT, what=_ALL_VERSIONS if mode == _FULL else f"The change feed {mode!r}")
    container = call.container()
    scope = find_scope(call, container)
    _check_scope(container, scope)
    start, since = _find_start(call)
    limits = (call.page_size(), PAGE_BYTES)
    found = call.database.read_changes(container, scope, start, since, limits, call.wish())
    changes = found.changes
    head = call.place_head(found.charge, container, found.place, found.lsn) + DRAWN[found.drawn]
    head += f'etag: "{changes.position}"\r\n'
    if not changes.items and not changes.more:
        return Response(304, head.encode("latin-1"))
    bodies = [b'%b,"_lsn":%d}' % (item.body[:-1], item.envelope.lsn) for item in changes.items]
    return answer_items(container, bodies, head)


def _check_scope(container: Container, scope: Scope) -> None:
    """A position is an LSN of one partition, so a feed over several has none."""
    last = container.route(scope.start)
    ends = container.bounds[container.row.ranges.index(last) + 1]
    if scope.stop > ends and last is not container.row.ranges[-1]:
        raise Refusal(Kind.BAD_REQUEST, reason="The change feed is read by key or by partition key range")


def _find_start(call: Call) -> tuple[int | None, int]:
    """The position, None for now; and the moment in ticks, 0 for none."""
    position = call.etag(b"if-none-match")
    if position == "*":
        return None, 0
    if position:
        if not position.isdecimal():
            raise Refusal(Kind.BAD_CONTINUATION, reason="the etag is no position in a change feed")
        return int(position), 0
    moment = call.headers.get(b"if-modified-since")
    if moment is None:
        return 0, 0
    seconds = parse_date(moment)
    if seconds is None:
        raise Refusal(Kind.BAD_HEADER, header="if-modified-since", reason="it is no date of RFC 1123")
    return 0, seconds * TICKS_PER_SECOND
