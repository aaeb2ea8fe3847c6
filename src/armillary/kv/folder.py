"""The data folder of an embedded engine: who may use it, what format it has, and changes to it that survive.

    lock                  held by the server family that uses the folder, with the process id of its parent
    format                the version of everything in the folder
    partitions/<id>/...   one folder for each partition, named in hexadecimal
    scratch/              what is being made or deleted; whatever a crash leaves here is removed by the next to open

Nothing appears under `partitions` before it is whole and on the disk: it is made in `scratch`, synced, renamed, and the
folder that received it is synced. It leaves the same way. The lock belongs to the open file, so forked children share
it and it lasts until the last of them is gone.
"""

import os
import shutil
import sys
import uuid
from pathlib import Path
from typing import Final

from armillary.errors import Kind, Refusal

FORMAT: Final = 1
_MAGIC: Final = "armillary"


class DataFolder:
    """An open data folder; holds its lock until `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _make(path)
        self._lock = _take_lock(path)
        try:
            _check_format(path)
            self.partitions = path / "partitions"
            self.scratch = path / "scratch"
            for folder in (self.partitions, self.scratch):
                _make(folder)
            for leftover in self.scratch.iterdir():
                shutil.rmtree(leftover)
        except BaseException:
            os.close(self._lock)
            raise

    def close(self) -> None:
        os.close(self._lock)

    def locate(self, partition: bytes) -> Path:
        return self.partitions / partition.hex()

    def list_partitions(self) -> list[bytes]:
        return sorted(bytes.fromhex(name) for name in os.listdir(self.partitions))

    def draw_scratch(self) -> Path:
        """A place to make a folder in."""
        return self.scratch / uuid.uuid4().hex

    def discard(self, path: Path) -> None:
        """Take a folder out of its place, then delete it."""
        away = self.draw_scratch()
        try:
            path.rename(away)
        except FileNotFoundError:
            return  # somebody else was faster
        sync_folder(path.parent)
        shutil.rmtree(away)


def publish(made: Path, place: Path) -> None:
    """Move a whole folder out of `scratch` to its place; `OSError` when something is there already."""
    sync_tree(made)
    made.rename(place)
    sync_folder(place.parent)


def sync_tree(folder: Path) -> None:
    """Sync the entries of a folder and of those below it; the files are synced by who wrote them."""
    for name, _, _ in os.walk(folder):
        sync_folder(Path(name))


def sync_folder(folder: Path) -> None:
    """Make the entries of a folder survive a power failure (Windows does so by itself)."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _make(folder: Path) -> None:
    """Make a folder and what is missing above it, each entry synced."""
    if folder.is_dir():
        return
    _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(folder.parent)


def _take_lock(path: Path) -> int:
    descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor)
    except OSError as error:
        holder = os.read(descriptor, 32).decode() or "unknown"
        os.close(descriptor)
        raise Refusal(Kind.FOLDER_IN_USE, folder=str(path), pid=holder) from error
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, str(os.getpid()).encode())
    return descriptor


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        # A byte far behind the process id, so that the id stays readable.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _check_format(path: Path) -> None:
    """Write the format of a new folder; refuse one that a later version made."""
    page = path / "format"
    try:
        magic, _, found = page.read_text().strip().partition(" ")
    except FileNotFoundError:
        _write_synced(page, f"{_MAGIC} {FORMAT}\n")
        return
    if magic != _MAGIC or not found.isdecimal():
        raise Refusal(Kind.STORE_BROKEN, detail=f"{page} is not the format page of a data folder")
    if int(found) > FORMAT:
        raise Refusal(Kind.FORMAT_NEWER, folder=str(path), found=found, known=FORMAT)


def _write_synced(page: Path, text: str) -> None:
    """Write a small file so that after a power failure it is whole or not there."""
    draft = page.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.replace(page)
    sync_folder(page.parent)
