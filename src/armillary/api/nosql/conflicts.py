"""Conflicts: with one region two writes never conflict, so every container has a feed of them that is empty."""

from armillary.api.nosql.call import Call
from armillary.api.nosql.feeds import answer_rows
from armillary.errors import Kind, Refusal
from armillary.wire.http import Response


def read_conflicts(call: Call) -> Response:
    return answer_rows(call, call.container().rid, "Conflicts", "f", [], [])


def find_conflict(call: Call) -> Response:
    """One that is to be read or deleted is not there."""
    call.container()
    raise Refusal(Kind.RESOURCE_MISSING, name=call.segments[5])
