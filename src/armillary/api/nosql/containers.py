"""Containers: create, read, replace, delete."""

from typing import Any, Final

from armillary.api.nosql.call import Call
from armillary.api.nosql.databases import CHANGE, READ
from armillary.api.nosql.policies import define_container, redefine_container
from armillary.api.nosql.resources import render_container, render_statistics
from armillary.api.nosql.throughput import bounds_of, check_minute, count_partitions, is_fixed, read_container_offer
from armillary.container import Container
from armillary.errors import Kind, Refusal
from armillary.kv.steps import Steps
from armillary.store.catalog import Range
from armillary.wire.http import Response

API: Final = "nosql"
_STATISTICS: Final = b"x-ms-documentdb-populatepartitionstatistics"


def create_container(call: Call) -> Steps[Response]:
    owner = call.owner()
    body = call.body()
    name = call.name(body)
    definition = define_container(body, call.text(b"x-ms-version"))
    limits, default = call.database.limits, call.database.admission.options.default_throughput
    bounds = bounds_of(limits, fixed=is_fixed(definition))
    offer = read_container_offer(call.headers, bounds, shared=owner.offer is not None, default=default)
    shared = call.database.offer(owner.offer) if owner.offer is not None else None
    parts = 1 if is_fixed(definition) else count_partitions(offer, shared, limits)
    check_minute(offer, bounds, parts)
    container = yield from call.database.create_container(owner, name, API, definition, offer, parts)
    return _answer(call, 201, container, CHANGE)


def read_container(call: Call) -> Response:
    container = call.resource()
    usage = call.database.usage(container) if call.flag(_STATISTICS) else None
    return _answer(call, 200, container, READ, usage)


def replace_container(call: Call) -> Steps[Response]:
    container = call.resource()
    body = call.body()
    if body.get("id") != container.row.id:
        raise Refusal(Kind.BAD_ID, reason="the id of a container cannot be changed")

    def redefine(old: dict[str, Any]) -> dict[str, Any]:
        return redefine_container(old, body)

    changed = yield from call.database.replace_container(container, redefine, call.etag(b"if-match"))
    return _answer(call, 200, changed, CHANGE)


def delete_container(call: Call) -> Steps[Response]:
    yield from call.database.delete_container(call.resource(), call.etag(b"if-match"))
    return Response(204, call.head(CHANGE).encode())


def _answer(
    call: Call, status: int, container: Container, charge: float, usage: list[tuple[Range, int, int]] | None = None
) -> Response:
    resource = render_container(container)
    if usage is not None:
        resource["statistics"] = render_statistics(usage)
    answer = call.answer(status, resource, charge)
    path = container.link.partition("/colls/")[0]
    more = f"x-ms-alt-content-path: {path}\r\nx-ms-content-path: {container.owner.rid}\r\n" + call.quota(container)
    return answer._replace(head=answer.head + more.encode("latin-1"))
