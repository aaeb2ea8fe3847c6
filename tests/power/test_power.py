"""The embedded engine after a power failure, at every sync, with any choice of what was not synced yet."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.power.images import Plan, Report, replay
from tests.power.load import check
from tests.power.recording import Event, Kind, Recording, record

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(sys.platform != "linux", reason="the recorder is a Linux preload library"),
]
LOAD = Path(__file__).with_name("load.py")


@pytest.fixture(scope="module")
def recording(shim: Path, tmp_path_factory: pytest.TempPathFactory, seed: int) -> Recording:
    return record(shim, tmp_path_factory.mktemp("short"), [sys.executable, LOAD, "24", str(seed)])


def is_synced_write(event: Event) -> bool:
    return event.kind is Kind.WRITE and event.synced


def is_committed(event: Event, part: str) -> bool:
    return "/partitions/" in event.name and event.name.endswith(f"{part}/data.mdb")


# Each kind of sync, to be taken away: what is durable must not be so by luck.
SYNCS: dict[str, Callable[[Event], bool]] = {
    "items data": lambda event: event.kind is Kind.SYNC and is_committed(event, "items"),
    "items meta": lambda event: is_synced_write(event) and is_committed(event, "items"),
    "items data of a new partition": lambda event: event.kind is Kind.SYNC and event.name.endswith("items/data.mdb"),
    "items meta of a new partition": lambda event: is_synced_write(event) and "/scratch/" in event.name,
    "index data": lambda event: event.kind is Kind.SYNC and is_committed(event, "index"),
    "entries of partitions": lambda event: event.kind is Kind.SYNC and event.name.endswith("/partitions"),
    "entries of scratch": lambda event: (
        event.kind is Kind.SYNC and "/scratch/" in event.name and "mdb" not in event.name
    ),
    "entries of the data folder": lambda event: event.kind is Kind.SYNC and event.name.endswith("/data"),
    "entry of the data folder itself": lambda event: event.kind is Kind.SYNC and event.name.endswith("/root"),
    "format page": lambda event: event.kind is Kind.SYNC and event.name.endswith("/format.new"),
    "entry of the index": lambda event: event.kind is Kind.SYNC and Path(event.name).parent.name == "partitions",
}


def test_only_lock_files_are_changed_through_memory(recording: Recording) -> None:
    assert recording.list_mapped() == {"lock.mdb"}


def test_every_image_keeps_what_was_acknowledged(recording: Recording, scratch: Path, seed: int) -> None:
    report = replay(recording, check, Plan(at_sync=2, at_acknowledgement=0, seed=seed), scratch)
    print(f"{report.images} images")
    assert report.complaints == []
    assert report.images >= 300


@pytest.mark.parametrize("kind", SYNCS)
def test_a_missing_sync_is_found(recording: Recording, scratch: Path, seed: int, kind: str) -> None:
    removed = [event for event in recording.events if SYNCS[kind](event)]
    assert removed, "the recording has no such sync"
    report = replay(recording, check, Plan(at_sync=1, at_acknowledgement=1, seed=seed), scratch, SYNCS[kind])
    assert report.complaints, f"nothing is lost without the sync of {kind}"
    print(report.complaints[0])


def test_the_newest_watermark_may_be_taken_back(shim: Path, tmp_path: Path, scratch: Path, seed: int) -> None:
    """Why writers trim their log by `synced`: whoever trusts the watermark itself loses terms."""
    boasting = record(shim, tmp_path, [sys.executable, LOAD, "12", str(seed), "boast"])
    report = replay(boasting, check, Plan(at_sync=0, at_acknowledgement=1, seed=seed), scratch)
    assert any("terms up to" in complaint for complaint in report.complaints), report


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_thousands_of_images(shim: Path, tmp_path: Path, scratch: Path, seed: int) -> None:
    long = record(shim, tmp_path, [sys.executable, LOAD, "120", str(seed)])
    report: Report = replay(long, check, Plan(at_sync=8, at_acknowledgement=3, seed=seed), scratch)
    print(f"{report.images} images")
    assert report.complaints == []
    assert report.images >= 2000


def test_a_failing_disk_leaves_the_outcome_unknown(shim: Path, tmp_path: Path) -> None:
    """The meta page of a commit cannot be written: its members are unknown, settled, and the partition goes on."""
    program = LOAD.with_name("broken.py")
    # The creation syncs one meta page, each commit one more.
    record(shim, tmp_path, [sys.executable, program, "5"], {"RECORD_FAIL": "7"})


def test_a_commit_on_the_disk_is_seen_though_its_writer_was_killed(shim: Path, tmp_path: Path) -> None:
    """Killed before it told others: who opens the partition after that must not find the commit only later."""
    record(shim, tmp_path, [sys.executable, LOAD.with_name("cut.py")], {"RECORD_KILL": "2"})
