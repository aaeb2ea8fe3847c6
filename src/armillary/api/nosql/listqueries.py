"""Queries over databases, containers, offers and conflicts: the SQL of items, over the resources of a feed.

Clients find the offer of a container so: `SELECT * FROM root r WHERE r.resource = @link`. There are a few hundred such
resources at most, so a query looks at all of them, in memory. What comes out item by item is paged like the feed
itself, behind the number of the last resource; what is sorted, grouped, told apart or cut is one page.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from armillary.api.nosql.call import Call
from armillary.api.nosql.feeds import after_number, continue_after
from armillary.api.nosql.question import Question, read_question
from armillary.api.nosql.resources import render_container, render_database
from armillary.api.nosql.throughput import render_offer
from armillary.container import compile_container
from armillary.json import dump
from armillary.lang.sql import prepare, select
from armillary.query.plan import Distinct, Group, Slice, Sort, nodes_of
from armillary.units import PRICES
from armillary.wire.http import Response

_ALL: Final = 1_000_000
_CHARGE: Final = PRICES["lists"].units


def query_databases(call: Call) -> Response:
    rows = call.database.databases(after_number(call, "", "qb"), _ALL)
    return _answer(call, ("", "Databases", "qb"), rows, render_database)


def query_containers(call: Call) -> Response:
    owner = call.owner()
    rows = call.database.containers(owner, after_number(call, owner.rid, "qc"), _ALL)
    feed = (owner.rid, "DocumentCollections", "qc")
    return _answer(call, feed, rows, lambda row: render_container(compile_container(row, owner)))


def query_offers(call: Call) -> Response:
    rows = call.database.offers(after_number(call, "", "qo"), _ALL)
    return _answer(call, ("", "Offers", "qo"), rows, render_offer)


def query_conflicts(call: Call) -> Response:
    """With one region there are none."""
    return _answer(call, (call.container().rid, "Conflicts", "qf"), (), dict)


def _answer(
    call: Call, feed: tuple[str, str, str], rows: Sequence[Any], render: Callable[[Any], dict[str, Any]]
) -> Response:
    owner, name, kind = feed
    question = read_question(call)
    more = ""
    if any(isinstance(node, Sort | Group | Distinct | Slice) for node in nodes_of(prepare(question.text).plan)):
        found = _ask(call, question, map(render, rows))
    else:
        size, found = call.page_size(), []
        for place, row in enumerate(rows):
            results = _ask(call, question, (render(row),))
            if found and len(found) + len(results) > size:
                more = continue_after(owner, kind, rows[place - 1].number)
                break
            found += results
    head = call.head(_CHARGE) + f"x-ms-item-count: {len(found)}\r\n{more}"
    return Response(200, head.encode(), dump({"_rid": owner, name: found, "_count": len(found)}))


def _ask(call: Call, question: Question, resources: Iterable[dict[str, Any]]) -> list[object]:
    return select(question.text, resources, question.parameters, call.database.clock)
