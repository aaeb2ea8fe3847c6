"""Request units: what the published prices say, at each consistency level, for what succeeds and what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.e2e.live import UPSERT, Answer, Caller, Live, key_header, run_live

pytestmark = pytest.mark.e2e

A: Final = key_header("a")


@pytest.fixture(scope="module")
def strong_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with run_live(tmp_path_factory.mktemp("strong") / "data", "--consistency", "Strong") as live:
        yield live


@pytest.fixture
def strong(strong_house: Live) -> Iterator[Caller]:
    """Raw requests to an account whose level is Strong."""
    with strong_house.caller() as caller:
        yield caller
    strong_house.must_be_sound()


def item_of(size: int, name: str = "1") -> dict[str, Any]:
    """An item that has this many bytes as it is read, with what the service adds."""
    added = '"_rid":"AAAAAIAAAAAAAAAAAAAAAA==",'
    added += '"_self":"dbs/AAAAAA==/colls/AAAAAIAAAAA=/docs/AAAAAIAAAAAAAAAAAAAAAA==/",'
    added += '"_etag":"\\"00000000-0000-0000-0000-000000000000\\"","_attachments":"attachments/","_ts":1700000000'
    bare = len('{"id":"","pk":"a","v":"",}') + len(name) + len(added)
    return {"id": name, "pk": "a", "v": "x" * (size - bare)}


def make_box(caller: Caller, name: str) -> str:
    caller.create(name)
    return caller.create(name, "box")


def read(caller: Caller, place: str, level: str = "") -> Answer:
    return caller.must("GET", f"{place}/docs/1", headers={**A, "x-ms-consistency-level": level})


def test_an_item_of_a_kilobyte(caller: Caller, name: str) -> None:
    place = make_box(caller, name)
    made = caller.must("POST", f"{place}/docs", item_of(1024), A)
    assert len(made.body) == 1024
    assert 5 <= made.charge <= 6
    assert read(caller, place).charge == 1.00
    for level in ("Session", "ConsistentPrefix", "Eventual"):
        assert read(caller, place, level).charge == 1.00
    for number in range(50):
        caller.must("POST", f"{place}/docs", item_of(1024, f"n{number}"), A)
    assert read(caller, place).charge == 1.00


def test_larger_items_cost_more(caller: Caller, name: str) -> None:
    place = make_box(caller, name)
    charges = []
    for kilobytes in (1, 2, 10, 100):
        made = caller.must("POST", f"{place}/docs", item_of(1024 * kilobytes), {**A, **UPSERT})
        charges.append((made.charge, read(caller, place).charge))
        caller.must("DELETE", f"{place}/docs/1", headers=A)
    writes, reads = zip(*charges, strict=True)
    assert list(writes) == sorted(set(writes))
    assert list(reads) == sorted(set(reads))
    assert writes[-1] == pytest.approx(50, rel=0.02)
    assert reads[-1] == pytest.approx(10, rel=0.02)


def test_a_replacement_costs_more_than_a_creation(caller: Caller, name: str) -> None:
    place = make_box(caller, name)
    made = caller.must("POST", f"{place}/docs", item_of(1024), A).charge
    put = caller.must("PUT", f"{place}/docs/1", item_of(1024), A).charge
    gone = caller.must("DELETE", f"{place}/docs/1", headers=A).charge
    assert 1.3 * made <= put <= 2 * made
    assert gone == made


def test_what_is_refused_is_charged(caller: Caller, name: str) -> None:
    place = make_box(caller, name)
    etag = caller.must("POST", f"{place}/docs", item_of(1024), A).etag
    item = f"{place}/docs/1"
    not_modified = caller.ask("GET", item, headers={**A, "if-none-match": etag})
    missing = caller.ask("GET", f"{place}/docs/2", headers=A)
    taken = caller.ask("POST", f"{place}/docs", item_of(1024), A)
    stale = caller.ask("PUT", item, item_of(1024), {**A, "if-match": '"x"'})
    assert (not_modified.status, not_modified.body, not_modified.charge) == (304, b"", 1.0)
    assert not_modified.etag == etag
    assert [answer.status for answer in (missing, taken, stale)] == [404, 409, 412]
    assert all(1 <= answer.charge <= 2 for answer in (missing, taken, stale))


def test_the_same_work_has_the_same_price(caller: Caller, name: str) -> None:
    place = make_box(caller, name)
    rounds = set()
    for _ in range(3):
        made = caller.must("POST", f"{place}/docs", item_of(3000), A).charge
        page = caller.must("GET", f"{place}/docs").charge
        rounds.add((made, read(caller, place).charge, page, caller.must("DELETE", f"{place}/docs/1", headers=A).charge))
    assert len(rounds) == 1


def test_strong_reads_cost_double(strong: Caller, name: str) -> None:
    place = make_box(strong, name)
    made = strong.must("POST", f"{place}/docs", item_of(1024), A)
    assert 5 <= made.charge <= 6
    assert read(strong, place).charge == 2.00
    assert read(strong, place, "Strong").charge == 2.00
    assert read(strong, place, "BoundedStaleness").charge == 2.00
    for level in ("Session", "ConsistentPrefix", "Eventual"):
        assert read(strong, place, level).charge == 1.00
    account = strong.must("GET", "/").json
    assert account["userConsistencyPolicy"] == {"defaultConsistencyLevel": "Strong"}


def test_strong_feeds_cost_double(strong: Caller, name: str) -> None:
    place = make_box(strong, name)
    for number in range(10):
        strong.must("POST", f"{place}/docs", item_of(1024, f"n{number}"), A)
    weak = strong.must("GET", f"{place}/docs", headers={"x-ms-consistency-level": "Eventual"})
    assert strong.must("GET", f"{place}/docs").charge == 2 * weak.charge > 2


def test_a_strong_read_that_finds_nothing_or_nothing_new(strong: Caller, name: str) -> None:
    place = make_box(strong, name)
    etag = strong.must("POST", f"{place}/docs", item_of(1024), A).etag
    not_modified = strong.ask("GET", f"{place}/docs/1", headers={**A, "if-none-match": etag})
    missing = strong.ask("GET", f"{place}/docs/2", headers=A)
    assert (not_modified.status, missing.status) == (304, 404)
    assert not_modified.charge == 2.00
    assert 1 <= missing.charge <= 2


def test_everything_is_charged(caller: Caller, name: str) -> None:
    """Also what is no item: databases, containers, lists, ranges, offers, the account."""
    place = make_box(caller, name)
    for path in (
        "/",
        "/dbs",
        f"/dbs/{name}",
        f"/dbs/{name}/colls",
        place,
        f"{place}/pkranges",
        f"{place}/docs",
        "/offers",
    ):
        assert caller.must("GET", path).charge >= 1, path


def test_a_folder_keeps_its_level_only_as_long_as_it_is_said(tmp_path: Path) -> None:
    for options, charge in ((("--consistency", "BoundedStaleness"), 2.0), ((), 1.0)):
        with run_live(tmp_path / "data", *options) as live, live.caller() as caller:
            if charge == 2:
                caller.must("POST", make_box(caller, "d") + "/docs", item_of(1024), A)
            assert read(caller, "/dbs/d/colls/box").charge == charge
