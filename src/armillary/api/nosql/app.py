"""The document API as one function: from a request to its answer.

    request -> who signed it -> which operation -> answer, or steps that end in one

Two things are done for all operations here. What a process remembers of a container may be stale; then everything is
looked up and done again: where a partition says so, and before anything is refused by what is only remembered. And
every refusal, wherever it is found, becomes an answer by the one table of errors.
"""

import os
from itertools import count
from typing import Final

from armillary.api.nosql.access import Access
from armillary.api.nosql.call import LEVELS, Call
from armillary.api.nosql.errors import render_refusal
from armillary.api.nosql.operations import FLAGGED, PATHS, PLAIN, QUERY, UNBUILT, Handler, Operation
from armillary.database import STALE, Database
from armillary.errors import Fault, Kind, Refusal
from armillary.kv.steps import Steps
from armillary.store.catalog import Range
from armillary.store.splitting import SealWatch
from armillary.units import price_refusal
from armillary.wire.http import Request, Response
from armillary.wire.signature import read_resource

_TRIES: Final = 4
_ITEMS: Final = ["docs"]  # below it partitions are budgeted, everywhere else the account
_QUERY_TYPE: Final = b"application/query+json"


class NosqlApp:
    """Answers requests of the document API."""

    def __init__(self, database: Database, access: Access, consistency: str) -> None:
        self._database = database
        self._access = access
        self._level = LEVELS.index(consistency)
        salt = os.urandom(10).hex()
        self._activity = f"{salt[:8]}-{salt[8:12]}-{salt[12:16]}-{salt[16:20]}-%012x"
        self._numbers = count(1)

    def handle(self, request: Request) -> Response | Steps[Response]:
        activity = self._activity % next(self._numbers)
        resource = read_resource(request.path)
        call = Call(request, self._database, resource.segments, activity, self._level)
        try:
            if resource.segments != ["addresses"]:  # signed as what it would lead to, and it leads nowhere
                self._access.admit(request, resource)
            handler = _find_handler(request, resource.segments)
            if resource.segments[4:5] != _ITEMS:
                call.ticket = self._database.admission.metadata().admit()
            answer = handler(call)
        except Refusal as refused:
            if not self._is_stale(call, refused):
                return call.leave(_refuse(call, refused))
            answer = self._repeat(call, handler, refused)
        return call.leave(answer) if isinstance(answer, Response) else self._finish(call, handler, answer)

    def _finish(self, call: Call, handler: Handler, steps: Steps[Response]) -> Steps[Response]:
        try:
            return call.leave((yield from steps))
        except Refusal as refused:
            stale = refused
        return call.leave((yield from self._repeat(call, handler, stale)))

    def _repeat(self, call: Call, handler: Handler, refused: Refusal) -> Steps[Response]:
        """Look everything up again, and do it again, until it is not stale; what always is, is told to the caller.

        A sealed partition is waited for.
        """

        def resolve(seal: bytes) -> None:
            self._database.resolve_seal(bytes.fromhex(str(refused.context["partition"])), seal)

        tries = _TRIES
        watch = SealWatch(self._database.clock, resolve)
        while tries and self._is_stale(call, refused):
            seal = refused.context.get("seal")
            if isinstance(seal, bytes) and seal:
                yield from watch.wait(seal)
            else:
                tries -= 1
            self._database.forget()
            try:
                answer = handler(call)
                return answer if isinstance(answer, Response) else (yield from answer)
            except Refusal as again:
                refused = again
        return _refuse(call, refused)

    def _is_stale(self, call: Call, refused: Refusal) -> bool:
        """Whether it might be answered otherwise by what is true now.

        What was refused inside a partition was refused by the truth. What was refused before that may have been refused
        by the definition or the map of a container that was changed or made again elsewhere.
        """
        if refused.kind in STALE:
            return True
        remembered = refused.fault is Fault.CALLER or refused.kind is Kind.RANGE_GONE
        return remembered and call.found is not None and not self._database.is_current(call.found)


def _refuse(call: Call, refused: Refusal) -> Response:
    charge = price_refusal(refused.kind)
    place, lsn = refused.context.get("place"), refused.context.get("lsn")
    if isinstance(place, Range) and isinstance(lsn, int) and call.found is not None:
        head = call.place_head(charge, call.found, place, lsn)
    else:
        head = call.head(charge)
    return render_refusal(refused, call.activity, head.encode("latin-1"))


def _find_handler(request: Request, segments: list[str]) -> Handler:
    path = "/".join(segments[::2])
    if segments and not len(segments) % 2:
        path += "/*"
    method = b"GET" if request.method == b"HEAD" else request.method
    others = FLAGGED.get((method, path))
    if others is not None:
        for other in others:
            if _is_meant(other, request.headers):
                return _must_have(other)
    found = PLAIN.get((method, path))
    if found is not None:
        return _must_have(found)
    if path in UNBUILT:
        raise Refusal(Kind.NOT_BUILT, what=UNBUILT[path])
    if path in PATHS:
        raise Refusal(Kind.NOT_ALLOWED, method=method.decode("latin-1"), resource=path)
    raise Refusal(Kind.RESOURCE_MISSING, name="/" + "/".join(segments))


def _is_meant(operation: Operation, headers: dict[bytes, bytes]) -> bool:
    """Whether the headers make this another operation than its method says."""
    if operation.flag == QUERY and headers.get(b"content-type", b"").startswith(_QUERY_TYPE):
        return True
    return headers.get(operation.flag, b"false").lower() != b"false"


def _must_have(operation: Operation) -> Handler:
    if operation.handler is None:
        raise Refusal(Kind.NOT_BUILT, what=operation.note or f"The operation '{operation.name}'")
    return operation.handler
