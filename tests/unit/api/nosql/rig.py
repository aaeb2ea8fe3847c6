"""The document API without a network: signed requests in, responses out, on an engine in memory."""

from armillary.api.nosql.access import Access
from armillary.api.nosql.app import NosqlApp
from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.database import Database
from armillary.json import dump
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import Result, Steps, drive
from armillary.wire.http import Request, Response, format_date
from armillary.wire.signature import make_token, read_resource

KEY = "c2VjcmV0"
READ_KEY = "cmVhZGVy"
NOW = 1_800_000_000
STILL = Clock(ticks=lambda: NOW * TICKS_PER_SECOND)
KEYED = {"x-ms-documentdb-partitionkey": '["a"]'}
CONTAINER = {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}


class Account:
    """One server process over an engine that others may share."""

    def __init__(self, engine: MemoryEngine, clock: Clock = STILL) -> None:
        self.engine = engine
        self.clock = clock
        self.database = Database(engine, clock)
        secrets = (b"secret", b"other", b"reader", b"reader2")
        self.app = NosqlApp(self.database, Access(secrets, self.seconds), "Session")

    def seconds(self) -> float:
        return self.clock.ticks() / TICKS_PER_SECOND

    def send(
        self, method: str, path: str, body: object = b"", headers: dict[str, str] | None = None, key: str = KEY
    ) -> Response:
        request = Request()
        request.method, request.path, request.query = method.encode(), path.encode(), b""
        date = (headers or {}).get("x-ms-date") or format_date(self.seconds()).decode()
        resource = read_resource(request.path)
        token = make_token(key, method, resource.kind, resource.link, date)
        every = {"authorization": token, "x-ms-date": date, "x-ms-version": "2020-07-15", **(headers or {})}
        request.headers = {name.encode(): value.encode() for name, value in every.items() if value}
        request.body = body if isinstance(body, bytes) else dump(body)
        request.keep_alive, request.secure = True, False
        answer = self.app.handle(request)
        return answer if isinstance(answer, Response) else self.drive(answer)

    def drive(self, steps: Steps[Result]) -> Result:
        return drive(self.engine, steps)


def substatus(response: Response) -> int:
    lines = dict(line.split(b": ", 1) for line in response.head.split(b"\r\n") if line)
    return int(lines.get(b"x-ms-substatus", b"0"))


def header(response: Response, name: str) -> str:
    lines = dict(line.split(b": ", 1) for line in response.head.decode("latin-1").encode().split(b"\r\n") if line)
    return lines.get(name.encode(), b"").decode()


def open_account() -> Account:
    """A new account with a database `d` and a container `c`."""
    made = Account(MemoryEngine())
    drive(made.engine, made.database.recover())
    assert made.send("POST", "/dbs", {"id": "d"}).status == 201
    assert made.send("POST", "/dbs/d/colls", CONTAINER).status == 201
    return made
