"""Queries over items: what a gateway serves itself, what it tells clients to plan, and the plans.

    by key or range               executed here, whatever it asks for
    over the whole container      projections and filters are executed here, over all partitions that can hold rows;
                                  everything else is refused with its plan (400/1004), unless one key value pins it

A query runs in slices, between which everybody else is served, and ends a page early when it has read much. The
continuation is a position, bound to the container and to the question: `AQ1~{rid}~{question}~{position}`.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from random import random
from typing import Final

from armillary.api.nosql.call import DRAWN, PAGE_BYTES, Call
from armillary.api.nosql.question import Question, read_question
from armillary.api.nosql.scopes import find_scope
from armillary.container import Container
from armillary.errors import Kind, Refusal
from armillary.json import dump
from armillary.keycode import prefix_end
from armillary.keys.ranges import EpkRange
from armillary.kv.steps import Steps, Turn
from armillary.lang.sql import Statement, prepare
from armillary.lang.sql.distribution import Distribution, distribute, read_features
from armillary.lang.sql.ranges import QueryRange, find_ranges
from armillary.query.pages import Page, Pages
from armillary.query.positions import Position, read_position, write_position
from armillary.query.source import start_run
from armillary.querying import ItemSource, Standpoint, Visit
from armillary.store.layout import ITEM
from armillary.store.reading import Scope, scope_of
from armillary.wire.http import Response

_MARK: Final = "AQ1"
_PARTS: Final = 4
_KEY: Final = b"x-ms-documentdb-partitionkey"
_RANGE: Final = b"x-ms-documentdb-partitionkeyrangeid"
_ACROSS: Final = b"x-ms-documentdb-query-enablecrosspartition"
_FEATURES: Final = b"x-ms-cosmos-supported-query-features"
_TOKEN_LIMIT: Final = b"x-ms-documentdb-responsecontinuationtokenlimitinkb"
_METRICS: Final = b"x-ms-documentdb-populatequerymetrics"
_READ_BYTES: Final = 8 * PAGE_BYTES  # what a page reads at most where it can end


def query_items(call: Call) -> Steps[Response]:
    """A page of a query."""
    container = call.container()
    question = read_question(call)
    statement = prepare(question.text)
    scopes = _find_scopes(call, container, statement, question.parameters)
    mark = f"{_MARK}~{container.rid}~{_identify(question)}~"
    position = _read_position(call, mark)
    factor = call.factor()
    source = ItemSource(call.database, container, scopes, Standpoint(call.session, call.wish()))
    run = start_run(source, question.parameters, call.database.clock.ticks, random)
    pages = statement.pages(run, position)
    pages.begin(call.page_size())
    while pages.advance() and not _has_read_enough(pages, source):
        yield Turn()
    return _answer(call, container, source, pages.end(), mark, factor)


def plan_query(call: Call) -> Response:
    """What a client needs to execute a query over several partitions itself."""
    container = call.container()
    question = read_question(call)
    spread = distribute(prepare(question.text), question.parameters, container.key)
    spread.check_client(read_features(call.text(_FEATURES)))
    return Response(200, call.head(1.0).encode("latin-1"), dump(spread.to_json()))


def _has_read_enough(pages: Pages, source: ItemSource) -> bool:
    return pages.can_end and source.size > _READ_BYTES


# ---- where it looks


def _find_scopes(
    call: Call, container: Container, statement: Statement, parameters: Mapping[str, object]
) -> Sequence[Scope]:
    """The scopes that a query looks into: as far as it was asked about them, and they can hold rows."""
    whole = find_scope(call, container)
    if _KEY in call.headers:
        return [whole]
    if _RANGE not in call.headers:
        _check_gateway(call, container, distribute(statement, parameters, container.key))
    ranges = find_ranges(statement.plan, parameters, container.key)
    scopes = (_scope_of_range(found) for found in sorted(ranges, key=lambda found: found.start))
    cut = (Scope(max(scope.start, whole.start), min(scope.stop, whole.stop)) for scope in scopes)
    return [scope for scope in cut if scope.start < scope.stop]


def _check_gateway(call: Call, container: Container, spread: Distribution) -> None:
    """Refuse what no gateway serves over a whole container."""
    if spread.is_pinned:
        return
    if not call.flag(_ACROSS) and len(container.row.ranges) > 1:
        raise Refusal(Kind.CROSSES_PARTITIONS)
    if not spread.is_direct:
        raise Refusal(Kind.PLAN_NEEDED, plan=dump(spread.to_json()).decode())


def _scope_of_range(found: QueryRange) -> Scope:
    if not found.is_point:
        return scope_of(EpkRange(found.start, found.stop))
    if not found.start:  # the point of no key at all: items of a container without one lie there
        return Scope(ITEM, prefix_end(ITEM + bytes(16)))
    return Scope(ITEM + found.start, prefix_end(ITEM + found.start))


# ---- continuations


def _identify(question: Question) -> str:
    """A short text that another question does not have."""
    asked = dump([question.text, dict(question.parameters)])
    return blake2b(asked, digest_size=6).hexdigest()


def _read_position(call: Call, mark: str) -> Position | None:
    text = call.text(b"x-ms-continuation")
    if not text:
        return None
    if not text.startswith(f"{_MARK}~"):
        raise Refusal(Kind.BAD_CONTINUATION, reason="it is none of this server's")
    if not text.startswith(mark):
        raise Refusal(Kind.BAD_CONTINUATION, reason="it belongs to another query")
    return read_position(text[len(mark) :])


def _write_position(call: Call, mark: str, position: Position) -> str:
    token = mark + write_position(position)
    limit = call.text(_TOKEN_LIMIT)
    if limit.isdecimal() and len(token) > int(limit) * 1024 > 0:
        reason = f"its continuation has {len(token)} bytes, over the limit of {limit} KB that the request sets"
        raise Refusal(Kind.BAD_REQUEST, reason=f"The page cannot end here: {reason}; ask for a larger page")
    return f"x-ms-continuation: {token}\r\n"


# ---- answers


def _answer(call: Call, container: Container, source: ItemSource, page: Page, mark: str, factor: float) -> Response:
    visits = list(source.visits.values())
    charge = round(sum(visit.charge(factor) for visit in visits), 2)
    place, lsn = (visits[-1].place, visits[-1].lsn) if visits else (container.row.ranges[0], 0)
    head = call.place_head(charge, container, place, lsn) if visits else call.head(charge)
    head += DRAWN[any(visit.ticket.drawn for visit in visits) if visits else None]
    head += f"x-ms-item-count: {len(page.values)}\r\n"
    if page.position is not None:
        head += _write_position(call, mark, page.position)
    body = dump({"_rid": container.rid, "Documents": page.values, "_count": len(page.values)})
    if call.flag(_METRICS):
        head += _describe(visits, page, len(body))
    return Response(200, head.encode("latin-1"), body)


def _describe(visits: Sequence[Visit], page: Page, size: int) -> str:
    """The metrics that are counted here."""
    items, read = sum(visit.items for visit in visits), sum(visit.size for visit in visits)
    used = len(page.values) / items if items else 0.0
    metrics = (
        f"retrievedDocumentCount={items};retrievedDocumentSize={read};outputDocumentCount={len(page.values)};"
        f"outputDocumentSize={size};indexUtilizationRatio={min(1.0, used):.2f}"
    )
    return f"x-ms-documentdb-query-metrics: {metrics}\r\n"
