"""What is served: the document API over one database, the server's own pages behind the key, and the keeper's jobs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from armillary.admission import Admission, read_options
from armillary.api.nosql.access import Access
from armillary.api.nosql.app import NosqlApp
from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.config import Settings
from armillary.database import Database
from armillary.errors import Refusal
from armillary.json import dump
from armillary.kv.engine import Engine
from armillary.kv.steps import Block, Steps, drive
from armillary.meter import MeterReader, Meters
from armillary.server.expiry import Expiry
from armillary.server.figures import FigurePages
from armillary.server.heat import Heat
from armillary.server.heatlog import HeatLog
from armillary.server.keeper import Job
from armillary.server.keys import Keys
from armillary.server.plan import Traffic
from armillary.server.splitpages import SplitPages
from armillary.server.splits import SOON, Splits
from armillary.wire.http import Request, Response
from armillary.wire.signature import read_resource

__all__ = ["Served", "make_app", "make_jobs", "prepare"]

Page: TypeAlias = Callable[[Request], Response | Steps[Response]]

_EXPIRY_EVERY: Final = 1.0
_HEAT_EVERY: Final = 5.0
_JSON: Final = b"content-type: application/json\r\n"


class Served:
    """The application of one worker; `admin` are the pages under `/_armillary/`."""

    def __init__(self, database: Database, access: Access, consistency: str, heat: HeatLog) -> None:
        self._database = database
        self._access = access
        self.handle = NosqlApp(database, access, consistency).handle
        splits = SplitPages(database)
        figures = FigurePages(database, heat)
        self.admin: Mapping[bytes, Page] = {
            b"/_armillary/check": self._admit({b"GET": self._check}),
            b"/_armillary/partitions": self._admit({b"GET": figures.show_partitions}),
            b"/_armillary/heat": self._admit({b"GET": figures.show_heat}),
            b"/_armillary/splits": self._admit({b"GET": splits.show}),
            b"/_armillary/split": self._admit({b"POST": splits.ask}),
            b"/_armillary/split/cancel": self._admit({b"POST": splits.cancel}),
        }

    def _admit(self, methods: Mapping[bytes, Page]) -> Page:
        """A page for holders of a key; those who may only read may not change anything here either."""

        def page(request: Request) -> Response | Steps[Response]:
            try:
                self._access.admit(request, read_resource(request.path))
            except Refusal as refused:
                return Response(401, _JSON, dump({"code": "Unauthorized", "message": str(refused)}))
            handler = methods.get(request.method)
            if handler is None:
                return Response(405, _JSON, dump({"code": "MethodNotAllowed", "message": "Not on this page"}))
            return handler(request)

        return page

    def _check(self, _: Request) -> Steps[Response]:
        report = yield Block(self._database.check)
        return Response(200, _JSON, dump(report._asdict()))


def prepare(engine: Engine) -> None:
    """Bring the store in order; nothing else works on it yet."""
    drive(engine, Database(engine, Clock()).recover())


def make_app(engine: Engine, settings: Settings, keys: Keys, traffic: Traffic) -> Served:
    """What one worker serves of a store that is in order."""
    clock = Clock()
    admission = Admission(engine, Meters(traffic.meters, traffic.worker), read_options(settings))
    database = Database(engine, clock, admission=admission)
    access = Access(keys.secrets, lambda: clock.ticks() / TICKS_PER_SECOND)
    return Served(database, access, settings.consistency, traffic.heat)


def make_jobs(engine: Engine, settings: Settings, _keys: Keys, traffic: Traffic) -> Sequence[Job]:
    """What the keeper does. It lets nobody in and meters nothing; it reads what the workers write down."""
    options = read_options(settings)

    def open_database() -> Database:
        return Database(engine, Clock(), admission=Admission(engine, None, options))

    splits = Splits(open_database())
    return [
        Job("expiry", _EXPIRY_EVERY, Expiry(open_database()).run),
        Job("splits", SOON, splits.run, stop=splits.stop),
        Job("heat", _HEAT_EVERY, Heat(open_database(), MeterReader(traffic.meters), traffic.heat).run),
    ]
