"""`armillary dump`: the items of a container into a file or a pipe, page by page, range by range.

The checkpoint says, for the moment it was written, how long the output was and where each range goes on; going on cuts
the output to that length first. Items are written as they are, without the properties the server would set anew.
"""

import os
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import BinaryIO, Final

import click

from armillary.cli.account import Container, add_container
from armillary.cli.checkpoint import Checkpoint
from armillary.cli.client import Answer, Client
from armillary.cli.meter import Meter, open_meter
from armillary.json import dump, load

__all__ = ["command"]

_SYSTEM: Final = ("_rid", "_self", "_etag", "_attachments", "_ts", "_lsn")
_PAGE: Final = "1000"
_CHECKPOINT_EVERY: Final = 1.0
_DONE: Final = "done"


@click.command(name="dump")
@add_container
@click.option("-o", "--output", metavar="FILE", default="-", help="Where to.  [standard output]")
@click.option("--array", is_flag=True, help="Write one JSON array instead of JSON lines.")
@click.option("--system", is_flag=True, help="Keep the properties the server sets: _rid, _etag, _ts and so on.")
@click.option("--connections", type=click.IntRange(1, 256), default=4, help="Ranges read at once.  [4]")
@click.option("--checkpoint", type=click.Path(path_type=Path), metavar="FILE", help="Go on from here after a stop.")
def command(
    target: Container, output: str, array: bool, system: bool, connections: int, checkpoint: Path | None
) -> None:
    """Write all items of a container as JSON lines, or as one JSON array.

    Throttled requests are sent again. With --checkpoint, the same command goes on where the last one stopped.

    \b
    Examples:
      armillary dump -d shop -c orders > orders.jsonl
      armillary dump -d shop -c orders --array -o orders.json
      armillary dump -d shop -c orders -o orders.jsonl --checkpoint orders.done

    Exit codes: 0 all written, 2 wrong usage, 5 the server cannot be reached or refused.
    """
    if checkpoint is not None and output == "-":
        raise click.UsageError("--checkpoint needs --output: what went through a pipe cannot be taken back")
    task = {"dump": target.account.endpoint.rstrip("/") + target.path, "into": output, "form": f"{array} {system}"}
    keep = Checkpoint(checkpoint, task)
    state = keep.read()
    size = state.get("size")
    with _open(output, size if isinstance(size, int) else None) as stream, open_meter("dumping", None) as meter:
        writer = Writer(stream, array, system)
        copy = Copy(target, writer, keep, meter)
        copy.restore(state)
        copy.read_ranges(list_ranges(target), connections)
        writer.finish()
    keep.remove()
    click.echo(meter.describe(), err=True)


class Writer:
    """Items into a stream, one after the other."""

    def __init__(self, stream: BinaryIO, array: bool, system: bool) -> None:
        self._stream = stream
        self._array = array
        self._system = system
        self.count = 0

    def write(self, items: Sequence[dict[str, object]]) -> None:
        parts: list[bytes] = []
        for item in items:
            for name in () if self._system else _SYSTEM:
                item.pop(name, None)
            before = (b",\n" if self.count + len(parts) else b"[\n") if self._array else b""
            parts.append(before + dump(item) + (b"" if self._array else b"\n"))
        self._stream.write(b"".join(parts))
        self.count += len(parts)

    def sync(self) -> int:
        """Put what was written on the disk; the length of it."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._stream.tell()

    def finish(self) -> None:
        if self._array:
            self._stream.write(b"\n]\n" if self.count else b"[]\n")
        self._stream.flush()


class Copy:
    """One dump under way: ranges are read by several threads, and written by one at a time."""

    def __init__(self, target: Container, writer: Writer, keep: Checkpoint, meter: Meter) -> None:
        self._target = target
        self._writer = writer
        self._keep = keep
        self._meter = meter
        self._lock = threading.Lock()
        self._positions: dict[str, str] = {}
        self._kept = time.monotonic()
        self._stopping = False

    def restore(self, state: dict[str, object]) -> None:
        """Go on from what a checkpoint says."""
        count, positions = state.get("count", 0), state.get("positions", {})
        if isinstance(count, int) and isinstance(positions, dict):
            self._writer.count = count
            self._positions = {str(name): str(position) for name, position in positions.items()}

    def read_ranges(self, names: Sequence[str], connections: int) -> None:
        """Copy ranges to their ends; what goes wrong with one stops all."""
        with ThreadPoolExecutor(connections) as pool:
            try:
                for done in [pool.submit(self._read_range, name) for name in names]:
                    done.result()
            finally:
                self._stopping = True

    def _read_range(self, name: str) -> None:
        client = Client(self._target.account)
        try:
            while self._positions.get(name) != _DONE and not self._stopping:
                headers = {"x-ms-documentdb-partitionkeyrangeid": name, "x-ms-max-item-count": _PAGE}
                if position := self._positions.get(name):
                    headers["x-ms-continuation"] = position
                self._take(name, client.must_send("GET", self._target.path + "/docs", headers))
        finally:
            client.close()

    def _take(self, name: str, answer: Answer) -> None:
        items = load(answer.body)["Documents"]
        with self._lock:
            self._writer.write(items)
            self._positions[name] = answer.headers.get("x-ms-continuation", _DONE)
            self._meter.add(len(items), answer.charge)
            if self._keep.kept and time.monotonic() - self._kept > _CHECKPOINT_EVERY:
                self._kept = time.monotonic()
                size = self._writer.sync()
                self._keep.write({"size": size, "count": self._writer.count, "positions": self._positions})


def list_ranges(target: Container) -> list[str]:
    """The ids of the ranges of a container."""
    with closing(Client(target.account)) as client:
        return [str(row["id"]) for row in client.list_all(target.path + "/pkranges", "PartitionKeyRanges")]


def _open(output: str, size: int | None) -> AbstractContextManager[BinaryIO]:
    """The stream to write to; cut to what a checkpoint vouches for."""
    if output == "-":
        return nullcontext(sys.stdout.buffer)
    stream = open(output, "wb" if size is None else "r+b")  # noqa: SIM115 - closed by who asked for it
    stream.truncate(size)
    stream.seek(0, os.SEEK_END)
    return stream
