"""The embedded engine: files, limits of the machine, and several processes on one folder."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from armillary.clock import Clock
from armillary.errors import Kind, Refusal
from armillary.kv import lmdb as module
from armillary.kv.engine import Applied, Changes, Rejected, TermChanges, Unknown, View, Work
from armillary.kv.lmdb import LmdbEngine
from armillary.kv.snapshots import read_head

PARTITION = b"partition of 16b"
FAMILY = Path(__file__).with_name("family.py")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[LmdbEngine]:
    made = LmdbEngine(tmp_path / "data")
    made.create(PARTITION, b"born")
    yield made
    made.close()


def put(effects: dict[bytes, bytes | None]) -> Work:
    return lambda _view: Changes(effects)


def add_term(engine: LmdbEngine, number: int, watermark: int) -> None:
    engine.terms(PARTITION).apply(lambda _: TermChanges([], [(b"t", number)], watermark))


def run_family(folder: Path, verb: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, FAMILY, verb, folder, *arguments], capture_output=True, text=True, timeout=90
    )
    assert done.returncode == 0, done.stderr


def refused(outcome: object) -> Refusal:
    assert isinstance(outcome, Rejected)
    assert isinstance(outcome.error, Refusal), outcome
    return outcome.error


def test_files_of_a_partition(engine: LmdbEngine, tmp_path: Path) -> None:
    place = tmp_path / "data" / "partitions" / PARTITION.hex()
    assert [path.name for path in place.iterdir()] == ["items"]
    with engine.terms(PARTITION).read() as reader:
        assert reader.watermark == 0
    assert [path.name for path in place.iterdir()] == ["items"]
    add_term(engine, 1, 1)
    assert sorted(path.name for path in place.iterdir()) == ["index", "items"]
    assert (place / "items" / "data.mdb").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert engine.measure(PARTITION).items > 0
    assert list((tmp_path / "data" / "scratch").iterdir()) == []


def test_file_format_is_that_of_lmdb_09(engine: LmdbEngine, tmp_path: Path) -> None:
    """Version 1 of the data format, behind the magic number, in both meta pages: what every LMDB 0.9 tool reads."""
    data = (tmp_path / "data" / "partitions" / PARTITION.hex() / "items" / "data.mdb").read_bytes()
    for page in (0, 4096):
        assert data[page + 16 : page + 24] == b"\xde\xc0\xef\xbe\x01\x00\x00\x00"


def test_dropped_folder_is_gone(engine: LmdbEngine, tmp_path: Path) -> None:
    add_term(engine, 1, 1)
    engine.drop(PARTITION)
    assert list((tmp_path / "data" / "partitions").iterdir()) == []
    assert list((tmp_path / "data" / "scratch").iterdir()) == []
    engine.drop(PARTITION)


def test_drop_while_it_is_read(engine: LmdbEngine) -> None:
    engine.write(PARTITION, [put({b"k": b"v"})])
    with engine.read(PARTITION) as reader:
        engine.drop(PARTITION)
        assert reader.get(b"k") == b"v"
        assert refused(engine.write(PARTITION, [put({})])[0]).kind is Kind.PARTITION_MISSING
    with pytest.raises(Refusal) as found:
        engine.read(PARTITION)
    assert found.value.kind is Kind.PARTITION_MISSING


@pytest.mark.parametrize("part", ["items", "index"])
def test_dropped_by_another_process_while_it_is_opened(
    engine: LmdbEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    place = tmp_path / "data" / "partitions" / PARTITION.hex()
    allocate_lock = module._allocate_lock

    def drop_and_allocate(file: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        allocate_lock(file)

    monkeypatch.setattr(module, "_allocate_lock", drop_and_allocate)
    with pytest.raises(Refusal) as found:
        engine.read(PARTITION) if part == "items" else engine.pin_index(PARTITION)
    assert found.value.kind is Kind.PARTITION_MISSING
    assert refused(engine.write(PARTITION, [put({})])[0]).kind is Kind.PARTITION_MISSING
    assert engine.measure(PARTITION) == (0, 0)
    assert list((tmp_path / "data" / "scratch").iterdir()) == []


def test_refusals_that_are_kept_keep_no_readers(engine: LmdbEngine) -> None:
    """A table of readers has a bounded number of slots, and a refusal keeps the frames it came through."""
    add_term(engine, 1, 1)

    def refuse(read: Callable[[], AbstractContextManager[object]]) -> None:
        with read() as reader:
            raise Refusal(Kind.BAD_REQUEST, reason=str(reader))

    kept = []
    for _ in range(module.LOCK_BYTES // 64):
        for read in (partial(engine.read, PARTITION), engine.terms(PARTITION).read):
            with pytest.raises(Refusal, match="Reader") as caught:
                refuse(read)
            kept.append(caught.value)


def test_drop_that_was_cut_short_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = LmdbEngine(tmp_path)
    engine.create(PARTITION, b"")

    class CutError(Exception):
        pass

    def cut(name: str) -> None:
        if name == "before-drop":
            raise CutError

    monkeypatch.setattr(module, "reach", cut)
    with pytest.raises(CutError):
        engine.drop(PARTITION)
    assert refused(engine.write(PARTITION, [put({})])[0]).kind is Kind.PARTITION_MISSING
    monkeypatch.undo()
    engine.drop(PARTITION)
    assert engine.partitions() == []
    engine.close()


def test_a_long_commit_is_cut_by_time(tmp_path: Path) -> None:
    """The lock is given back after 10 ms; the members go on in the next commit, in order."""
    ticks = iter(range(10_000))
    engine = LmdbEngine(tmp_path, clock=Clock(monotonic=lambda: next(ticks) * 0.003))
    engine.create(PARTITION, b"")
    commits: list[bytes] = []

    def look(view: View) -> Changes:
        commits.append(view.header)
        return Changes({}, b"%d" % view.lsn)

    outcomes = engine.write(PARTITION, [look] * 20)
    assert outcomes == [Applied(at, None) for at in range(1, 21)]
    assert commits == [b"", *[b"%d" % at for at in range(1, 20)]]
    engine.close()


def test_a_partition_that_fills_its_map_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GIB", 1 << 20)
    engine = LmdbEngine(tmp_path, storage_limit=0)
    engine.create(PARTITION, b"")
    kept = 0
    for at in range(2000):
        outcomes = engine.write(PARTITION, [put({b"k%d" % at: bytes(5000)}), put({b"j%d" % at: b""})])
        if isinstance(outcomes[0], Rejected):
            assert [refused(outcome).kind for outcome in outcomes] == [Kind.DISK_FULL] * 2
            break
        kept += 2
    assert 50 < kept < 2000
    with engine.read(PARTITION) as reader:
        assert sum(len(page.rows) for page in reader.scan(b"\x01", b"\xff")) == kept == reader.lsn
    assert engine.write(PARTITION, [put({b"k0": None})]) == [Applied(kept + 1, None)]
    engine.close()


def test_settle_decides_what_can_be_decided(engine: LmdbEngine) -> None:
    engine.write(PARTITION, [put({b"k": b"1"})])
    with engine.read(PARTITION) as reader:
        found = read_head(reader._transaction)
    assert found is not None
    commit = found.commit.to_bytes(8)
    assert engine.settle(PARTITION, Unknown(commit, 1, "mine")) == Applied(1, "mine")
    foreign = Unknown(b"12345678", 1, "x")
    assert engine.settle(PARTITION, foreign) == foreign
    assert isinstance(engine.settle(PARTITION, Unknown(b"12345678", 2, "x")), Rejected)
    with engine.read(PARTITION) as reader:
        assert (reader.lsn, reader.header) == (1, b"born")
    assert engine.write(PARTITION, [put({})]) == [Applied(2, None)]


def mount_small_disk(folder: Path) -> None:
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a full disk needs a small file system, and this user cannot mount one: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if shutil.which("mount") is None:
        pytest.skip("a full disk needs a small file system, and there is no `mount` here")
    folder = tmp_path / "disk"
    mount_small_disk(folder)
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_full_disk_loses_nothing(small_disk: Path) -> None:
    """Every member of the commit that found the disk full is told so; nothing acknowledged is lost; room helps."""
    engine = LmdbEngine(small_disk / "data")
    engine.create(PARTITION, b"")
    filler = small_disk / "filler"
    filler.write_bytes(bytes(2 << 20))
    kept = 0
    for at in range(1000):
        outcomes = engine.write(PARTITION, [put({b"%d" % (2 * at): bytes(3000)}), put({b"%d" % (2 * at + 1): b"x"})])
        if isinstance(outcomes[0], Rejected):
            assert [refused(outcome).kind for outcome in outcomes] == [Kind.DISK_FULL] * 2
            break
        kept += 2
    assert 20 < kept < 2000
    with pytest.raises(Refusal) as found:
        add_term(engine, 1, 1)
    assert found.value.kind is Kind.DISK_FULL
    with pytest.raises(Refusal) as found:
        engine.create(b"other", b"")
    assert found.value.kind is Kind.DISK_FULL
    assert engine.partitions() == [PARTITION]
    filler.unlink()
    assert engine.write(PARTITION, [put({b"later": bytes(3000)})]) == [Applied(kept + 1, None)]
    add_term(engine, 1, 1)
    engine.close()
    again = LmdbEngine(small_disk / "data")
    with again.read(PARTITION) as reader:
        assert sum(len(page.rows) for page in reader.scan(b"\x01", b"\xff")) == kept + 1
    again.close()


def test_drop_on_a_full_disk_makes_room(small_disk: Path) -> None:
    engine = LmdbEngine(small_disk / "data")
    engine.create(PARTITION, b"")
    at = 0
    while isinstance(engine.write(PARTITION, [put({b"%d" % at: bytes(3000)})])[0], Applied):
        at += 1
    engine.drop(PARTITION)
    assert engine.partitions() == []
    engine.create(PARTITION, b"")
    assert engine.write(PARTITION, [put({b"k": bytes(3000)})]) == [Applied(1, None)]
    engine.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a server family forks")
@pytest.mark.parametrize(
    "words", ["write_together", "drop_elsewhere", "use_after_fork", "kill_reader check", "kill_reader clear"]
)
def test_family(tmp_path: Path, words: str) -> None:
    verb, *more = words.split()
    run_family(tmp_path / "data", verb, *more)


def test_a_few_partitions_more_than_descriptors(tmp_path: Path) -> None:
    run_family(tmp_path / "data", "open_many", "60", "260")


@pytest.mark.slow
def test_500_partitions_under_1024_descriptors(tmp_path: Path) -> None:
    run_family(tmp_path / "data", "open_many", "500", "1024")
