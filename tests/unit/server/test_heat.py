"""Minutes of heat: what the keeper makes of seconds, what survives in the folder, and what the pages show."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.api.nosql.rig import CONTAINER
from tests.unit.api.nosql.test_budgets import MANUAL, House

from armillary.budget import PLAIN, Allowance
from armillary.kv.steps import drive
from armillary.meter import MeterReader, Meters
from armillary.server.figures import FigurePages
from armillary.server.heat import Heat
from armillary.server.heatlog import HeatLog, Row
from armillary.wire.http import Request, Response

DAY = 86_400
NOON = int(datetime(2027, 3, 1, 12, tzinfo=UTC).timestamp())


def row(minute: int, **more: Any) -> Row:
    return {"minute": minute, "partition": "ab", "ru": 5.0, **more}


# ---- the log


@pytest.fixture(params=["memory", "folder"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> HeatLog:
    return HeatLog(tmp_path if request.param == "folder" else None)


def test_rows_come_back_for_a_day(log: HeatLog) -> None:
    for hour in range(30):
        log.append([row(NOON + hour * 3600)], NOON + hour * 3600 + 60)
    now = NOON + 30 * 3600
    assert [found["minute"] for found in log.read(now - 3 * 3600, now)] == [NOON + hour * 3600 for hour in (27, 28, 29)]
    assert len(log.read(now - DAY, now)) == 24


def test_the_folder_outlives_the_process_and_holds_two_days(tmp_path: Path) -> None:
    for day in range(5):
        HeatLog(tmp_path).append([row(NOON + day * DAY)], NOON + day * DAY)
    assert [file.name for file in sorted((tmp_path / "heat").iterdir())] == ["2027-03-04.jsonl", "2027-03-05.jsonl"]
    now = NOON + 4 * DAY
    assert [found["minute"] for found in HeatLog(tmp_path).read(now - DAY, now)] == [now - DAY, now]


def test_a_line_of_the_file_is_what_the_page_says(tmp_path: Path) -> None:
    HeatLog(tmp_path).append([row(NOON, hot=[])], NOON)
    assert (tmp_path / "heat" / "2027-03-01.jsonl").read_text() == (
        f'{{"minute":{NOON},"partition":"ab","ru":5.0,"hot":[]}}\n'
    )


def test_a_torn_line_is_passed_over_wherever_it_was_torn(tmp_path: Path) -> None:
    HeatLog(tmp_path).append([row(NOON), row(NOON + 60)], NOON)
    file = tmp_path / "heat" / "2027-03-01.jsonl"
    whole = file.read_bytes()
    for end in range(len(whole)):
        file.write_bytes(whole[:end])
        kept = HeatLog(tmp_path).read(NOON, NOON)
        assert len(kept) == (end >= len(whole) // 2 - 1) + (end >= len(whole) - 1)
        HeatLog(tmp_path).append([row(NOON + 120)], NOON)
        assert HeatLog(tmp_path).read(NOON, NOON)[-1]["minute"] == NOON + 120
        assert len(HeatLog(tmp_path).read(NOON, NOON)) == len(kept) + 1


def test_what_cannot_be_written_waits(tmp_path: Path) -> None:
    log = HeatLog(tmp_path)
    (tmp_path / "heat").write_text("a file is in the way")
    with pytest.raises(OSError, match="heat"):
        log.append([row(NOON)], NOON)
    (tmp_path / "heat").unlink()
    log.append([row(NOON + 60)], NOON)
    assert [found["minute"] for found in log.read(NOON, NOON)] == [NOON, NOON + 60]


# ---- the job


class Warm:
    """A house with a keeper."""

    def __init__(self, log: HeatLog, **settings: Any) -> None:
        self.house = House(**settings)
        self.house.create("d", "c", {MANUAL: "12000"})
        self.log = log
        self.partitions = self.house.partitions()
        self.meters = [Meters(self.house.map, worker) for worker in range(len(self.house.workers))]
        for side in self.meters:
            for partition in self.partitions:
                side.open(partition).adopt(Allowance(6000.0))
        # Every minute of this test begins with its first second.
        self.house.hands.go(60 - self.house.map.now() % 60)
        self.keeper = self.start_keeper()

    def start_keeper(self) -> Heat:
        return Heat(self.house.workers[0].database, MeterReader(self.house.map), self.log)

    def use(self, units: float, key: str = "k", part: int = 0, worker: int = 0) -> None:
        meter, now = self.meters[worker].open(self.partitions[part]), self.house.map.now()
        if meter.refuse(now, PLAIN) is None:
            meter.book(now, now + 0.001, units, 100, key.encode(), key)
        else:
            meter.note_refusal(key.encode(), key)

    def pass_time(self, seconds: int, every: int = 5) -> None:
        for second in range(seconds):
            self.house.hands.go(1.0)
            if second % every == 0:
                self.keeper.run()

    def rows(self) -> list[Row]:
        now = self.house.map.now()
        return self.log.read(now - DAY, now)


def test_seconds_become_minutes(log: HeatLog) -> None:
    warm = Warm(log)
    start = int(warm.house.map.now())
    for second in range(60):
        warm.use(10.0 if second != 30 else 250.0, "hot" if second % 3 else "warm")
        warm.pass_time(1)
    warm.use(1.0, part=1)
    assert [(found["minute"], found["range"]) for found in warm.rows()] == []
    warm.pass_time(70)
    first, last = warm.rows()
    assert {name: first[name] for name in ("minute", "database", "container", "range", "partition")} == {
        "minute": start,
        "database": "d",
        "container": "c",
        "range": "0",
        "partition": warm.partitions[0].hex(),
    }
    assert (first["ru"], first["peak"], first["budget"]) == (840.0, 250.0, 6000.0)
    assert (first["requests"], first["throttled"], first["bytes"]) == (60, 0, 6000)
    assert first["time"] == pytest.approx(0.06, rel=0.01)
    assert first["hot"][0] == {"key": "warm", "ru": 440.0, "bytes": 2000, "throttled": 0}
    assert (last["minute"], last["range"], last["ru"]) == (start + 60, "1", 1.0)


def test_refusals_are_kept_too(log: HeatLog) -> None:
    warm = Warm(log)
    warm.use(20_000.0)
    warm.use(1.0)
    warm.use(1.0)
    warm.pass_time(70)
    assert [(found["requests"], found["throttled"]) for found in warm.rows()] == [(1, 2)]


def test_all_workers_are_in_it(log: HeatLog) -> None:
    warm = Warm(log, workers=3)
    for worker in range(3):
        warm.use(5.0, worker=worker)
    warm.pass_time(70)
    assert [found["ru"] for found in warm.rows()] == [15.0]


def test_a_keeper_that_was_busy_loses_nothing(log: HeatLog) -> None:
    warm = Warm(log)
    for _ in range(300):
        warm.use(1.0)
        warm.house.hands.go(1.0)
        if int(warm.house.map.now()) % 55 == 0:
            warm.keeper.run()
    warm.pass_time(70)
    assert sum(found["ru"] for found in warm.rows()) == 300.0


def test_a_keeper_that_died_is_followed_by_one_that_goes_on(log: HeatLog) -> None:
    warm = Warm(log)
    for second in range(180):
        warm.use(1.0)
        warm.pass_time(1, every=1)
        if second % 37 == 0:
            warm.keeper = warm.start_keeper()
    warm.pass_time(70)
    assert [found["ru"] for found in warm.rows()] == [60.0, 60.0, 60.0]


def test_a_container_that_is_gone_has_no_more_minutes(log: HeatLog) -> None:
    warm = Warm(log)
    warm.use(1.0)
    warm.pass_time(5)
    assert warm.house.send("DELETE", "/dbs/d/colls/c").status == 204
    warm.pass_time(70)
    assert [found["container"] for found in warm.rows()] == ["c"]
    warm.pass_time(70)
    assert len(warm.rows()) == 1


# ---- the pages


@pytest.fixture
def pages(tmp_path: Path) -> tuple[House, FigurePages]:
    house = House(scale=0.5)
    log = HeatLog(tmp_path)
    return house, FigurePages(house.workers[0].database, log)


def show(house: House, found: Any) -> tuple[int, Any]:
    answer = found if isinstance(found, Response) else drive(house.engine, found)
    return answer.status, json.loads(answer.body)


def ask(query: bytes = b"") -> Request:
    request = Request()
    request.method, request.path, request.query, request.headers = b"GET", b"/_armillary/heat", query, {}
    return request


def test_the_page_of_partitions(pages: tuple[House, FigurePages]) -> None:
    house, figures = pages
    house.create("d", "c", {MANUAL: "4000"})
    house.create("d", "implicit")
    house.create("d", "auto", {"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput": 1000}'})
    assert house.send("POST", "/dbs", {"id": "s"}, {MANUAL: "400"}).status == 201
    assert house.send("POST", "/dbs/s/colls", {**CONTAINER, "id": "shared"}).status == 201
    for number in range(10):
        house.write(str(number), "hot" if number else "warm")
        house.write(str(number), container="auto")
    house.hands.go(1.0)
    status, page = show(house, figures.show_partitions(ask()))
    assert (status, page["scale"], page["now"]) == (200, 0.5, int(house.map.now()))
    shown = {found["container"]: found for found in page["containers"]}
    assert shown["implicit"]["offer"]["implicit"] is True
    assert shown["shared"]["offer"] is None
    assert shown["shared"]["partitions"][0]["budget"] == 400.0
    assert shown["auto"]["offer"]["factor"] == 0.1
    assert [part["range"] for part in shown["c"]["partitions"]] == ["0", "1"]
    used = [part for part in shown["c"]["partitions"] if part["items"]]
    assert sum(part["items"] for part in used) == 10
    assert sum(part["ru"] for part in used) == pytest.approx(52.5)
    assert sum(part["minute"]["requests"] for part in used) == 10
    for part in used:
        assert (part["budget"], part["limit_bytes"], part["throttled"], part["split"]) == (2000.0, 25 << 30, 0, None)
    hot = [key for part in used for key in part["hot"]]
    assert {"key": '["hot"]', "ru": 47.25, "bytes": hot[0]["bytes"], "throttled": 0} in hot
    assert page["metadata"]["budget"] == 0


def test_the_page_of_heat(pages: tuple[House, FigurePages]) -> None:
    house, figures = pages
    assert show(house, figures.show_heat(ask()))[1]["rows"] == []
    minute = int(house.map.now()) // 60 * 60
    figures._log.append([row(minute - 60 * age) for age in range(0, 200, 10)], house.map.now())
    ages = {
        query: [(minute - found["minute"]) // 60 for found in show(house, figures.show_heat(ask(query)))[1]["rows"]]
        for query in (b"", b"minutes=20", b"minutes=1440")
    }
    assert ages[b""] == [0, 10, 20, 30, 40, 50, 60]
    assert ages[b"minutes=20"] == [0, 10, 20]
    assert len(ages[b"minutes=1440"]) == 20


@pytest.mark.parametrize("query", [b"minutes=0", b"minutes=1441", b"minutes=x", b"minutes=-5", b"minutes=99999999999"])
def test_a_page_of_heat_that_cannot_be_is_refused(pages: tuple[House, FigurePages], query: bytes) -> None:
    house, figures = pages
    status, body = show(house, figures.show_heat(ask(query)))
    assert (status, body["code"]) == (400, "BadRequest")
