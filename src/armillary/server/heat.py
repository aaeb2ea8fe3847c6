"""The heat of every partition, minute by minute, for a day.

`HeatLog` keeps the minutes: in memory, or in the data folder across restarts. Its files are `heat/YYYY-MM-DD.jsonl`,
one for each day (UTC); a line is a JSON object for one partition and one minute that had traffic:

    minute                      when it began, in seconds since 1970
    database, container, range  names, as they were then         partition  in hexadecimal, never used again
    ru, peak, budget            units of the minute, of its busiest second, and for a second (0: no limit)
    requests, throttled         let in, refused                  bytes, time  moved, and seconds it took
    hot                         [{key, ru, bytes, throttled}, ...] of this minute and the one before

Files grow at their end only, and go when the day after theirs is over. They are not synced: a power failure may cost
some minutes and leave a torn line, which readers pass over and the next write ends. Two lines of one minute (a server
was started twice in it) are both true: they add up.

`Heat` is the keeper's job that fills it from the seconds in shared memory (`meter`). It takes each second once it is
settled, so a keeper that was busy for less than a minute loses nothing, and one that is new goes on behind the last
minute that was kept.
"""

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from armillary.database import Container, Database
from armillary.errors import Refusal
from armillary.hotkeys import merge_hot
from armillary.json import dump, parse_object
from armillary.meter import SECONDS, Cell, MeterReader
from armillary.store.catalog import Range
from armillary.store.layout import CATALOG

__all__ = ["Heat", "HeatLog", "Row", "show_hot"]

Row: TypeAlias = dict[str, Any]

_MINUTE: Final = 60
_DAY: Final = 86_400
_SETTLED: Final = 2  # seconds after which nobody books into a second any more
_MOST_WAITING: Final = 50_000
_HOT: Final = 5


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


class Heat:
    """The job."""

    def __init__(self, database: Database, reader: MeterReader, log: HeatLog) -> None:
        self._database = database
        self._reader = reader
        self._log = log
        self._lsn = -1
        self._known: dict[bytes, tuple[Container, Range]] = {}
        self._minutes: dict[tuple[int, bytes], Row] = {}
        now = reader.shared.now()
        last = max((row["minute"] for row in log.read(now - 10 * _MINUTE, now)), default=0)
        self._done = max(int(now) - SECONDS + _SETTLED, last + _MINUTE)

    def run(self) -> None:
        """Take the seconds that are settled, and keep the minutes that are full."""
        if not self._database.exists():
            return
        self._follow_catalog()
        now = int(self._reader.shared.now())
        since, until = max(self._done, now - SECONDS + 1), now - _SETTLED
        if until > since:
            for partition, (container, place) in self._known.items():
                for cell in self._reader.read_seconds(partition, since, until):
                    if cell.requests or cell.refused:
                        self._add(container, place, cell)
            self._done = until
        full = [key for key in self._minutes if key[0] + _MINUTE <= until]
        self._log.append([self._minutes.pop(key) for key in sorted(full)], now)

    def _follow_catalog(self) -> None:
        with self._database.engine.read(CATALOG) as reader:
            lsn = reader.lsn
        if lsn != self._lsn:
            containers = self._database.every_container()
            self._known = {place.partition: (found, place) for found in containers for place in found.row.ranges}
            self._lsn = lsn

    def _add(self, container: Container, place: Range, cell: Cell) -> None:
        minute = cell.second // _MINUTE * _MINUTE
        row = self._minutes.get((minute, place.partition))
        if row is None:
            admission = self._database.admission
            offer = admission.find_offer(container.row, container.owner)
            row = self._minutes[(minute, place.partition)] = {
                "minute": minute,
                "database": container.owner.id,
                "container": container.row.id,
                "range": place.id,
                "partition": place.partition.hex(),
                "budget": 0.0 if offer is None else round(admission.divide(offer, container.row), 2),
                **dict.fromkeys(("ru", "peak", "requests", "throttled", "bytes", "time"), 0.0),
            }
        for name, figure in (
            ("ru", cell.units),
            ("requests", cell.requests),
            ("throttled", cell.refused),
            ("bytes", cell.bytes),
            ("time", cell.time),
        ):
            row[name] = round(row[name] + figure, 6)
        row["peak"] = max(row["peak"], round(cell.units, 2))
        row["hot"] = show_hot(self._reader, place.partition)


def show_hot(reader: MeterReader, partition: bytes) -> list[Row]:
    """The hottest keys of a partition, as pages have them."""
    return [
        {"key": hot.key, "ru": round(hot.units, 2), "bytes": round(hot.bytes), "throttled": round(hot.refused)}
        for hot in merge_hot(reader.read_hot(partition), _HOT)
    ]
