"""The keeper's job that turns seconds into minutes: it reads what all workers wrote down, and keeps it for a day.

Each second is taken once it is settled, from memory that remembers a minute. So a keeper that was busy for less than
that loses nothing, and one that is new goes on behind the last minute that was kept.
"""

from typing import Final

from armillary.database import Container, Database
from armillary.meter import SECONDS, Cell, MeterReader
from armillary.server.figures import show_hot
from armillary.server.heatlog import HeatLog, Row
from armillary.store.catalog import Range
from armillary.store.layout import CATALOG

__all__ = ["Heat"]

_MINUTE: Final = 60
_SETTLED: Final = 2  # seconds after which nobody books into a second any more


class Heat:
    """The job."""

    def __init__(self, database: Database, reader: MeterReader, log: HeatLog) -> None:
        self._database = database
        self._reader = reader
        self._log = log
        self._lsn = -1
        self._known: dict[bytes, tuple[Container, Range]] = {}
        self._gone: dict[bytes, int] = {}
        self._minutes: dict[tuple[int, bytes], Row] = {}
        now = reader.shared.now()
        last = max((row["minute"] for row in log.read(now - 10 * _MINUTE, now)), default=0)
        self._done = max(int(now) - SECONDS + _SETTLED, last + _MINUTE)

    def run(self) -> None:
        """Take the seconds that are settled, and keep the minutes that are full."""
        if not self._database.exists():
            return
        now = int(self._reader.shared.now())
        self._follow_catalog(now)
        since, until = max(self._done, now - SECONDS + 1), now - _SETTLED
        if until > since:
            for partition, (container, place) in self._known.items():
                for cell in self._reader.read_seconds(partition, since, until):
                    if cell.requests or cell.refused:
                        self._add(container, place, cell)
            self._done = until
        full = [key for key in self._minutes if key[0] + _MINUTE <= until]
        self._log.append([self._minutes.pop(key) for key in sorted(full)], now)

    def _follow_catalog(self, now: int) -> None:
        """Learn of new partitions; one that is gone is read to the end of its last second."""
        with self._database.engine.read(CATALOG) as reader:
            lsn = reader.lsn
        if lsn != self._lsn:
            containers = self._database.every_container()
            named = {place.partition: (found, place) for found in containers for place in found.row.ranges}
            for partition in self._known.keys() - named.keys() - self._gone.keys():
                self._gone[partition] = now
            self._known |= named
            self._lsn = lsn
        for partition in [partition for partition, second in self._gone.items() if self._done > second]:
            del self._gone[partition], self._known[partition]

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
