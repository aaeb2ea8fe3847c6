"""What is served: the document API over one database, the server's own pages behind the key, and the keeper's jobs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from armillary.api.nosql.access import Access
from armillary.api.nosql.app import NosqlApp
from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.config import Settings
from armillary.database import Database
from armillary.errors import Refusal
from armillary.json import dump
from armillary.kv.engine import Engine
from armillary.kv.steps import Block, Steps, drive
from armillary.server.expiry import Expiry
from armillary.server.keeper import Job
from armillary.server.keys import Keys
from armillary.wire.http import Request, Response
from armillary.wire.signature import read_resource

__all__ = ["Served", "make_app", "make_jobs"]

_EXPIRY_EVERY: Final = 1.0
_JSON: Final = b"content-type: application/json\r\n"


class Served:
    """The application of one worker; `admin` are the pages under `/_armillary/`."""

    def __init__(self, database: Database, access: Access, consistency: str) -> None:
        self._database = database
        self._access = access
        self.handle = NosqlApp(database, access, consistency).handle
        self.admin: Mapping[bytes, Callable[[Request], Response | Steps[Response]]] = {
            b"/_armillary/check": self._check,
        }

    def _check(self, request: Request) -> Response | Steps[Response]:
        try:
            self._access.admit(request, read_resource(request.path))
        except Refusal as refused:
            return Response(401, _JSON, dump({"code": "Unauthorized", "message": str(refused)}))
        return self._walk()

    def _walk(self) -> Steps[Response]:
        report = yield Block(self._database.check)
        return Response(200, _JSON, dump(report._asdict()))


def make_app(engine: Engine, settings: Settings, keys: Keys) -> Served:
    """Bring the store in order and serve it; nothing else works on it yet."""
    clock = Clock()
    database = Database(engine, clock)
    drive(engine, database.recover())
    access = Access(keys.secrets, lambda: clock.ticks() / TICKS_PER_SECOND)
    return Served(database, access, settings.consistency)


def make_jobs(engine: Engine, _settings: Settings, _keys: Keys) -> Sequence[Job]:
    return [Job("expiry", _EXPIRY_EVERY, Expiry(Database(engine, Clock())).run)]
