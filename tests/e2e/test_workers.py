"""Three workers, one server: what a client does through one of them is the truth for all others at once."""

import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from tests.e2e.live import Answer, Caller, Live, key_header, meet_workers, run_live

pytestmark = [pytest.mark.e2e, pytest.mark.workers(3)]

A: Final = key_header("a")
ROUNDS: Final = 12


@pytest.fixture
def workers(live: Live) -> Iterator[list[Caller]]:
    """A connection to each worker."""
    with meet_workers(live.http, live.key, live.workers) as met:
        yield [met[number] for number in sorted(met)]


def define(*paths: str) -> dict[str, Any]:
    kind = "Hash" if len(paths) == 1 else "MultiHash"
    return {"id": "box", "partitionKey": {"paths": list(paths), "kind": kind, "version": 2}}


def put(caller: Caller, place: str, name: str, **headers: str) -> Answer:
    return caller.ask("POST", f"{place}/docs", {"id": name, "pk": "a"}, {**A, **headers})


def test_what_one_writes_all_read(workers: list[Caller], name: str) -> None:
    workers[0].create(name)
    place = workers[1].create(name, "box")
    for at, writer in enumerate(workers):
        made = put(writer, place, str(at))
        assert made.status == 201
        for reader in workers:
            session = {"x-ms-session-token": made.headers["x-ms-session-token"]}
            assert reader.must("GET", f"{place}/docs/{at}", None, {**A, **session}).etag == made.etag
    for path in (place, f"{place}/pkranges", f"{place}/docs", f"/dbs/{name}/colls"):
        assert len({reader.must("GET", path).body for reader in workers}) == 1


def test_no_two_requests_share_an_activity(workers: list[Caller]) -> None:
    seen = [caller.must("GET", "/").headers["x-ms-activity-id"] for caller in workers for _ in range(3)]
    assert len(set(seen)) == 9


def test_all_workers_show_one_certificate(tmp_path: Path) -> None:
    """Nobody has it yet, and all workers are asked for it at the same time."""
    with run_live(tmp_path / "data", workers=3) as live:
        address = urlsplit(live.https)

        def look(_: int) -> bytes | None:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with context.wrap_socket(socket.create_connection((address.hostname, address.port), 30)) as secure:
                return secure.getpeercert(binary_form=True)

        with ThreadPoolExecutor(12) as pool:
            (shown,) = set(pool.map(look, range(24)))
        with meet_workers(live.http, live.key, 3) as met:
            (page,) = {caller.must("GET", "/_explorer/emulator.pem").body for caller in met.values()}
        assert ssl.PEM_cert_to_DER_cert(page.decode()) == shown


def test_a_container_made_again_is_seen_by_all_at_once(workers: list[Caller], name: str) -> None:
    """Each round another worker makes it again; all others remember the one before."""
    workers[0].create(name)
    place = workers[0].create(name, "box")
    for turn in range(9):
        maker = workers[turn % 3]
        old = maker.must("GET", place).json["_rid"]
        for caller in workers:
            assert put(caller, place, f"{turn}-{workers.index(caller)}").status == 201
        maker.must("DELETE", place)
        new = maker.must("POST", f"/dbs/{name}/colls", define("/pk")).json["_rid"]
        for caller in workers:
            meant = {"x-ms-cosmos-intended-collection-rid": old}
            for answer in (put(caller, place, "x", **meant), caller.ask("GET", place, None, meant)):
                assert (answer.status, answer.substatus) == (400, 1024)
            assert caller.must("GET", place).json["_rid"] == new
            found = caller.ask("GET", f"{place}/docs/{turn}-0", None, {**A, "x-ms-cosmos-intended-collection-rid": new})
            assert (found.status, found.substatus) == (404, 0)


def test_a_container_made_again_with_another_key(workers: list[Caller], name: str) -> None:
    workers[0].create(name)
    place = workers[0].create(name, "box")
    for caller in workers:
        assert put(caller, place, f"{workers.index(caller)}").status == 201
    workers[1].must("DELETE", place)
    workers[1].must("POST", f"/dbs/{name}/colls", define("/t", "/u"), {"x-ms-offer-throughput": "30000"})
    for at, caller in enumerate(workers):
        caller.must("POST", f"{place}/docs", {"id": str(at), "t": "x", "u": at}, key_header("x", at))
        for reader in workers:
            reader.must("GET", f"{place}/docs/{at}", None, key_header("x", at))
            assert reader.ask("GET", f"{place}/docs", None, {"x-ms-documentdb-partitionkeyrangeid": "4"}).status == 200


def test_many_make_one_container(live: Live, name: str) -> None:
    """Through all workers at once: one is told that it made it, the others that it is there."""
    with live.caller() as caller:
        caller.create(name)

    def make(_: int) -> tuple[int, str]:
        with live.caller() as caller:
            answer = caller.ask("POST", f"/dbs/{name}/colls", define("/pk"))
            return answer.status, caller.must("GET", f"/dbs/{name}/colls/box").json["_rid"]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(make, range(24)))
    assert sorted(status for status, _ in answers) == [201] + [409] * 23
    assert len({rid for _, rid in answers}) == 1


def test_nothing_is_written_to_what_is_gone(live: Live, name: str) -> None:
    """Clients write through all workers while the container is deleted and made again: what was acknowledged for the
    last one is in it, and nothing else.
    """
    with live.caller() as caller:
        caller.create(name)
        place = caller.create(name, "box")
    over: list[str] = []

    def write(client: int) -> dict[str, str]:
        acknowledged: dict[str, str] = {}
        with closing(Caller(live.http, live.key)) as caller:  # one connection, and so one worker
            while not over:
                name = f"{client}-{len(acknowledged)}"
                answer = put(caller, place, name)
                assert answer.status in (201, 404), (answer.status, answer.body)
                if answer.status == 201:
                    acknowledged[name] = answer.headers["x-ms-content-path"]
        return acknowledged

    def make_again() -> None:
        with live.caller() as caller:
            try:
                for _ in range(ROUNDS):
                    caller.must("DELETE", place)
                    caller.must("POST", f"/dbs/{name}/colls", define("/pk"))
            finally:
                over.append("over")

    with ThreadPoolExecutor(7) as pool:
        writers = [pool.submit(write, client) for client in range(6)]
        pool.submit(make_again).result()
        acknowledged = {name: rid for writer in writers for name, rid in writer.result().items()}
    with live.caller() as caller:
        last = caller.must("GET", place).json["_rid"]
        rows = caller.must("GET", f"{place}/docs", None, {"x-ms-max-item-count": "-1"}).json["Documents"]
    assert {row["id"] for row in rows} == {name for name, rid in acknowledged.items() if rid == last}
    assert len(set(acknowledged.values())) > 2
