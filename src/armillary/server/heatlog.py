"""The heat of every partition, minute by minute, for a day: in memory, or in the data folder across restarts.

The files are `heat/YYYY-MM-DD.jsonl`, one for each day (UTC). A line is a JSON object for one partition and one minute
that had traffic:

    minute                      when it began, in seconds since 1970
    database, container, range  names, as they were then         partition  in hexadecimal, never used again
    ru, peak, budget            units of the minute, of its busiest second, and for a second (0: no limit)
    requests, throttled         let in, refused                  bytes, time  moved, and seconds it took
    hot                         [{key, ru, bytes, throttled}, ...] of this minute and the one before

Files grow at their end only, and go when the day after theirs is over. They are not synced: a power failure may cost
some minutes and leave a torn line, which readers pass over and the next write ends. Two lines of one minute (a server
was started twice in it) are both true: they add up.
"""

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from armillary.errors import Refusal
from armillary.json import dump, parse_object

__all__ = ["HeatLog", "Row"]

Row: TypeAlias = dict[str, Any]

_DAY: Final = 86_400
_MOST_WAITING: Final = 50_000


class HeatLog:
    """The rows of a day. One process writes, any reads."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = None if folder is None else folder / "heat"
        self._rows: list[Row] = []  # those in memory, or those that could not be written yet

    def append(self, rows: Iterable[Row], now: float) -> None:
        """Keep rows, and forget what is older than a day."""
        self._rows += rows
        if self._folder is None:
            self._rows = [row for row in self._rows if row["minute"] >= now - _DAY]
            return
        del self._rows[:-_MOST_WAITING]
        if self._rows:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            _append_lines(self._folder / _name_file(now), self._rows)
            self._rows = []
            for file in self._folder.glob("*.jsonl"):
                if file.name < _name_file(now - _DAY):
                    file.unlink(missing_ok=True)

    def read(self, since: float, now: float) -> list[Row]:
        """The rows of the minutes that began at `since` or later."""
        if self._folder is None:
            return [row for row in self._rows if row["minute"] >= since]
        files = [self._folder / _name_file(since + day * _DAY) for day in range(int((now - since) // _DAY) + 2)]
        return [row for file in files for row in _read_lines(file) if row["minute"] >= since]


def _name_file(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}.jsonl"


def _append_lines(file: Path, rows: Iterable[Row]) -> None:
    data = b"".join(dump(row) + b"\n" for row in rows)
    with file.open("ab") as out:
        if out.tell() and not _ends_whole(file):
            data = b"\n" + data
        out.write(data)


def _ends_whole(file: Path) -> bool:
    with file.open("rb") as found:
        found.seek(-1, os.SEEK_END)
        return found.read(1) == b"\n"


def _read_lines(file: Path) -> Iterator[Row]:
    if not file.exists():
        return
    for line in file.read_bytes().split(b"\n"):
        try:
            row = parse_object(line)
        except Refusal:
            continue  # the end of the file, or a line that was torn
        if isinstance(row.get("minute"), int):
            yield row
