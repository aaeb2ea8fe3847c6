"""Budgets as clients meet them: who is refused, with which words and headers, and what is booked where."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.api.nosql.account import Account
from tests.unit.api.nosql.rig import CONTAINER, header, substatus
from tests.unit.test_meter import Hands

from armillary.admission import Admission, Options, pool_name, read_options
from armillary.config import Settings
from armillary.json import load
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import drive
from armillary.limits import Limits
from armillary.meter import SLOTS, Cell, MeterMap, MeterReader, Meters
from armillary.wire.http import Response

MANUAL = "x-ms-offer-throughput"
BUCKET = "x-ms-cosmos-throughput-bucket"
PRIORITY = "x-ms-cosmos-priority-level"


class House:
    """Workers of one server over one store, and a clock that the test sets."""

    def __init__(self, workers: int = 1, slots: int = SLOTS, **settings: Any) -> None:
        self.hands = Hands()
        self.engine = MemoryEngine()
        self.map = MeterMap(workers, self.hands.clock, slots)
        options = read_options(Settings(**settings))
        self.workers = [
            Account(self.engine, admission=Admission(self.engine, Meters(self.map, worker), options))
            for worker in range(workers)
        ]
        drive(self.engine, self.workers[0].database.recover())
        self.send = self.workers[0].send
        self.create("d")

    def create(self, database: str, container: str = "", headers: Mapping[str, str] | None = None) -> None:
        path = f"/dbs/{database}/colls" if container else "/dbs"
        body = {**CONTAINER, "id": container} if container else {"id": database}
        made = self.send("POST", path, body, dict(headers or {}))
        assert made.status == 201, made.body

    def write(
        self, name: str, pk: str = "a", worker: int = 0, container: str = "c", more: Mapping[str, str] | None = None
    ) -> Response:
        """An upsert of 5.25 RU, and 7.88 where it replaces."""
        every = {
            "x-ms-documentdb-partitionkey": f'["{pk}"]',
            "x-ms-documentdb-is-upsert": "true",
            **(more or {}),
        }
        path = f"/dbs/d/colls/{container}/docs"
        return self.workers[worker].send("POST", path, {"id": name, "pk": pk}, every)

    def fill(self, most: int, pk: str = "a", worker: int = 0, more: Mapping[str, str] | None = None) -> int:
        """How many of so many writes come through."""
        return sum(self.write(str(number), pk, worker, more=more).status < 300 for number in range(most))

    def offer(self) -> dict[str, Any]:
        (found,) = load(self.send("GET", "/offers").body)["Offers"]
        return dict(found)

    def scale(self, throughput: int) -> Response:
        offer = self.offer()
        offer["content"]["offerThroughput"] = throughput
        return self.send("PUT", f"/offers/{offer['id']}", offer)

    def partitions(self, container: str = "c") -> list[bytes]:
        return [place.partition for place in self.workers[0].database.container("d", container).row.ranges]

    def read_now(self, name: bytes) -> Cell:
        now = int(self.map.now())
        return MeterReader(self.map).read_seconds(name, now, now + 1)[0]


# ---- one container


def test_over_its_budget_a_partition_refuses_in_words() -> None:
    house = House()
    house.create("d", "c", {MANUAL: "400"})
    assert house.fill(200) == 77  # 76 creations are 399 RU: one more goes
    refused = house.write("x")
    assert (refused.status, substatus(refused)) == (429, 3200)
    assert header(refused, "x-ms-request-charge") == "0"
    assert 1 <= int(header(refused, "x-ms-retry-after-ms")) <= 1000
    body = load(refused.body)
    assert body["code"] == "TooManyRequests"
    assert "the 400 RU/s of partition key range 0 of d/c are used up" in body["message"]
    assert 'the hottest key is ["a"]' in body["message"]
    house.hands.go(int(header(refused, "x-ms-retry-after-ms")) / 1000)
    assert house.write("x").status == 201


def test_it_is_decided_before_the_work() -> None:
    house = House()
    house.create("d", "c", {MANUAL: "400"})
    house.fill(200)
    key = {"x-ms-documentdb-partitionkey": '["a"]'}
    for method, path, headers in (
        ("GET", "/dbs/d/colls/c/docs/0", key),
        ("GET", "/dbs/d/colls/c/docs/missing", key),
        ("DELETE", "/dbs/d/colls/c/docs/0", key),
        ("GET", "/dbs/d/colls/c/docs", {}),
        ("GET", "/dbs/d/colls/c/docs", {"a-im": "Incremental Feed"}),
    ):
        assert house.send(method, path, headers=headers).status == 429, (method, path)
    house.hands.go(1.0)
    assert house.send("GET", "/dbs/d/colls/c/docs/0", headers=key).status == 200


def test_containers_do_not_disturb_each_other() -> None:
    house = House()
    house.create("d", "c", {MANUAL: "400"})
    house.create("d", "e", {MANUAL: "400"})
    assert house.fill(200) == 77
    assert house.write("1", container="e").status == 201


def test_a_hot_key_stops_its_partition_and_no_other() -> None:
    house = House()
    house.create("d", "c", {MANUAL: "24000"})
    assert len(house.partitions()) == 4
    through = house.fill(2000, "hot")
    assert through == pytest.approx(6000 / 5.25, abs=1)
    answers = [house.write("1", f"key-{number}") for number in range(60)]
    hit = {header(answer, "x-ms-documentdb-partitionkeyrangeid") for answer in answers if answer.status < 300}
    refused = [answer for answer in answers if answer.status == 429]
    assert len(hit) == 3
    assert refused
    for answer in refused:
        assert 'the hottest key is ["hot"]' in load(answer.body)["message"]


def test_everything_is_metered_at_the_price_that_was_told() -> None:
    house = House()
    house.create("d", "c", {MANUAL: "10000"})
    key = {"x-ms-documentdb-partitionkey": '["a"]'}
    docs = "/dbs/d/colls/c/docs"
    told = 0.0
    for method, path, body, more, status in (
        ("POST", docs, {"id": "1", "pk": "a"}, {}, 201),
        ("POST", docs, {"id": "1", "pk": "a"}, {}, 409),
        ("GET", f"{docs}/1", b"", {}, 200),
        ("GET", f"{docs}/1", b"", {"if-none-match": "*"}, 304),
        ("GET", f"{docs}/2", b"", {}, 404),
        ("GET", f"{docs}/1", b"", {"x-ms-session-token": "0:-1#99,1:-1#99"}, 404),
        ("PUT", f"{docs}/1", {"id": "1", "pk": "a", "x": 1}, {}, 200),
        ("PUT", f"{docs}/1", {"id": "1", "pk": "a"}, {"if-match": "old"}, 412),
        ("GET", docs, b"", {}, 200),
        ("GET", docs, b"", {"a-im": "Incremental Feed"}, 200),
        ("DELETE", f"{docs}/1", b"", {}, 204),
        ("DELETE", f"{docs}/1", b"", {}, 404),
        ("POST", docs, {"pk": "a"}, {}, 400),
    ):
        answer = house.send(method, path, body, {**key, **more})
        assert answer.status == status, (method, path, answer.body)
        told += float(header(answer, "x-ms-request-charge"))
    booked = [house.read_now(place) for place in house.partitions()]
    assert sum(cell.units for cell in booked) == pytest.approx(told)
    assert sum(cell.requests for cell in booked) == 12
    assert sum(cell.bytes for cell in booked) > 0


def test_a_feed_over_partitions_is_admitted_by_each_and_ends_where_one_refuses() -> None:
    house = House()
    house.create("d", "c", {MANUAL: "12000"})
    whole = house.send("GET", "/dbs/d/colls/c/docs")
    assert header(whole, "x-ms-request-charge") == "2"
    assert [house.read_now(place).units for place in house.partitions()] == [1.0, 1.0]
    second = house.partitions()[1]
    keys = [f"k{number}" for number in range(8)]
    places = {key: house.write("1", key) for key in keys}
    hot = next(key for key in keys if header(places[key], "x-ms-documentdb-partitionkeyrangeid") == "1")
    cold = [key for key in keys if header(places[key], "x-ms-documentdb-partitionkeyrangeid") == "0"]
    for key in cold:
        gone = {"x-ms-documentdb-partitionkey": f'["{key}"]'}
        assert house.send("DELETE", "/dbs/d/colls/c/docs/1", headers=gone).status == 204
    house.fill(2000, hot)
    assert house.read_now(second).refused > 0
    page = house.send("GET", "/dbs/d/colls/c/docs")
    assert (page.status, load(page.body)["Documents"], header(page, "x-ms-request-charge")) == (200, [], "1")
    on = house.send("GET", "/dbs/d/colls/c/docs", headers={"x-ms-continuation": header(page, "x-ms-continuation")})
    assert on.status == 429


# ---- offers


def test_an_implicit_offer_is_metered_until_a_client_replaces_it() -> None:
    house = House()
    house.create("d", "c")
    assert house.fill(500) == 500
    assert house.read_now(house.partitions()[0]).units == pytest.approx(500 * 5.25)
    assert house.scale(400).status == 200
    house.hands.go(1.0)
    assert house.fill(500, "b") == 77


def test_the_default_throughput_makes_them_real() -> None:
    house = House(default_throughput=1000)
    house.create("d", "c")
    assert house.offer()["content"]["offerThroughput"] == 1000
    assert house.fill(500) == 191


def test_a_changed_offer_reaches_every_worker_within_a_second() -> None:
    house = House(workers=2)
    house.create("d", "c", {MANUAL: "400"})
    assert house.fill(200, worker=1) == 77
    house.hands.go(1.0)
    answer = house.scale(4000)
    assert (answer.status, header(answer, "x-ms-offer-replace-pending")) == (200, "false")
    assert header(answer, "x-ms-cosmos-min-throughput") == "400"
    house.hands.go(1.0)
    house.fill(1, "b", worker=1)  # the first that it does in a second is still under the old offer
    assert house.fill(1000, "c", worker=1) > 500


def test_workers_share_a_budget() -> None:
    house = House(workers=3)
    house.create("d", "c", {MANUAL: "400"})
    for worker in range(3):
        house.fill(1, worker=worker)
    house.hands.go(1.0)
    through = [house.fill(30, f"w{worker}", worker) for worker in (0, 1, 2)]
    assert sum(through) in (77, 78)
    refused = house.write("x", "w0", worker=0)
    assert refused.status == 429


def test_budgets_are_kept_where_meters_are_few() -> None:
    """Containers take each other's slots; who comes back is found again by the other worker."""
    house = House(workers=2, slots=2)
    for container in ("c", "e", "f"):
        house.create("d", container, {MANUAL: "400"})
    for _ in range(3):
        for container in ("e", "f"):
            for worker in (0, 1):
                assert house.write("1", container=container, worker=worker).status < 300
        house.hands.go(1.0)
    house.fill(1, worker=0)
    house.fill(1, worker=1)
    house.hands.go(1.0)
    assert 74 <= house.fill(40, "a", 0) + house.fill(200, "b", 1) <= 78


