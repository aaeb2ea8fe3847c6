"""The account and its databases: create, read, delete."""

from typing import Final

from armillary.api.nosql.call import Call
from armillary.api.nosql.resources import render_account, render_database
from armillary.api.nosql.throughput import DATABASE, check_minute, read_database_offer
from armillary.json import dump
from armillary.kv.steps import Steps
from armillary.units import PRICES
from armillary.wire.http import Response

READ: Final = PRICES["reads"].units
CHANGE: Final = PRICES["changes"].units


def read_account(call: Call) -> Response:
    """The account document. It has no etag, and names the address that this client used."""
    scheme = "https" if call.request.secure else "http"
    address = f"{scheme}://{call.text(b'host')}/"
    return Response(200, call.head(READ).encode(), dump(render_account(address, call.account_level)))


def create_database(call: Call) -> Steps[Response]:
    name = call.name(call.body())
    offer = read_database_offer(call.headers)
    check_minute(offer, DATABASE, 1)
    row = yield from call.database.create_database(name, offer)
    return call.answer(201, render_database(row), CHANGE)


def read_database(call: Call) -> Response:
    return call.answer(200, render_database(call.owner()), READ)


def delete_database(call: Call) -> Steps[Response]:
    yield from call.database.delete_database(call.owner(), call.etag(b"if-match"))
    return Response(204, call.head(CHANGE).encode())
