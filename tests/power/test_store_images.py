"""The whole store after a power failure: databases, containers, items, unique keys, expiry, the catalog, recovery."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.power.images import Plan, replay
from tests.power.recording import Event, Kind, Recording, record
from tests.power.store_check import check

LOAD = Path(__file__).with_name("store_load.py")
LONG = bool(os.environ.get("ARMILLARY_LONG"))
CATALOG = "/partitions/" + "0" * 32 + "/items/data.mdb"

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(sys.platform != "linux", reason="the recorder is a Linux preload library"),
]


@pytest.fixture(scope="module")
def store(shim: Path, tmp_path_factory: pytest.TempPathFactory, seed: int) -> Recording:
    rounds = "96" if LONG else "26"
    return record(shim, tmp_path_factory.mktemp("store"), [sys.executable, LOAD, rounds, str(seed)])


def is_file_sync(event: Event) -> bool:
    return event.kind is Kind.SYNC and event.name.endswith("/data.mdb")


def is_page_sync(event: Event) -> bool:
    return event.kind is Kind.WRITE and event.synced


def is_item_file(event: Event) -> bool:
    return "/partitions/" in event.name and event.name.endswith("/items/data.mdb") and not event.name.endswith(CATALOG)


SYNCS: dict[str, Callable[[Event], bool]] = {
    "items data": lambda event: is_file_sync(event) and is_item_file(event),
    "items meta": lambda event: is_page_sync(event) and is_item_file(event),
    "catalog data": lambda event: is_file_sync(event) and event.name.endswith(CATALOG),
    "catalog meta": lambda event: is_page_sync(event) and event.name.endswith(CATALOG),
    "folder entries of partitions": lambda event: event.kind is Kind.SYNC and event.name.endswith("/partitions"),
    "folder entries of what is made": lambda event: (
        event.kind is Kind.SYNC and "/scratch/" in event.name and not event.name.endswith("/data.mdb")
    ),
}


def test_every_image_of_the_store_keeps_what_was_acknowledged(store: Recording, scratch: Path, seed: int) -> None:
    plan = (
        Plan(at_sync=6, at_acknowledgement=2, seed=seed) if LONG else Plan(at_sync=1, at_acknowledgement=0, seed=seed)
    )
    report = replay(store, check, plan, scratch)
    print(f"{report.images} images")
    assert report.complaints == []
    assert report.images >= (2000 if LONG else 250)


@pytest.mark.parametrize("kind", SYNCS)
def test_a_sync_that_is_missing_in_the_store_is_found(store: Recording, scratch: Path, seed: int, kind: str) -> None:
    removed = [event for event in store.events if SYNCS[kind](event)]
    assert removed, "the recording has no such sync"
    report = replay(store, check, Plan(at_sync=1, at_acknowledgement=1, seed=seed), scratch, SYNCS[kind])
    assert report.complaints, f"nothing is lost without the sync of {kind}"
    print(report.complaints[0])
