"""What is refused, and how: status, substatus, code and words, asked for by raw signed requests.

Nothing that is refused may leave a trace: after each case the partition is where it was.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from email.utils import formatdate
from time import time
from typing import Any, Final, NamedTuple

import pytest
from tests.e2e.live import READONLY, SECONDARY, SECONDARY_READONLY, UPSERT, Answer, Caller, Live, key_header

from armillary.api.nosql.operations import OPERATIONS, UNBUILT

pytestmark = pytest.mark.e2e

CODES: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Gone",
    412: "PreconditionFailed",
    413: "RequestEntityTooLarge",
}
A: Final = key_header("a")
NEXT: Final = {"id": "2", "pk": "a"}
KEY: Final = {"paths": ["/pk"], "kind": "Hash", "version": 2}


class Shelf(NamedTuple):
    """A database with one container that holds one item, and the answer that made it."""

    database: str
    rid: str
    made: Answer

    def path(self, pattern: str) -> str:
        return pattern.replace("{db}", f"/dbs/{self.database}").replace("{box}", f"/dbs/{self.database}/colls/box")


@pytest.fixture(scope="module")
def shelf(house: Live) -> Iterator[Shelf]:
    name = f"shelf-{uuid.uuid4().hex[:12]}"
    with house.caller() as caller:
        caller.create(name)
        place = caller.create(name, "box", defaultTtl=-1, uniqueKeyPolicy={"uniqueKeys": [{"paths": ["/u"]}]})
        made = caller.must("POST", f"{place}/docs", {"id": "1", "pk": "a", "u": 1}, A)
        yield Shelf(name, caller.must("GET", place).json["_rid"], made)


class Case(NamedTuple):
    """A request and its refusal; `{db}` and `{box}` stand for the paths of the shelf."""

    method: str
    path: str
    body: Any
    headers: Mapping[str, str]
    status: int
    words: str
    substatus: int = 0


def write(body: Any, status: int, words: str, headers: Mapping[str, str] = A, substatus: int = 0) -> Case:
    """A refused create."""
    return Case("POST", "{box}/docs", body, headers, status, words, substatus)


def read(headers: Mapping[str, str], status: int, words: str, substatus: int = 0, path: str = "{box}/docs/1") -> Case:
    """A refused read."""
    return Case("GET", path, None, {**A, **headers}, status, words, substatus)


def feed(headers: Mapping[str, str], status: int, words: str, substatus: int = 0) -> Case:
    return Case("GET", "{box}/docs", None, headers, status, words, substatus)


def make_box(body: Any, status: int, words: str, headers: Mapping[str, str] | None = None) -> Case:
    return Case("POST", "{db}/colls", body, headers or {}, status, words)


ITEMS: Final = {
    "body-empty": write(b"", 400, "JSON"),
    "body-no-json": write(b'{"id":"2","pk":"a"', 400, "JSON"),
    "body-not-utf8": write(b'{"id":"2","pk":"a","v":"\xff"}', 400, "JSON"),
    "body-surrogate": write(b'{"id":"2","pk":"a","v":"\\ud800"}', 400, "JSON"),
    "body-nan": write(b'{"id":"2","pk":"a","v":NaN}', 400, "JSON"),
    "body-array": write([NEXT], 400, "JSON"),
    "id-missing": write({"pk": "a"}, 400, "id"),
    "id-number": write({"id": 2, "pk": "a"}, 400, "id"),
    "id-null": write({"id": None, "pk": "a"}, 400, "id"),
    "id-empty": write({"id": "", "pk": "a"}, 400, "id"),
    "id-slash": write({"id": "a/b", "pk": "a"}, 400, "id"),
    "id-backslash": write({"id": "a\\b", "pk": "a"}, 400, "id"),
    "id-question": write({"id": "a?", "pk": "a"}, 400, "id"),
    "id-hash": write({"id": "#a", "pk": "a"}, 400, "id"),
    "id-ends-in-space": write({"id": "a ", "pk": "a"}, 400, "id"),
    "id-too-long": write({"id": "é" * 512, "pk": "a"}, 400, "1023"),
    "ttl-zero": write({**NEXT, "ttl": 0}, 400, "ttl"),
    "ttl-negative": write({**NEXT, "ttl": -2}, 400, "ttl"),
    "ttl-null": write({**NEXT, "ttl": None}, 400, "ttl"),
    "ttl-text": write({**NEXT, "ttl": "10"}, 400, "ttl"),
    "ttl-fraction": write({**NEXT, "ttl": 1.5}, 400, "ttl"),
    "ttl-beyond-32-bits": write({**NEXT, "ttl": 1 << 31}, 400, "ttl"),
    "too-large": write({**NEXT, "v": "x" * (2 << 20)}, 413, "Request size is too large"),
    "far-too-large": write({**NEXT, "v": "x" * (4 << 20)}, 413, "too large"),
    "id-taken": write({"id": "1", "pk": "a"}, 409, "exists already"),
    "unique-key-taken": write({**NEXT, "u": 1}, 409, "Unique index constraint violation", substatus=3301),
    "key-of-another": write(NEXT, 400, "does not match", key_header("b"), 1001),
    "key-null-for-undefined": write({"id": "2"}, 400, "does not match", key_header(None), 1001),
    "key-undefined-for-null": write({"id": "2", "pk": None}, 400, "does not match", key_header({}), 1001),
    "key-text-for-number": write({"id": "2", "pk": 5}, 400, "does not match", key_header("5"), 1001),
    "key-true-for-one": write({"id": "2", "pk": 1}, 400, "does not match", key_header(True), 1001),
    "key-missing": write(NEXT, 400, "PartitionKey value must be supplied", {}),
    "key-empty": write(NEXT, 400, "Partition key provided either doesn't correspond", key_header()),
    "key-of-two": write(NEXT, 400, "Partition key provided either doesn't correspond", key_header("a", "b")),
    "key-no-json": write(NEXT, 400, "partitionkey", {"x-ms-documentdb-partitionkey": "a"}),
    "key-no-array": write(NEXT, 400, "partitionkey", {"x-ms-documentdb-partitionkey": '"a"'}),
    "key-object": write(NEXT, 400, "partitionkey", key_header({"a": 1})),
    "key-too-long": write({"id": "2", "pk": "k" * 2049}, 400, "2048", key_header("k" * 2049)),
    "etag-of-upsert": write({"id": "1", "pk": "a"}, 412, "precondition", {**A, **UPSERT, "if-match": '"x"'}),
    "none-of-upsert": write({"id": "1", "pk": "a"}, 412, "precondition", {**A, **UPSERT, "if-none-match": "*"}),
    "etag-of-replace": Case(
        "PUT", "{box}/docs/1", {"id": "1", "pk": "a"}, {**A, "if-match": '"x"'}, 412, "precondition is not met"
    ),
    "etag-of-delete": Case("DELETE", "{box}/docs/1", None, {**A, "if-match": '"x"'}, 412, "precondition is not met"),
    "replace-what-is-not": Case("PUT", "{box}/docs/2", NEXT, A, 404, "does not exist"),
    "replace-another-id": Case("PUT", "{box}/docs/1", NEXT, A, 400, "id"),
    "replace-another-key": Case("PUT", "{box}/docs/1", {"id": "1", "pk": "b"}, A, 400, "does not match", 1001),
    "delete-what-is-not": Case("DELETE", "{box}/docs/2", None, A, 404, "does not exist"),
    "delete-elsewhere": Case("DELETE", "{box}/docs/1", None, key_header("b"), 404, "does not exist"),
    "delete-everything": Case("DELETE", "{box}/docs", None, A, 405, "not allowed"),
    "post-an-item": Case("POST", "{box}/docs/1", NEXT, A, 405, "not allowed"),
    "read-what-is-not": read({}, 404, "does not exist", path="{box}/docs/2"),
    "read-elsewhere": read(key_header("b"), 404, "does not exist"),
    "read-without-a-key": read({"x-ms-documentdb-partitionkey": ""}, 400, "PartitionKey value must be supplied"),
    "stale-rid": read({"x-ms-cosmos-intended-collection-rid": "AAAAAIAAAAA="}, 400, "dropped and made again", 1024),
    "session-of-the-future": read({"x-ms-session-token": "0:-1#1000"}, 404, "session token", 1002),
    "session-of-old-form": read({"x-ms-session-token": "0:1000"}, 404, "session token", 1002),
    "session-among-others": read({"x-ms-session-token": "7:-1#1,0:-1#1000#1=5"}, 404, "session token", 1002),
    "session-no-token": read({"x-ms-session-token": "tomorrow"}, 400, "session token"),
    "session-no-number": read({"x-ms-session-token": "0:-1#x"}, 400, "session token"),
    "level-stronger": read({"x-ms-consistency-level": "Strong"}, 400, "stronger"),
    "level-bounded": read({"x-ms-consistency-level": "BoundedStaleness"}, 400, "stronger"),
    "level-unknown": read({"x-ms-consistency-level": "Quick"}, 400, "x-ms-consistency-level"),
}

FEEDS: Final = {
    "range-unknown": feed({"x-ms-documentdb-partitionkeyrangeid": "9"}, 410, "partition key range", 1002),
    "bounds-no-hex": feed({"x-ms-start-epk": "xyz"}, 400, "x-ms-start-epk"),
    "page-of-none": feed({"x-ms-max-item-count": "0"}, 400, "x-ms-max-item-count"),
    "page-of-less": feed({"x-ms-max-item-count": "-2"}, 400, "x-ms-max-item-count"),
    "page-of-words": feed({"x-ms-max-item-count": "many"}, 400, "x-ms-max-item-count"),
    "continuation-no-token": feed({"x-ms-continuation": "further"}, 400, "Invalid Continuation Token"),
    "continuation-of-others": feed({"x-ms-continuation": "-RID:~x==#RT:1"}, 400, "Invalid Continuation Token"),
    "continuation-elsewhere": feed({"x-ms-continuation": "AF1~AAAA~d~EA"}, 400, "Invalid Continuation Token"),
    "continuation-of-databases": Case(
        "GET", "/dbs", None, {"x-ms-continuation": "AF1~~b~x"}, 400, "Invalid Continuation Token"
    ),
}

RESOURCES: Final = {
    "database-missing": Case("GET", "/dbs/none-such", None, {}, 404, "does not exist"),
    "database-of-container-missing": Case("GET", "/dbs/none-such/colls/box", None, {}, 404, "does not exist"),
    "container-missing": Case("GET", "{db}/colls/none", None, {}, 404, "does not exist", 1003),
    "container-of-item-missing": Case("GET", "{db}/colls/none/docs/1", None, A, 404, "does not exist", 1003),
    "container-of-feed-missing": Case("GET", "{db}/colls/none/docs", None, {}, 404, "does not exist", 1003),
    "container-of-write-missing": Case("POST", "{db}/colls/none/docs", NEXT, A, 404, "does not exist", 1003),
    "container-of-ranges-missing": Case("GET", "{db}/colls/none/pkranges", None, {}, 404, "does not exist", 1003),
    "database-taken": Case("POST", "/dbs", {"id": "{name}"}, {}, 409, "exists already", 3206),
    "database-no-id": Case("POST", "/dbs", {}, {}, 400, "id"),
    "database-id-number": Case("POST", "/dbs", {"id": 5}, {}, 400, "id"),
    "database-id-slash": Case("POST", "/dbs", {"id": "a/b"}, {}, 400, "id"),
    "database-id-too-long": Case("POST", "/dbs", {"id": "x" * 256}, {}, 400, "255"),
    "database-no-json": Case("POST", "/dbs", b"{", {}, 400, "JSON"),
    "database-etag": Case("DELETE", "{db}", None, {"if-match": '"x"'}, 412, "precondition"),
    "container-taken": make_box({"id": "box", "partitionKey": KEY}, 409, "exists already"),
    "container-no-id": make_box({"partitionKey": KEY}, 400, "id"),
    "container-no-key": make_box({"id": "new"}, 400, "partition key"),
    "container-bad-path": make_box(
        {"id": "new", "partitionKey": {"paths": ["/a/"], "kind": "Hash"}},
        400,
        "Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character",
    ),
    "container-many-paths": make_box(
        {"id": "new", "partitionKey": {"paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash", "version": 2}},
        400,
        "Too many partition key paths",
    ),
    "container-ttl": make_box({"id": "new", "partitionKey": KEY, "defaultTtl": 0}, 400, "defaultTtl"),
    "container-throughput": make_box(
        {"id": "new", "partitionKey": KEY},
        400,
        "less than required minimum throughput 400",
        {"x-ms-offer-throughput": "399"},
    ),
    "container-etag": Case("DELETE", "{box}", None, {"if-match": '"x"'}, 412, "precondition"),
    "container-new-key": Case(
        "PUT", "{box}", {"id": "box", "partitionKey": {**KEY, "paths": ["/other"]}}, {}, 400, "cannot be changed"
    ),
    "container-new-id": Case("PUT", "{box}", {"id": "new", "partitionKey": KEY}, {}, 400, "id"),
    "offer-missing": Case("GET", "/offers/AAAA", None, {}, 404, "does not exist"),
    "offer-no-rid": Case("GET", "/offers/some", None, {}, 404, "does not exist"),
    "path-unknown": Case("GET", "/nothing/here", None, {}, 404, "does not exist"),
    "path-unknown-below": Case("GET", "{box}/things/1", None, {}, 404, "does not exist"),
    "method-unknown": Case("OPTIONS", "{box}", None, {}, 405, "not allowed"),
    "account-changed": Case("PUT", "/", {}, {}, 405, "not allowed"),
}

CASES: Final = ITEMS | FEEDS | RESOURCES


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_refusals(caller: Caller, shelf: Shelf, case: Case) -> None:
    body = {"id": shelf.database} if case.body == {"id": "{name}"} else case.body
    must_refuse(caller.ask(case.method, shelf.path(case.path), body, case.headers), case)
    after = caller.must("GET", shelf.path("{box}/docs/1"), headers=A)
    assert (after.body, after.headers["lsn"]) == (shelf.made.body, shelf.made.headers["lsn"])


def must_refuse(answer: Answer, case: Case) -> None:
    """The answer is that refusal, in the form every client reads."""
    assert (answer.status, answer.substatus) == (case.status, case.substatus), answer.body
    assert answer.headers["content-type"] == "application/json"
    refused = answer.json
    assert refused["code"] == CODES[case.status]
    assert case.words.lower() in refused["message"].lower()
    if answer.status != 413 or "x-ms-activity-id" in answer.headers:  # what no API has seen has no activity
        assert f"ActivityId: {answer.headers['x-ms-activity-id']}" in refused["message"]
        looked = case.status in (404, 409, 410, 412)
        assert answer.charge >= 1 if looked else answer.charge == 0


# ---- what is not built


UNBUILT_OPERATIONS: Final = [operation for operation in OPERATIONS if operation.handler is None]


@pytest.mark.parametrize("operation", UNBUILT_OPERATIONS, ids=lambda operation: operation.name.replace(" ", "-"))
def test_an_operation_that_is_not_built_says_so(caller: Caller, shelf: Shelf, operation: Any) -> None:
    path = "/" + operation.path.replace("dbs/", f"dbs/{shelf.database}/").replace("colls/", "colls/box/")
    path = path.replace("*", "1")
    flag = {operation.flag.decode(): "True"} if operation.flag else {}
    must_say_unbuilt(caller.ask(operation.method, path, {"query": "SELECT * FROM c"}, {**A, **flag}))


@pytest.mark.parametrize("path", UNBUILT)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_resource_that_is_not_built_says_so(caller: Caller, shelf: Shelf, path: str, method: str) -> None:
    names = {"dbs": f"dbs/{shelf.database}", "colls": "colls/box", "docs": "docs/1", "users": "users/u"}
    kinds = path.removesuffix("/*").split("/")
    place = "/".join([names[kind] for kind in kinds[:-1]] + kinds[-1:])
    must_say_unbuilt(caller.ask(method, f"/{place}" + "/1" * path.endswith("*"), {"id": "x"}, A))


def must_say_unbuilt(answer: Answer) -> None:
    assert (answer.status, answer.json["code"]) == (400, "BadRequest"), answer.body
    assert "is not built yet" in answer.json["message"]


def test_a_query_is_known_by_its_content_type(caller: Caller, shelf: Shelf) -> None:
    query = {**A, "content-type": "application/query+json"}
    answer = caller.ask("POST", shelf.path("{box}/docs"), {"id": "2", "pk": "a", "query": "x"}, query)
    assert (answer.status, "SC1001" in answer.json["message"]) == (400, True)


def test_direct_mode_is_told_to_use_the_gateway(caller: Caller) -> None:
    answer = caller.ask("GET", "/addresses/?$filter=protocol%20eq%20rntbd")
    must_say_unbuilt(answer)
    for words in ("gateway mode", "ConnectionMode.Gateway", ".gatewayMode()"):
        assert words in answer.json["message"]


# ---- who is let in


def unauthorized(answer: Answer, words: str, status: int = 401) -> None:
    assert (answer.status, answer.json["code"]) == (status, CODES[status]), answer.body
    assert words in answer.json["message"]
    assert answer.headers["x-ms-activity-id"] in answer.json["message"]


WRONG_TOKEN: Final = "The input authorization token can't serve the request"


def test_both_keys_of_a_kind_do_the_same(caller: Caller, shelf: Shelf) -> None:
    item = shelf.path("{box}/docs/1")
    for key in ("", SECONDARY, READONLY, SECONDARY_READONLY):
        assert caller.ask("GET", item, headers=A, key=key).body == shelf.made.body
        assert caller.ask("GET", shelf.path("{box}/pkranges"), key=key).status == 200
        assert caller.ask("GET", "/", key=key).status == 200
    extra = shelf.path("{box}/docs")
    assert caller.ask("POST", extra, {"id": "k", "pk": "z"}, key_header("z"), key=SECONDARY).status == 201
    assert caller.ask("DELETE", extra + "/k", None, key_header("z"), key="").status == 204


@pytest.mark.parametrize("key", [READONLY, SECONDARY_READONLY])
def test_read_only_keys_write_nothing(caller: Caller, shelf: Shelf, key: str) -> None:
    for method, path, body in (
        ("POST", "{box}/docs", NEXT),
        ("PUT", "{box}/docs/1", {"id": "1", "pk": "a"}),
        ("DELETE", "{box}/docs/1", None),
        ("PATCH", "{box}/docs/1", {"operations": []}),
        ("POST", "/dbs", {"id": "new"}),
        ("DELETE", "{db}", None),
        ("POST", "{db}/colls", {"id": "new", "partitionKey": KEY}),
        ("PUT", "{box}", {"id": "box", "partitionKey": KEY}),
        ("DELETE", "{box}", None),
    ):
        unauthorized(caller.ask(method, shelf.path(path), body, A, key=key), WRONG_TOKEN)


def test_what_is_signed_must_be_what_is_asked(caller: Caller, shelf: Shelf) -> None:
    path = shelf.path("{box}/docs/1")
    unauthorized(caller.ask("GET", path, headers=A, key="d3Jvbmc=" * 8), WRONG_TOKEN)
    date = formatdate(usegmt=True)
    answer = caller.ask(
        "GET", path, headers={**A, "authorization": "type%3Dmaster%26ver%3D1.0%26sig%3Dcw%3D%3D"}, date=date
    )
    unauthorized(answer, WRONG_TOKEN)
    payload = f"get\\ndocs\\n{path[1:]}\\n{date.lower()}\\n\\n"
    assert f"Server used the following payload to sign: '{payload}'" in answer.json["message"]


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("", "Required Header authorization is missing"),
        ("nonsense", "authorization token"),
        ("type%3Dmaster%26ver%3D2.0%26sig%3Dcw%3D%3D", "version"),
        ("type%3Dresource%26ver%3D1%26sig%3Dabc%3Bdef%3B", "'resource'"),
        ("type%3Daad%26ver%3D1.0%26sig%3Dx.y.z", "'aad'"),
        ("type%3Dmaster%26ver%3D1.0%26sig%3D", WRONG_TOKEN),
        ("type%3Dmaster%26ver%3D1.0%26sig%3D%FF%FE", WRONG_TOKEN),
    ],
)
def test_tokens_that_are_none(caller: Caller, token: str, words: str) -> None:
    unauthorized(caller.ask("GET", "/", headers={"authorization": token}), words)


def test_a_clock_that_is_wrong_is_told(caller: Caller) -> None:
    for minutes in (-20, 20):
        date = formatdate(time() + 60 * minutes, usegmt=True)
        unauthorized(caller.ask("GET", "/", date=date), "not valid at the current time", 403)
    for minutes in (-10, 10):
        assert caller.ask("GET", "/", date=formatdate(time() + 60 * minutes, usegmt=True)).status == 200
    for date in ("yesterday", "2026-01-01T00:00:00Z"):
        unauthorized(caller.ask("GET", "/", date=date), "x-ms-date")
    unauthorized(caller.ask("GET", "/", headers={"x-ms-date": ""}), "x-ms-date")


def test_the_pages_of_the_server(caller: Caller) -> None:
    """The check needs the key; health and certificate do not."""
    assert caller.ask("GET", "/_armillary/check", headers={"authorization": ""}).status == 401
    assert caller.ask("GET", "/_armillary/health", headers={"authorization": ""}).json["status"] == "ok"
    assert caller.ask("GET", "/_explorer/emulator.pem", headers={"authorization": ""}).status == 200
    assert caller.ask("POST", "/_armillary/health", {}).status == 405
    assert caller.ask("GET", "/_armillary/other").json["code"] == "NotFound"


# ---- from one refusal to the next success


def test_a_client_that_names_a_container_of_before_is_told_and_goes_on(caller: Caller, name: str) -> None:
    caller.create(name)
    place = caller.create(name, "box")
    old = caller.must("POST", f"{place}/docs", {"id": "1", "pk": "a"}, A)
    stale = {"x-ms-cosmos-intended-collection-rid": caller.must("GET", place).json["_rid"]}
    position = caller.must("GET", f"{place}/docs", headers={"x-ms-max-item-count": "1"}).headers
    assert "x-ms-continuation" not in position
    caller.must("DELETE", place)
    assert caller.ask("GET", f"{place}/docs/1", headers={**A, **stale}).substatus == 1003
    caller.create(name, "box")
    for method, path, body in (("GET", "/docs/1", None), ("POST", "/docs", NEXT), ("DELETE", "/docs/1", None)):
        answer = caller.ask(method, place + path, body, {**A, **stale})
        assert (answer.status, answer.substatus, answer.json["code"]) == (400, 1024, "BadRequest")
    fresh = {"x-ms-cosmos-intended-collection-rid": caller.must("GET", place).json["_rid"]}
    assert fresh != stale
    made = caller.must("POST", f"{place}/docs", {"id": "1", "pk": "a"}, {**A, **fresh})
    assert made.json["_rid"] != old.json["_rid"]
    assert made.headers["x-ms-session-token"] == "0:-1#1"


def test_continuations_belong_to_their_feed(caller: Caller, name: str) -> None:
    caller.create(name)
    places = [caller.create(name, f"box-{number}") for number in range(2)]
    for place in places:
        for number in range(3):
            caller.must("POST", f"{place}/docs", {"id": str(number), "pk": "a"}, A)
    page = {"x-ms-max-item-count": "1"}
    token = caller.must("GET", f"{places[0]}/docs", headers=page).headers["x-ms-continuation"]
    there = caller.ask("GET", f"{places[1]}/docs", headers={"x-ms-continuation": token})
    assert (there.status, "Invalid Continuation Token" in there.json["message"]) == (400, True)
    more = caller.must("GET", f"{places[0]}/docs", headers={"x-ms-continuation": token})
    assert [item["id"] for item in more.json["Documents"]] == ["1", "2"]
    for damaged in (
        token[:-1] + "!",
        token + "~",
        token.replace("~d~", "~c~"),
        token[: token.rindex("~") + 1] + "AAAA",
    ):
        assert caller.ask("GET", f"{places[0]}/docs", headers={"x-ms-continuation": damaged}).status == 400, damaged


def test_a_refusal_leaves_the_connection_in_order(caller: Caller, shelf: Shelf) -> None:
    """On one connection: refused, refused, answered."""
    for _ in range(3):
        assert caller.ask("POST", shelf.path("{box}/docs"), b"\xff" * 1000, A).status == 400
        assert caller.ask("GET", shelf.path("{box}/docs/none"), headers=A).status == 404
        assert json.loads(caller.must("GET", shelf.path("{box}/docs/1"), headers=A).body)["id"] == "1"
