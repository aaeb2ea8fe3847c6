"""Checkpoints: kept whole, owned by one task, gone when all is done."""

from pathlib import Path

import pytest

from armillary.cli.checkpoint import Checkpoint
from armillary.cli.exits import CommandError

TASK = {"load": "a.jsonl", "into": "http://x/dbs/d/colls/c"}


def test_what_was_written_is_read_by_the_same_task(tmp_path: Path) -> None:
    file = tmp_path / "done"
    assert Checkpoint(file, TASK).read() == {}
    Checkpoint(file, TASK).write({"number": 7})
    Checkpoint(file, TASK).write({"number": 8})
    assert Checkpoint(file, TASK).read() == {"number": 8}
    assert [path.name for path in tmp_path.iterdir()] == ["done"]
    Checkpoint(file, TASK).remove()
    assert not file.exists()


def test_another_task_is_refused(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "done", TASK).write({"number": 7})
    with pytest.raises(CommandError, match="belongs to another task"):
        Checkpoint(tmp_path / "done", TASK | {"load": "b.jsonl"}).read()


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "done").write_text('{"other": 1}')
    with pytest.raises(CommandError, match="cannot be read"):
        Checkpoint(tmp_path / "done", TASK).read()


def test_without_a_file_nothing_is_kept() -> None:
    keep = Checkpoint(None, TASK)
    keep.write({"number": 7})
    keep.remove()
    assert keep.read() == {}
