"""Queries over items through the Python client, on one partition and on five, judged by the naive evaluator."""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError
from tests.e2e.live import Caller, Live, key_header
from tests.e2e.python_client import FORMS, Door
from tests.naive import expressions, values
from tests.naive.compare import find_difference
from tests.naive.evaluator import answer

pytestmark = pytest.mark.e2e

SMALL, LARGE = 400, 30_000
KEY = "x-ms-documentdb-partitionkey"
CONTINUATION = "x-ms-continuation"
QUERY = {"x-ms-documentdb-isquery": "True", "content-type": "application/query+json"}
ACROSS = {**QUERY, "x-ms-documentdb-query-enablecrosspartition": "True"}
ITEMS: list[dict[str, Any]] = [
    {
        "id": str(at),
        "pk": f"p{at % 17}",
        "n": at,
        "half": at / 2,
        "name": f"name {at % 7}",
        "tags": ["a", "b", "c"][: at % 4],
        **({"maybe": at % 3 == 0} if at % 2 else {}),
    }
    for at in range(90)
]
# Each is asked on any partitions, with pages of any size.
ACROSS_ALL = (
    "SELECT VALUE c.id FROM c",
    "SELECT c.id, c.n FROM c WHERE c.n > 20 AND c.n <= 33",
    "SELECT VALUE c.n FROM c WHERE c.name = 'name 3' OR c.maybe = true",
    "SELECT c.n FROM c ORDER BY c.n DESC",
    "SELECT VALUE c.name FROM c ORDER BY c.name",
    "SELECT TOP 7 c.n, c.half FROM c ORDER BY c.half",
    "SELECT c.n FROM c ORDER BY c.n OFFSET 11 LIMIT 5",
    "SELECT DISTINCT VALUE c.name FROM c",
    "SELECT VALUE COUNT(1) FROM c",
    "SELECT VALUE COUNT(c.maybe) FROM c WHERE c.n < 50",
    "SELECT VALUE SUM(c.n) FROM c WHERE c.pk IN ('p1', 'p2')",
    "SELECT VALUE AVG(c.half) FROM c",
    "SELECT VALUE MIN(c.name) FROM c",
    "SELECT VALUE MAX(c.n) FROM c WHERE c.n < 77",
    "SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n < 20",
    "SELECT c.id, t AS tag FROM c JOIN t IN c.tags WHERE t != 'a' AND c.n % 5 = 0",
    "SELECT VALUE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'b') FROM c WHERE c.n < 12",
    "SELECT VALUE ARRAY_LENGTH(c.tags) FROM c WHERE STARTSWITH(c.name, 'name') AND IS_DEFINED(c.maybe)",
    "SELECT c.n FROM c WHERE c.pk = 'p5' ORDER BY c.n DESC",
    "SELECT VALUE c.n FROM c WHERE c.nothing = 1",
)
WITHIN_ONE = (
    "SELECT c.name, COUNT(1) AS many FROM c GROUP BY c.name",
    "SELECT COUNT(1) AS many, MAX(c.n) AS most FROM c",
    "SELECT DISTINCT c.name FROM c ORDER BY c.name",
    "SELECT VALUE (SELECT VALUE COUNT(1) FROM t IN c.tags) FROM c",
)


class Shelf(NamedTuple):
    """A filled container: how to open it with the client, and by raw requests."""

    door: Door
    database: str
    parts: int


@pytest.fixture(scope="module", params=[(form, size) for form in FORMS for size in (SMALL, LARGE)], ids=str)
def shelf(house: Live, request: Any) -> Shelf:
    form, throughput = request.param
    door = Door(form, house.http, house.key, {})
    name = f"queries-{form}-{throughput}-{random.randrange(10**9)}"
    with door.open() as client:
        container = client.create_database(name).create_container(
            "c", PartitionKey("/pk"), offer_throughput=throughput if throughput > SMALL else None
        )
        for item in ITEMS:
            container.create_item(item)
    return Shelf(door, name, 5 if throughput == LARGE else 1)


@pytest.fixture
def container(shelf: Shelf) -> Iterator[Any]:
    with shelf.door.open() as client:
        yield client.get_database_client(shelf.database).get_container_client("c")


@pytest.fixture(autouse=True)
def decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "CROSS_TYPE_EQUALITY", "false")
    monkeypatch.setattr(expressions, "CONDITIONAL_NON_BOOLEAN", "else")


def must_match(text: str, rows: list[Any], items: list[Any] | None = None) -> None:
    difference = find_difference(answer(text, {}, list(ITEMS if items is None else items)), rows)
    assert difference is None, f"{text}: {difference}"


def across(shelf: Shelf) -> dict[str, bool]:
    """What the plain client must be told; the asynchronous one always looks everywhere."""
    return {"enable_cross_partition_query": True} if shelf.door.form == "plain" else {}


