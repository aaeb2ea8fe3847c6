"""The document API without a network: signed requests in, responses out, on an engine in memory."""

from tests.unit.api.nosql.account import Account

from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import drive
from armillary.wire.http import Response

KEYED = {"x-ms-documentdb-partitionkey": '["a"]'}
CONTAINER = {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}


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
