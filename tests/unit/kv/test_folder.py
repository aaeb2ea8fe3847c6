"""The data folder: who may use it, and what a crash leaves behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from armillary.errors import Kind, Refusal
from armillary.kv.folder import DataFolder, publish

FAMILY = Path(__file__).with_name("family.py")


def test_made_whole_and_opened_again(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "a" / "b")
    assert folder.list_partitions() == []
    made = folder.draw_scratch()
    made.mkdir()
    (made / "file").write_bytes(b"x")
    publish(made, folder.locate(b"\x01\xff"))
    folder.close()
    again = DataFolder(tmp_path / "a" / "b")
    assert again.list_partitions() == [b"\x01\xff"]
    again.discard(again.locate(b"\x01\xff"))
    assert again.list_partitions() == []
    again.close()


def test_publish_never_replaces(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    for content in (b"first", b"second"):
        made = folder.draw_scratch()
        made.mkdir()
        (made / "file").write_bytes(content)
        if content == b"first":
            publish(made, folder.locate(b"x"))
        else:
            with pytest.raises(OSError, match="not empty"):
                publish(made, folder.locate(b"x"))
    assert (folder.locate(b"x") / "file").read_bytes() == b"first"
    folder.close()


def test_second_user_is_refused_by_name(tmp_path: Path) -> None:
    first = DataFolder(tmp_path)
    with pytest.raises(Refusal) as found:
        DataFolder(tmp_path)
    assert found.value.kind is Kind.FOLDER_IN_USE
    assert str(os.getpid()) in str(found.value)
    assert str(tmp_path) in str(found.value)
    first.close()
    DataFolder(tmp_path).close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a server family forks")
def test_children_hold_the_lock_of_their_parent(tmp_path: Path) -> None:
    command: list[str | Path] = [sys.executable, FAMILY, "hold", tmp_path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert parent.wait(30) == 0
        with pytest.raises(Refusal) as found:
            DataFolder(tmp_path)
        assert found.value.context["pid"] == str(parent.pid) != str(child)
        parent.stdin.close()
        assert parent.stdout.read() == ""
    DataFolder(tmp_path).close()


def test_newer_format_is_refused(tmp_path: Path) -> None:
    DataFolder(tmp_path).close()
    assert (tmp_path / "format").read_text() == "armillary 1\n"
    (tmp_path / "format").write_text("armillary 2\n")
    with pytest.raises(Refusal) as found:
        DataFolder(tmp_path)
    assert found.value.kind is Kind.FORMAT_NEWER
    assert found.value.context["found"] == "2"
    (tmp_path / "format").write_text("armillary 1\n")
    DataFolder(tmp_path).close()


def test_foreign_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "format").write_text("something else\n")
    with pytest.raises(Refusal) as found:
        DataFolder(tmp_path)
    assert found.value.kind is Kind.STORE_BROKEN


def test_leftovers_of_a_crash_are_removed(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    made = folder.draw_scratch()
    made.mkdir()
    (made / "items").mkdir()
    (made / "items" / "data.mdb").write_bytes(b"half")
    folder.close()
    DataFolder(tmp_path).close()
    assert list((tmp_path / "scratch").iterdir()) == []
