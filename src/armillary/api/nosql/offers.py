"""Offers: the throughput of containers and databases: read, list, replace."""

from armillary.api.nosql.call import Call
from armillary.api.nosql.databases import CHANGE, READ
from armillary.api.nosql.feeds import after_number, answer_rows
from armillary.api.nosql.throughput import read_replacement, render_offer
from armillary.errors import Kind, Refusal
from armillary.kv.steps import Steps
from armillary.store.catalog import OfferRow
from armillary.store.rids import RidKind, parse_rid
from armillary.wire.http import Response


def read_offers(call: Call) -> Response:
    rows = call.database.offers(after_number(call, "", "o"), call.page_size() + 1)
    return answer_rows(call, "", "Offers", "o", rows, [render_offer(row) for row in rows])


def read_offer(call: Call) -> Response:
    return call.answer(200, render_offer(_find(call)), READ)


def replace_offer(call: Call) -> Steps[Response]:
    changed = read_replacement(_find(call), call.body(), call.headers)
    row = yield from call.database.replace_offer(changed, call.etag(b"if-match"))
    return call.answer(200, render_offer(row), CHANGE)


def _find(call: Call) -> OfferRow:
    name = call.segments[1]
    rid = parse_rid(name)
    row = call.database.offer(rid.number) if rid is not None and rid.kind is RidKind.OFFER else None
    if row is None:
        raise Refusal(Kind.OFFER_MISSING, id=name)
    return row
