"""The note a server leaves in its folder."""

import os
import stat
from pathlib import Path

import pytest

from armillary.cli.exits import CommandError
from armillary.cli.running import Running, find_running, forget_running, note_running


def note(pid: int) -> Running:
    return Running("https://127.0.0.1:1/", "http://127.0.0.1:1/", "a2V5", pid)


def test_a_note_is_found_by_its_owner_alone(tmp_path: Path) -> None:
    note_running(tmp_path, note(os.getpid()))
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert find_running(tmp_path) == note(os.getpid())
    forget_running(tmp_path)
    assert not list(tmp_path.iterdir())
    forget_running(tmp_path)


def test_the_note_of_another_process_is_left(tmp_path: Path) -> None:
    note_running(tmp_path, note(1))
    forget_running(tmp_path)
    assert find_running(tmp_path).pid == 1


def test_a_missing_or_broken_note_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="has left no usable server"):
        find_running(tmp_path)
    (tmp_path / "server.json").write_text("{}")
    with pytest.raises(CommandError, match="has left no usable server"):
        find_running(tmp_path)
