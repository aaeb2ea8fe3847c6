"""What a folder may look like after the power failed: images built from a recording.

At a moment of the recording, a file holds what was synced, and any choice of the 512-byte pieces written since; a
folder holds the entries that were synced, and any choice of the changes made since. A rename is one change of both
folders, as every journal makes it: the sync of either keeps it. A write to a descriptor opened O_DSYNC keeps itself.

    recording ...write...write...SYNC...write...WRITE(DSYNC)...acknowledge
                               ^ ^                ^        ^          ^     images: just before and just after

`replay` builds them one after another and asks `check` about each, in a process of its own: an image of a store that
lacks a sync may be one that no reader survives.
"""

import faulthandler
import os
import random
import shutil
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from tests.power.recording import Event, Kind, Recording

SECTOR: Final = 512
Check = Callable[[Path, Sequence[bytes]], list[str]]
Choose = Callable[[], bool]
Ignored = Callable[[Event], bool]


def no_sync(_event: Event) -> bool:
    """Every sync counts."""
    return False


class Part(NamedTuple):
    """One change of a file: a write, or a new size (`data` is None); a `sure` one was synced by itself."""

    offset: int
    data: bytes | None
    sure: bool = False


@dataclass(eq=False)
class File:
    """A file: what is on the disk, and what was done since."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Part] = field(default_factory=list)

    def compose(self, choose: Choose) -> bytearray:
        content = bytearray(self.durable)
        for offset, data, sure in self.pending:
            if data is None:
                if choose():
                    content[offset:] = bytes(max(0, offset - len(content)))
                continue
            for start, piece in _cut(offset, data):
                if sure or choose():
                    _place(content, start, piece)
        return content

    def keep_all(self) -> None:
        self.durable = self.compose(lambda: True)
        self.pending.clear()


@dataclass(eq=False)
class Folder:
    """A folder: the entries that are on the disk, and those that programs see."""

    durable: "dict[str, Node]" = field(default_factory=dict)
    live: "dict[str, Node]" = field(default_factory=dict)


Node = File | Folder


class Change(NamedTuple):
    """Entries that change together; None removes one."""

    entries: "tuple[tuple[Folder, str, Node | None], ...]"


class Disk:
    """The state of everything below the root at one moment of the recording."""

    def __init__(self, root_node: int) -> None:
        self.root = Folder()
        self._nodes: dict[int, Node] = {root_node: self.root}
        self._changes: list[Change] = []

    def apply(self, event: Event, *, synced: bool) -> None:
        """Take in one event; `synced` tells whether its sync, if it is one, counts."""
        match event.kind:
            case Kind.MAKE_FILE | Kind.MAKE_FOLDER:
                node: Node = File() if event.kind is Kind.MAKE_FILE else Folder()
                self._nodes[event.node] = node
                self._change((self._folder(event.folder), event.name, node))
            case Kind.REMOVE:
                self._change((self._folder(event.folder), event.name, None))
            case Kind.RENAME:
                before, after = event.name.split("/")
                moved = self._nodes[event.node]
                self._change((self._folder(event.folder), before, None), (self._folder(event.target), after, moved))
            case Kind.TRUNCATE:
                self._file(event.node).pending.append(Part(event.offset, None))
            case Kind.WRITE:
                self._file(event.node).pending.append(Part(event.offset, event.data, synced))
            case Kind.SYNC if synced:
                self._sync(self._nodes[event.node])
            case _:
                pass

    def _folder(self, number: int) -> Folder:
        node = self._nodes[number]
        assert isinstance(node, Folder)
        return node

    def _file(self, number: int) -> File:
        node = self._nodes[number]
        assert isinstance(node, File)
        return node

    def _change(self, *entries: "tuple[Folder, str, Node | None]") -> None:
        for folder, name, node in entries:
            _set(folder.live, name, node)
        self._changes.append(Change(entries))

    def _sync(self, node: Node) -> None:
        if isinstance(node, File):
            node.keep_all()
            return
        left = []
        for change in self._changes:
            if any(folder is node for folder, _, _ in change.entries):
                for folder, name, target in change.entries:
                    _set(folder.durable, name, target)
            else:
                left.append(change)
        self._changes = left

    def build(self, place: Path, choose: Choose) -> None:
        """Make the folder as it may be found after a power failure now."""
        entries: dict[Folder, dict[str, Node]] = {}
        for change in self._changes:
            if choose():
                for folder, name, node in change.entries:
                    _set(entries.setdefault(folder, dict(folder.durable)), name, node)
        self._write_folder(self.root, place, entries, choose)

    def _write_folder(
        self, folder: Folder, place: Path, entries: dict[Folder, dict[str, Node]], choose: Choose
    ) -> None:
        place.mkdir()
        for name, node in entries.get(folder, folder.durable).items():
            if isinstance(node, File):
                (place / name).write_bytes(node.compose(choose))
            else:
                self._write_folder(node, place / name, entries, choose)


def _set(entries: dict[str, Node], name: str, node: Node | None) -> None:
    if node is None:
        entries.pop(name, None)
    else:
        entries[name] = node


def _cut(offset: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """The pieces of a write that a disk writes whole."""
    at = 0
    while at < len(data):
        size = SECTOR - (offset + at) % SECTOR
        yield offset + at, data[at : at + size]
        at += size


def _place(content: bytearray, offset: int, piece: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(piece)] = piece


class Plan(NamedTuple):
    """How many images to build at each sync and at each acknowledgement, besides the one without anything pending."""

    at_sync: int
    at_acknowledgement: int
    seed: int


class Report(NamedTuple):
    """How many images were asked about, and what was wrong with the first that were not right."""

    images: int
    complaints: list[str]


def replay(
    recording: Recording,
    check: Check,
    plan: Plan,
    folder: Path,
    ignored: Ignored = no_sync,
) -> Report:
    """Build the images in `folder` and check each; syncs that `ignored` names count for nothing. Stops when wrong."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of the runner: the child uses none of them
        child = os.fork()
    if not child:
        os.close(reading)
        _judge(recording, check, plan, folder, ignored, writing)
    os.close(writing)
    with open(reading, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    images = [line for line in lines if line.startswith("image ")]
    complaints = [line for line in lines if not line.startswith("image ")]
    if status:
        ending = signal.Signals(-status).name if status < 0 else f"exit code {status}"
        complaints.append(f"{images[-1] if images else 'start'}: the reader ended with {ending}")
    return Report(len(images), complaints)


def _judge(
    recording: Recording,
    check: Check,
    plan: Plan,
    folder: Path,
    ignored: Ignored,
    pipe: int,
) -> None:
    """In the child: one line for each image before it is opened, then those of its complaints."""
    faulthandler.disable()  # how it dies is told by the parent
    try:
        for number, (what, image, acknowledged) in enumerate(_list_images(recording, plan, folder, ignored)):
            os.write(pipe, f"image {number} {what}\n".encode())
            complaints = check(image, acknowledged)
            shutil.rmtree(image)
            if complaints:
                lines = [f"image {number} ({what}): {complaint}" for complaint in complaints]
                os.write(pipe, "".join(f"wrong: {line}\n" for line in lines).encode())
                break
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the child of a fork must not return into the tests
        os.write(pipe, "".join(f"failed: {line}\n" for line in traceback.format_exc().splitlines()).encode())
        os._exit(0)


def _list_images(
    recording: Recording, plan: Plan, folder: Path, ignored: Ignored
) -> Iterator[tuple[str, Path, Sequence[bytes]]]:
    chance = random.Random(plan.seed)
    disk = Disk(recording.root_node)
    acknowledged: list[bytes] = []
    place = folder / "image"
    for at, event in enumerate(recording.events):
        is_sync = event.kind is Kind.SYNC or (event.kind is Kind.WRITE and event.synced)
        if is_sync:
            for choice in _list_choices(chance, plan.at_sync):
                if event.kind is Kind.WRITE:
                    _build_torn(disk, event, place, choice.choose)
                else:
                    disk.build(place, choice.choose)
                yield f"before event {at} {event.name}, {choice.name}", place, acknowledged
        if event.kind is Kind.ACKNOWLEDGE:
            acknowledged.extend(event.data.splitlines())
            for choice in _list_choices(chance, plan.at_acknowledgement):
                disk.build(place, choice.choose)
                yield f"after {event.data!r}, {choice.name}", place, acknowledged
        disk.apply(event, synced=is_sync and not ignored(event))


def _build_torn(disk: Disk, event: Event, place: Path, choose: Choose) -> None:
    """A power failure in the middle of a write that syncs itself: it is pending for this image only."""
    file = disk._file(event.node)
    file.pending.append(Part(event.offset, event.data))
    disk.build(place, choose)
    file.pending.pop()


class Choice(NamedTuple):
    """Which of what is pending got to the disk."""

    name: str
    choose: Choose


def _list_choices(chance: random.Random, count: int) -> Iterator[Choice]:
    """Nothing; then everything; then random choices, sparse and dense."""
    yield Choice("nothing pending", lambda: False)
    if count:
        yield Choice("all pending", lambda: True)
    for at in range(count - 1):
        share = (0.5, 0.1, 0.9)[at % 3]
        yield Choice(f"{share:.0%} of the pending", partial(_toss, chance, share))


def _toss(chance: random.Random, share: float) -> bool:
    return chance.random() < share
