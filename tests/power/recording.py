"""Runs a program under `record.c` and reads what it did to the files below a folder."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from struct import Struct
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).with_name("record.c")
_HEAD = Struct("<IIIIQQQQ")


class Kind(IntEnum):
    """What happened; the order is that of `record.c`."""

    MAKE_FILE = 1
    MAKE_FOLDER = 2
    WRITE = 3
    TRUNCATE = 4
    SYNC = 5
    REMOVE = 6
    RENAME = 7
    ACKNOWLEDGE = 8
    MAP = 9


class Event(NamedTuple):
    """One operation. `node`, `folder`, `target` are inode numbers; `name` is an entry's, or the path of a file."""

    kind: Kind
    synced: bool
    node: int
    folder: int
    target: int
    offset: int
    name: str
    data: bytes


class Recording(NamedTuple):
    """What a program did below `root`, whose inode number is `root_node`."""

    root: Path
    root_node: int
    events: list[Event]

    def list_mapped(self) -> set[str]:
        """Names of files that were changed through memory, which is not in the recording."""
        return {Path(event.name).name for event in self.events if event.kind is Kind.MAP}


def compile_shim(folder: Path) -> Path:
    """The preload library; skips the test in words where there is no compiler."""
    if shutil.which("gcc") is None:
        pytest.skip("recorded power failures need gcc, and there is none here")
    library = folder / "record.so"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", library, SOURCE, "-ldl", "-lpthread"], check=True)
    return library


def record(
    shim: Path, folder: Path, command: Sequence[str | Path], environment: Mapping[str, str] | None = None
) -> Recording:
    """Run a program to its end; its folder is in RECORD_ROOT, its acknowledgements go to the file RECORD_ACKS."""
    root = (folder / "root").resolve()
    root.mkdir()
    log = folder / "log"
    paths = {"RECORD_ROOT": str(root), "RECORD_LOG": str(log), "RECORD_ACKS": str(root.with_name("acks"))}
    setting = {**os.environ, **(environment or {}), **paths, "LD_PRELOAD": str(shim)}
    done = subprocess.run(command, env=setting, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return Recording(root, root.stat().st_ino, list(_read(log.read_bytes())))


def _read(log: bytes) -> Iterator[Event]:
    at = 0
    while at < len(log):
        kind, synced, names, size, node, folder, target, offset = _HEAD.unpack_from(log, at)
        at += _HEAD.size
        name = log[at : at + names].decode()
        at += names
        yield Event(Kind(kind), bool(synced), node, folder, target, offset, name, log[at : at + size])
        at += size