@pytest.mark.parametrize("size", [7, 100])
@pytest.mark.parametrize("text", ACROSS_ALL)
def test_the_client_finds_what_is_there(shelf: Shelf, container: Any, text: str, size: int) -> None:
    must_match(text, list(container.query_items(text, max_item_count=size, **across(shelf))))


@pytest.mark.parametrize("text", [*ACROSS_ALL, *WITHIN_ONE])
def test_one_key_is_asked_for_anything(container: Any, text: str) -> None:
    own = [item for item in ITEMS if item["pk"] == "p3"]
    must_match(text, list(container.query_items(text, partition_key="p3", max_item_count=2)), own)


def test_parameters_are_values(shelf: Shelf, container: Any) -> None:
    listed = [{"name": "@least", "value": 80}, {"name": "@names", "value": ["name 1", "name 2"]}]
    text = "SELECT VALUE c.n FROM c WHERE c.n >= @least AND ARRAY_CONTAINS(@names, c.name)"
    rows = list(container.query_items(text, parameters=listed, **across(shelf)))
    assert sorted(rows) == [item["n"] for item in ITEMS if item["n"] >= 80 and item["name"] in ("name 1", "name 2")]


def test_what_the_client_cannot_merge_is_refused(shelf: Shelf, container: Any) -> None:
    for text in ("SELECT c.name, COUNT(1) AS many FROM c GROUP BY c.name", "SELECT COUNT(1) FROM c"):
        with pytest.raises(CosmosHttpResponseError) as refused:
            list(container.query_items(text, **across(shelf)))
        assert refused.value.status_code == 400


# ---- by raw requests


@pytest.fixture
def place(live: Live, caller: Caller, name: str) -> str:
    caller.create(name)
    made = caller.create(name, "c")
    for item in ITEMS:
        caller.must("POST", f"{made}/docs", item, key_header(item["pk"]))
    return made


def ask(caller: Caller, place: str, text: Any, **headers: str) -> Any:
    return caller.ask("POST", f"{place}/docs", {"query": text}, {**ACROSS, **headers})


def test_positions_survive_writes_and_a_split(live: Live, caller: Caller, place: str, name: str) -> None:
    text = "SELECT VALUE c.n FROM c"
    rows: list[int] = []
    more: dict[str, str] = {"x-ms-max-item-count": "10"}
    for turn in range(50):
        page = ask(caller, place, text, **more)
        assert page.status == 200, page.body
        rows += page.json["Documents"]
        if CONTINUATION not in page.headers:
            break
        assert len(page.headers[CONTINUATION]) < 1024
        more[CONTINUATION] = page.headers[CONTINUATION]
        if turn == 2:
            asked = caller.must("POST", "/_armillary/split", {"database": name, "container": "c"})
            await_split(caller, asked.json["split"])
        caller.must("POST", f"{place}/docs", {"id": f"new {turn}", "pk": f"q{turn}"}, key_header(f"q{turn}"))
    assert sorted(rows) == [item["n"] for item in ITEMS]


def await_split(caller: Caller, split: str) -> None:
    while True:
        splits = caller.must("GET", "/_armillary/splits").json["splits"]
        if next(found for found in splits if found["id"] == split)["state"] in ("done", "cancelled"):
            return


def test_a_whole_container_is_told_its_plan(caller: Caller, place: str) -> None:
    refused = ask(caller, place, "SELECT VALUE COUNT(1) FROM c")
    assert (refused.status, refused.substatus) == (400, 1004)
    assert '"aggregates":["Count"]' in refused.json["additionalErrorInfo"]


@pytest.mark.parametrize(
    ("token", "words"),
    [("nonsense", "none of this server's"), ("AQ1~x~y~z", "another query"), (None, "none of this query")],
)
def test_a_forged_position_is_refused(caller: Caller, place: str, token: str | None, words: str) -> None:
    text = "SELECT VALUE c.n FROM c"
    if token is None:
        token = ask(caller, place, text, **{"x-ms-max-item-count": "5"}).headers[CONTINUATION][:-4]
    answered = ask(caller, place, text, **{CONTINUATION: token})
    assert (answered.status, words in answered.json["message"]) == (400, True), answered.body


@pytest.mark.parametrize(
    ("text", "code"),
    [("SELEC 1", "SC1001"), ("SELECT * FROM c WHERE d.x = 1", "SC2001"), ("SELECT VALUE f(c) FROM c", "SC2005")],
)
def test_a_wrong_query_is_refused_in_the_words_of_the_service(caller: Caller, place: str, text: str, code: str) -> None:
    answered = ask(caller, place, text)
    assert (answered.status, code in answered.json["message"]) == (400, True), answered.body


def test_a_query_pays_for_what_it_visits(caller: Caller, place: str) -> None:
    first, again = (ask(caller, place, "SELECT VALUE c.n FROM c WHERE c.n = 3").charge for _ in range(2))
    one = ask(caller, place, "SELECT VALUE c.n FROM c WHERE c.pk = 'p3' AND c.n = 3").charge
    assert first == again > one > 2