def test_containers_of_a_database_share_its_offer() -> None:
    house = House()
    made = house.send("POST", "/dbs", {"id": "s"}, {MANUAL: "400"})
    assert made.status == 201
    for container in ("one", "two", "own"):
        house.create("s", container, {MANUAL: "400"} if container == "own" else None)
    key = {"x-ms-documentdb-partitionkey": '["a"]', "x-ms-documentdb-is-upsert": "true"}

    def fill(container: str) -> tuple[int, Response]:
        path = f"/dbs/s/colls/{container}/docs"
        answers = [house.send("POST", path, {"id": str(n), "pk": "a"}, key) for n in range(100)]
        return sum(answer.status < 300 for answer in answers), answers[-1]

    assert fill("one")[0] == 77
    through, refused = fill("two")
    assert (through, refused.status, substatus(refused)) == (0, 429, 3200)
    message = load(refused.body)["message"]
    assert "the 400 RU/s of the database 's', which its containers share" in message
    assert "partition key range 0 of s/two" in message
    assert fill("own")[0] == 77
    owner = house.workers[0].database.database("s")
    assert house.read_now(pool_name(owner.number)).units == pytest.approx(77 * 5.25)


def test_autoscale_throttles_at_its_maximum() -> None:
    house = House()
    house.create("d", "c", {"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput": 1000}'})
    assert house.offer()["content"]["offerThroughput"] == 100
    assert house.fill(500) == 191


def test_units_per_minute_are_drawn_and_told() -> None:
    house = House(rules="2017")
    per_minute = {MANUAL: "2500", "x-ms-offer-is-ru-per-minute-throughput-enabled": "True"}
    house.create("d", "c", per_minute)
    used = [header(house.write(str(number)), "x-ms-documentdb-is-ru-per-minute-used") for number in range(600)]
    assert used == ["0"] * 477 + ["1"] * 123
    refused = house.write("x", more={"x-ms-documentdb-disable-ru-per-minute-usage": "true"})
    assert (refused.status, substatus(refused)) == (429, 3200)
    through = house.fill(10_000, "b")
    assert (600 + through) * 5.25 == pytest.approx(2500 + 25_000, abs=6)
    refused = house.write("y")
    assert (refused.status, substatus(refused)) == (429, 3202)
    assert "the minute is used up: the 2500 RU/s" in load(refused.body)["message"]


def test_today_there_are_no_units_per_minute() -> None:
    house = House()
    headers = {MANUAL: "400", "x-ms-offer-is-ru-per-minute-throughput-enabled": "True"}
    refused = house.send("POST", "/dbs/d/colls", {**CONTAINER, "id": "c"}, headers)
    assert refused.status == 400
    assert "rules of 2017" in load(refused.body)["message"]


def test_a_container_without_a_key_is_fixed() -> None:
    house = House()
    old = {"x-ms-version": "2018-06-18", MANUAL: "10000"}
    made = house.send("POST", "/dbs/d/colls", {"id": "c"}, old)
    assert made.status == 201
    assert load(made.body)["partitionKey"]["systemKey"] is True
    assert len(house.partitions()) == 1
    assert house.scale(10_100).status == 400
    assert house.scale(5_000).status == 200
    assert house.send("POST", "/dbs/d/colls", {"id": "e"}, {**old, MANUAL: "10100"}).status == 400


def test_unlimited_containers_of_2017_have_2500_at_least() -> None:
    house = House(rules="2017")
    refused = house.send("POST", "/dbs/d/colls", {**CONTAINER, "id": "c"}, {MANUAL: "400"})
    assert refused.status == 400
    assert "is less than required minimum throughput 2500" in load(refused.body)["message"]
    house.create("d", "c", {MANUAL: "2500"})
    assert house.scale(2400).status == 400


def test_an_offer_is_pending_while_its_partitions_are_split() -> None:
    house = House()
    house.create("d", "c", {MANUAL: "400"})
    database = house.workers[0].database
    container = database.container("d", "c")
    path = f"/offers/{house.offer()['id']}"
    assert header(house.send("GET", path), "x-ms-offer-replace-pending") == "false"
    drive(house.engine, database.start_split(container, container.row.ranges[0], "1F" + "FF" * 15, "throughput"))
    assert header(house.send("GET", path), "x-ms-offer-replace-pending") == "true"


# ---- options


def test_scaled_limits_are_named_wherever_they_refuse() -> None:
    house = House(scale=0.01)
    house.create("d", "c", {MANUAL: "400"})
    assert len(house.partitions()) == 7
    assert house.fill(500) == pytest.approx(400 / 7 / 5.25, abs=1)
    assert "(all limits are scaled by 0.01)" in load(house.write("x").body)["message"]


def test_the_cap_of_a_key_is_scaled_and_says_so() -> None:
    house = House(partition_storage=2**20, scale=0.01)
    house.create("d", "c")
    item = {"id": "1", "pk": "a", "filler": "x" * 5000}
    refused = house.send("POST", "/dbs/d/colls/c/docs", item, {"x-ms-documentdb-partitionkey": '["a"]'})
    assert (refused.status, substatus(refused)) == (403, 1014)
    assert "(all limits are scaled by 0.01)" in load(refused.body)["message"]


def test_no_partition_has_more_than_one_serves() -> None:
    house = House(partition_throughput=100)
    made = house.send("POST", "/dbs/d/colls", {"id": "c"}, {"x-ms-version": "2018-06-18", MANUAL: "5000"})
    assert made.status == 201
    path, upsert = "/dbs/d/colls/c/docs", {"x-ms-documentdb-is-upsert": "true"}
    through = [house.send("POST", path, {"id": str(number)}, upsert).status for number in range(100)]
    assert through.count(201) == 20


def test_a_bucket_caps_who_names_it() -> None:
    house = House(throughput_buckets="2=20")
    house.create("d", "c", {MANUAL: "400"})
    assert house.fill(100, more={BUCKET: "2"}) == 16
    refused = house.write("x", more={BUCKET: "2"})
    assert (refused.status, substatus(refused)) == (429, 3212)
    assert "throughput bucket 2 (20%)" in load(refused.body)["message"]
    assert house.write("x", more={BUCKET: "1"}).status == 201  # not configured: no cap
    assert house.fill(100, "b") == 60
    assert house.write("x").status == 429


@pytest.mark.parametrize("bucket", ["0", "6", "256", "two"])
def test_a_bucket_that_cannot_be_is_refused(bucket: str) -> None:
    house = House()
    house.create("d", "c")
    refused = house.write("x", more={BUCKET: bucket})
    assert refused.status == 400
    words = f"The value '{bucket}' specified for the header 'x-ms-cosmos-throughput-bucket' is invalid."
    assert words in load(refused.body)["message"]


def test_low_priority_is_throttled_first_where_that_is_configured() -> None:
    for priority, through in ((False, 77), (True, 39)):
        house = House(priority=priority)
        house.create("d", "c", {MANUAL: "400"})
        house.hands.go(0.5)  # the clock stands at the middle of a second
        assert house.fill(100, more={PRIORITY: "Low"}) == through
        assert house.write("x").status == (201 if priority else 429)
    assert house.write("x", more={PRIORITY: "Medium"}).status == 400


def test_bursts_spend_what_was_left() -> None:
    for burst, through in ((False, 77), (True, 571)):
        house = House(burst=burst)
        house.create("d", "c", {MANUAL: "400"})
        house.write("first")
        house.hands.go(100.0)
        assert house.fill(1000) == pytest.approx(through, abs=2)


def test_metadata_has_a_budget_of_its_own() -> None:
    house = House(metadata_throughput=240)
    house.create("d", "c", {MANUAL: "400"})
    through = sum(house.send("GET", "/dbs").status == 200 for _ in range(200))
    assert through == pytest.approx(115, abs=2)
    refused = house.send("GET", "/dbs/d")
    assert (refused.status, substatus(refused)) == (429, 3200)
    assert "the 240 RU/s of the account's metadata" in load(refused.body)["message"]
    assert house.write("1").status == 201
    house.hands.go(1.0)
    assert house.send("GET", "/dbs/d").status == 200


def test_metadata_is_metered_and_not_limited_unless_configured() -> None:
    house = House()
    assert all(house.send("GET", "/dbs").status == 200 for _ in range(2000))
    assert house.read_now(b"account metadata").units >= 4000


def test_the_settings_become_options() -> None:
    options = read_options(Settings(throughput_buckets="1=20,5=100", metadata_throughput=240, scale=0.5))
    assert options.buckets == {1: 0.2, 5: 1.0}
    assert options.metadata == 240
    assert options.limits == Limits(5000, 25 << 30, 0.5)
    assert Options() == read_options(Settings())
