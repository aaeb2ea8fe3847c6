"""Two processes over one store: what one of them remembers of a container is never an answer about what it is now."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.api.nosql.account import NOW, Account, Told, make_request, tell

from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import Block, Commit, Pause, Steps, drive
from armillary.server.expiry import Expiry
from armillary.store.cuts import cut_range
from armillary.store.splitting import Phase, Splitting
from armillary.store.transaction import Moment
from armillary.wire.http import Response

ROOT = Path(__file__).parents[4]
BOX = "/dbs/d/colls/box"
DOCS = f"{BOX}/docs"
A = {"x-ms-documentdb-partitionkey": '["a"]'}
FIVE = {"x-ms-offer-throughput": "30000"}

Send = Callable[..., Told]


def define(*paths: str, **more: Any) -> dict[str, Any]:
    kind = "Hash" if len(paths) == 1 else "MultiHash"
    return {"id": "box", "partitionKey": {"paths": list(paths), "kind": kind, "version": 2}, **more}


def must(told: Told) -> Told:
    assert told.status < 300, told
    return told


@contextlib.contextmanager
def share_memory() -> Iterator[tuple[Send, Send]]:
    """Two databases over one engine."""
    first = Account(MemoryEngine())
    drive(first.engine, first.database.recover())
    second = Account(first.engine)
    yield (lambda *words: tell(first.send(*words))), (lambda *words: tell(second.send(*words)))
    assert first.database.check().complaints == []


@contextlib.contextmanager
def share_folder(folder: Path) -> Iterator[tuple[Send, Send]]:
    """Two processes over one folder."""
    command = [sys.executable, "-m", "tests.unit.api.nosql.account", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def send(at: int, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> Told:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps([at, method, path, body, headers]) + "\n")
            process.stdin.flush()
            return Told(*json.loads(process.stdout.readline()))

        yield (lambda *words: send(0, *words)), (lambda *words: send(1, *words))
        assert process.stdin
        process.stdin.close()
        assert process.wait(10) == 0


@pytest.fixture(params=["memory", "folder"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Send, Send]]:
    """Two processes; the first of them remembers a container with an item."""
    if request.param == "folder" and sys.platform != "linux":
        pytest.skip("a server is a family of processes on Linux only")
    with share_memory() if request.param == "memory" else share_folder(tmp_path / "data") as (here, there):
        must(here("POST", "/dbs", {"id": "d"}))
        must(here("POST", "/dbs/d/colls", define("/pk")))
        must(here("POST", DOCS, {"id": "1", "pk": "a"}, A))
        yield here, there


def make_again(process: Send, definition: dict[str, Any], headers: dict[str, str] | None = None) -> str:
    """Delete the container and make it again; its new rid."""
    must(process("DELETE", BOX))
    rid: str = must(process("POST", "/dbs/d/colls", definition, headers)).json["_rid"]
    return rid


def meaning(rid: str) -> dict[str, str]:
    return {**A, "x-ms-cosmos-intended-collection-rid": rid}


def test_a_container_made_again_is_seen_at_once(pair: tuple[Send, Send]) -> None:
    here, there = pair
    old = here("GET", BOX).json["_rid"]
    new = make_again(there, define("/pk"))
    assert new != old
    assert here("GET", BOX).json["_rid"] == new
    for method, path, body in (("GET", BOX, None), ("GET", f"{DOCS}/1", None), ("POST", DOCS, {"id": "1", "pk": "a"})):
        stale = here(method, path, body, meaning(old))
        assert (stale.status, stale.substatus) == (400, 1024)
    assert here("GET", f"{DOCS}/1", None, meaning(new)).status == 404
    assert must(here("POST", DOCS, {"id": "1", "pk": "a"}, meaning(new))).headers["x-ms-content-path"] == new
    assert there("GET", f"{DOCS}/1", None, meaning(new)).status == 200


@pytest.mark.parametrize("order", ["the new one first", "the old one first"])
def test_who_means_either_of_two_is_told_the_truth(pair: tuple[Send, Send], order: str) -> None:
    """The first request after the change is about items: nothing else has looked at the catalog before."""
    here, there = pair
    old = here("GET", BOX).json["_rid"]
    new = make_again(there, define("/pk"))
    answers = {}
    for rid in (new, old) if order == "the new one first" else (old, new):
        told = here("GET", f"{DOCS}/1", None, meaning(rid))
        answers[rid] = (told.status, told.substatus)
    assert answers == {old: (400, 1024), new: (404, 0)}


def test_the_key_is_the_one_of_the_container_there_is_now(pair: tuple[Send, Send]) -> None:
    """A refusal by a remembered key definition would never come to a partition that knows better."""
    here, there = pair
    make_again(there, define("/t", "/u"))
    key = {"x-ms-documentdb-partitionkey": '["x","y"]'}
    assert here("POST", DOCS, {"id": "1", "t": "x", "u": "y"}, key).status == 201
    assert there("GET", f"{DOCS}/1", None, key).status == 200
    assert there("POST", DOCS, {"id": "1", "pk": "a"}, A).status == 400


def test_the_map_is_the_one_of_the_container_there_is_now(pair: tuple[Send, Send]) -> None:
    here, there = pair
    make_again(there, define("/pk"), FIVE)
    last = {"x-ms-documentdb-partitionkeyrangeid": "4"}
    assert here("GET", DOCS, None, last).status == 200
    assert here("GET", DOCS, None, {**last, "a-im": "Incremental feed"}).status == 304
    assert [row["id"] for row in here("GET", f"{BOX}/pkranges").json["PartitionKeyRanges"]] == list("01234")
    make_again(there, define("/pk"))
    gone = here("GET", DOCS, None, last)
    assert (gone.status, gone.substatus) == (410, 1002)
    assert here("GET", DOCS, None, {"a-im": "Incremental feed"}).status == 304  # one range again: it needs no name


def test_a_continuation_belongs_to_the_container_there_is_now(pair: tuple[Send, Send]) -> None:
    here, there = pair
    pages = {"x-ms-max-item-count": "1"}
    must(here("POST", DOCS, {"id": "2", "pk": "a"}, A))
    old = must(here("GET", DOCS, None, pages)).headers["x-ms-continuation"]
    make_again(there, define("/pk"))
    for name in "12":
        must(there("POST", DOCS, {"id": name, "pk": "a"}, A))
    new = must(there("GET", DOCS, None, pages)).headers["x-ms-continuation"]
    assert [row["id"] for row in here("GET", DOCS, None, {"x-ms-continuation": new}).json["Documents"]] == ["2"]
    assert here("GET", DOCS, None, {"x-ms-continuation": old}).status == 400


def test_a_definition_replaced_elsewhere_is_the_answer(pair: tuple[Send, Send]) -> None:
    here, there = pair
    etag = must(here("GET", BOX)).json["_etag"]
    changed = must(there("PUT", BOX, define("/pk", defaultTtl=60))).json
    assert here("GET", BOX).json == changed
    assert here("PUT", BOX, define("/pk"), {"if-match": etag}).status == 412
    assert here("DELETE", BOX, None, {"if-match": etag}).status == 412
    assert here("POST", DOCS, {"id": "2", "pk": "a", "ttl": "no"}, A).status == 400
    assert must(here("GET", "/dbs/d/colls")).json["DocumentCollections"] == [changed]
    assert here("PUT", BOX, define("/pk"), {"if-match": changed["_etag"]}).status == 200


def test_what_is_deleted_elsewhere_is_gone_for_all(pair: tuple[Send, Send]) -> None:
    here, there = pair
    must(there("DELETE", BOX))
    for method, path, body, headers in (
        ("GET", BOX, None, None),
        ("PUT", BOX, define("/pk"), None),
        ("DELETE", BOX, None, None),
        ("GET", f"{BOX}/pkranges", None, None),
        ("GET", f"{DOCS}/1", None, A),
        ("GET", DOCS, None, None),
        ("GET", DOCS, None, {"a-im": "Incremental feed"}),
        ("POST", DOCS, {"id": "2", "pk": "a"}, A),
        ("POST", DOCS, {"id": "2", "pk": 7}, A),
    ):
        told = here(method, path, body, headers)
        assert (told.status, told.substatus) == (404, 1003), (method, path)


def test_a_database_made_again_is_another(pair: tuple[Send, Send]) -> None:
    here, there = pair
    must(there("DELETE", "/dbs/d"))
    assert here("GET", f"{DOCS}/1", None, A).status == 404
    must(there("POST", "/dbs", {"id": "d"}))
    assert here("POST", DOCS, {"id": "1", "pk": "a"}, A).status == 404
    must(there("POST", "/dbs/d/colls", define("/pk")))
    assert (
        must(here("POST", DOCS, {"id": "1", "pk": "a"}, A)).headers["x-ms-content-path"]
        == there("GET", BOX).json["_rid"]
    )


def test_the_quota_counts_what_there_is_now(pair: tuple[Send, Send]) -> None:
    """Also beside a write that went through: a count that finds its map stale must not have it done again."""
    here, there = pair
    asked = {**A, "x-ms-documentdb-populatequotainfo": "True"}
    assert "documentsCount=2;" in must(here("POST", DOCS, {"id": "2", "pk": "a"}, asked)).headers["x-ms-resource-usage"]
    make_again(there, define("/pk"), FIVE)
    assert "documentsCount=0;" in must(here("GET", BOX, None, asked)).headers["x-ms-resource-usage"]
    assert "documentsCount=1;" in must(here("POST", DOCS, {"id": "2", "pk": "a"}, asked)).headers["x-ms-resource-usage"]


def test_no_two_requests_share_an_activity(pair: tuple[Send, Send]) -> None:
    seen = [process("GET", BOX).headers["x-ms-activity-id"] for process in pair for _ in range(3)]
    assert len(set(seen)) == 6


# ---- operations that are cut short, in between


class Halves:
    """Two processes over one engine; one of them can be stopped between any two steps of an operation."""

    def __init__(self) -> None:
        self.now = 0.0
        clock = Clock(ticks=lambda: NOW * TICKS_PER_SECOND, monotonic=self.read_clock)
        self.here = Account(MemoryEngine(), clock)
        self.there = Account(self.here.engine, clock)
        drive(self.here.engine, self.here.database.recover())
        for method, path, body, headers in (
            ("POST", "/dbs", {"id": "d"}, None),
            ("POST", "/dbs/d/colls", define("/pk"), None),
            ("POST", DOCS, {"id": "1", "pk": "a"}, A),
        ):
            must(tell(self.here.send(method, path, body, headers)))

    def read_clock(self) -> float:
        self.now += 0.3
        return self.now

    def begin(self, account: Account, method: str, body: object = b"", **headers: str) -> Steps[Response]:
        """An operation on the container, or a new item of it."""
        path = DOCS if method == "POST" else BOX
        answer = account.app.handle(make_request(method, path, body, headers or A))
        assert not isinstance(answer, Response)
        return answer

    def advance(self, steps: Steps[Response], sent: object = None) -> object:
        """Take one step; what came of it, and in the end the answer."""
        try:
            step = steps.send(sent)
        except StopIteration as end:
            return tell(end.value)
        if isinstance(step, Commit):
            return self.here.engine.write(step.partition, [step.work])[0]
        return step.call() if isinstance(step, Block) else step

    def finish(self, steps: Steps[Response], sent: object = None) -> Told:
        while not isinstance(sent, Told):
            sent = self.advance(steps, sent)
        return sent

    def cut(self, path: str, steps: int, method: str = "DELETE", body: object = b"") -> None:
        """The other process dies after so many steps of a deletion, or of another operation."""
        course, sent = self.there.app.handle(make_request(method, path, body, None)), None
        assert not isinstance(course, Response)
        for _ in range(steps):
            sent = self.advance(course, sent)


@pytest.fixture
def halves() -> Halves:
    return Halves()


@pytest.mark.parametrize("path", [BOX, "/dbs/d"])
def test_a_deletion_that_was_not_decided_is_none(halves: Halves, path: str) -> None:
    """Sealed, and then the process died: who waits for the seal opens it, and everything is as it was."""
    halves.cut(path, 1)
    assert tell(halves.here.send("GET", f"{DOCS}/1", headers=A)).status == 200
    assert halves.finish(halves.begin(halves.here, "POST", {"id": "2", "pk": "a"})).status == 201
    assert tell(halves.here.send("DELETE", path)).status == 204
    assert halves.here.database.check().notes == []


@pytest.mark.parametrize("path", [BOX, "/dbs/d"])
def test_two_deletions_do_not_wait_for_a_dead_one(halves: Halves, path: str) -> None:
    halves.cut(path, 1)
    deletion = halves.here.app.handle(make_request("DELETE", path, b"", None))
    assert not isinstance(deletion, Response)
    assert halves.finish(deletion).status == 204
    assert tell(halves.there.send("GET", BOX)).status == 404


@pytest.mark.parametrize("path", [BOX, "/dbs/d"])
def test_a_deletion_that_was_decided_is_one(halves: Halves, path: str) -> None:
    """The catalog has forgotten the container, its partition is still there, and the process died."""
    halves.cut(path, 2)
    assert tell(halves.here.send("GET", f"{DOCS}/1", headers=A)).status == 404
    assert halves.finish(halves.begin(halves.here, "POST", {"id": "2", "pk": "a"})).status == 404
    assert len(halves.here.database.check().notes) == 1
    assert len(drive(halves.here.engine, halves.here.database.recover())) == 1


def test_a_start_opens_the_seal_of_a_deletion(halves: Halves) -> None:
    halves.cut(BOX, 1)
    drive(halves.here.engine, halves.there.database.recover())
    write = halves.begin(halves.here, "POST", {"id": "2", "pk": "a"})
    done = halves.advance(write, halves.advance(write))  # a commit, and the answer: nothing to wait for
    assert isinstance(done, Told)
    assert done.status == 201


def test_the_keeper_goes_on_with_a_new_definition(halves: Halves) -> None:
    """The catalog has it, its partition does not follow yet, and the process died."""
    halves.cut(BOX, 1, "PUT", define("/pk", defaultTtl=60))
    assert tell(halves.there.send("GET", BOX)).json["defaultTtl"] == 60
    Expiry(halves.there.database).run()
    assert halves.finish(halves.begin(halves.here, "POST", {"id": "2", "pk": "a", "ttl": "no"})).status == 400


def test_a_deletion_by_an_old_etag_leaves_no_seal(halves: Halves) -> None:
    """Its etag was right when it began, and wrong when the catalog looked."""
    etag = tell(halves.here.send("GET", BOX)).json["_etag"]
    deletion = halves.begin(halves.there, "DELETE", **{"if-match": etag})
    sealed = halves.advance(deletion)
    replaced = halves.begin(halves.here, "PUT", define("/pk", defaultTtl=60))
    waiting = halves.advance(replaced, halves.advance(replaced, halves.advance(replaced)))
    assert isinstance(waiting, Pause)  # the catalog has the new definition, the partition is sealed
    assert halves.finish(deletion, sealed).status == 412
    assert halves.finish(replaced).status == 200
    assert halves.finish(halves.begin(halves.there, "POST", {"id": "2", "pk": "a", "ttl": "no"})).status == 400
    assert halves.finish(halves.begin(halves.there, "POST", {"id": "2", "pk": "a"})).status == 201


def test_a_definition_is_made_of_the_one_that_another_has_left(halves: Halves) -> None:
    body = tell(halves.here.send("GET", BOX)).json
    first = halves.begin(halves.here, "PUT", {**body, "defaultTtl": 60})
    assert tell(halves.there.send("PUT", BOX, {**body, "defaultTtl": -1})).status == 200
    assert halves.finish(first).status == 200
    assert tell(halves.there.send("GET", BOX)).json["defaultTtl"] == 60


def test_a_count_beside_a_write_does_not_have_it_done_again(halves: Halves) -> None:
    """A range that the write does not go to was split meanwhile, and its partition is gone."""
    make_again(lambda *words: tell(halves.here.send(*words)), define("/pk"), {"x-ms-offer-throughput": "12000"})
    asked = {**A, "x-ms-documentdb-populatequotainfo": "True"}
    must(tell(halves.here.send("POST", DOCS, {"id": "1", "pk": "a"}, asked)))
    database, engine = halves.there.database, halves.here.engine
    container = database.look_up("d", "box")
    ranges = {key: container.route(container.scope((key,)).start) for key in "abcdefgh"}
    key, place = next((key, place) for key, place in ranges.items() if place != ranges["a"])
    other = {"x-ms-documentdb-partitionkey": f'["{key}"]'}
    must(tell(halves.there.send("POST", DOCS, {"id": "1", "pk": key}, other)))
    point = database.plan_split(container, place, cut_range).point.hex().upper()
    split = drive(engine, database.start_split(container, place, point, "test"))
    row = database.look_up("d", "box").row
    splitting = Splitting(engine, row, split, container.rules, lambda: Moment(0, bytes(16)))
    while splitting.step() is not Phase.OVER:
        continue
    engine.drop(place.partition)
    made = tell(halves.here.send("POST", DOCS, {"id": "2", "pk": "a"}, asked))
    assert made.status == 201
    assert "documentsCount=3;" in made.headers["x-ms-resource-usage"]
