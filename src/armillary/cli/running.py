"""The file a server leaves in its data folder for as long as it runs: where it listens, and the key that lets in.

Only its owner may read it. A server that was killed leaves it behind; that it is stale shows when nobody answers.
"""

import json
import os
from pathlib import Path
from typing import Final, NamedTuple

from armillary.cli.exits import CommandError, Exit
from armillary.server.keys import write_private

__all__ = ["CHECK_PAGE", "Running", "find_running", "forget_running", "note_running"]

CHECK_PAGE: Final = "/_armillary/check"
_FILE: Final = "server.json"


class Running(NamedTuple):
    """A server that is ready."""

    endpoint: str
    http: str
    key: str
    pid: int


def note_running(folder: Path, running: Running) -> None:
    """Say in the folder that this server runs on it."""
    write_private(folder / _FILE, json.dumps(running._asdict()).encode())


def forget_running(folder: Path) -> None:
    """Take the note away, if it is this process's own."""
    running = _read(folder)
    if running is not None and running.pid == os.getpid():
        (folder / _FILE).unlink()


def find_running(folder: Path) -> Running:
    """The server that runs on a folder."""
    running = _read(folder)
    if running is None:
        raise CommandError(f"the server that uses {folder} has left no usable {_FILE} there", Exit.DATA)
    return running


def _read(folder: Path) -> Running | None:
    try:
        return Running(**json.loads((folder / _FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
