"""Offers: the throughput of containers and databases: read, list, replace."""

from armillary.api.nosql.call import Call
from armillary.api.nosql.databases import CHANGE, READ
from armillary.api.nosql.feeds import after_number, answer_rows
from armillary.api.nosql.throughput import (
    DATABASE,
    Bounds,
    bounds_of,
    check_minute,
    is_fixed,
    least_throughput,
    read_replacement,
    render_offer,
)
from armillary.errors import Kind, Refusal
from armillary.kv.steps import Steps
from armillary.store.catalog import OfferRow
from armillary.store.rids import RidKind, parse_rid
from armillary.wire.http import Response


def read_offers(call: Call) -> Response:
    rows = call.database.offers(after_number(call, "", "o"), call.page_size() + 1)
    return answer_rows(call, "", "Offers", "o", rows, [render_offer(row) for row in rows])


def read_offer(call: Call) -> Response:
    return _answer(call, _find(call), READ)


def replace_offer(call: Call) -> Steps[Response]:
    row = _find(call)
    bounds = _find_bounds(call, row)
    changed = read_replacement(row, call.body(), call.headers, bounds)
    parts = sum(len(payer.ranges) for payer in call.database.admission.list_payers(row))
    check_minute(changed, bounds, parts)
    row = yield from call.database.replace_offer(changed, call.etag(b"if-match"))
    return _answer(call, row, CHANGE)


def is_pending(call: Call, row: OfferRow) -> bool:
    """Whether a change of this offer is still under way: partitions that it needs are being split."""
    return any(payer.splits for payer in call.database.admission.list_payers(row))


def _answer(call: Call, row: OfferRow, charge: float) -> Response:
    answer = call.answer(200, render_offer(row), charge)
    least = least_throughput(row, _find_bounds(call, row))
    pending = "true" if is_pending(call, row) else "false"
    more = f"x-ms-cosmos-min-throughput: {least}\r\nx-ms-offer-replace-pending: {pending}\r\n"
    return answer._replace(head=answer.head + more.encode())


def _find_bounds(call: Call, row: OfferRow) -> Bounds:
    rid = parse_rid(row.owner)
    if rid is None or rid.kind is not RidKind.CONTAINER:
        return DATABASE
    payers = call.database.admission.list_payers(row)
    return bounds_of(call.database.limits, fixed=any(is_fixed(payer.definition) for payer in payers))


def _find(call: Call) -> OfferRow:
    name = call.segments[1]
    rid = parse_rid(name)
    row = call.database.offer(rid.number) if rid is not None and rid.kind is RidKind.OFFER else None
    if row is None:
        raise Refusal(Kind.OFFER_MISSING, id=name)
    return row
