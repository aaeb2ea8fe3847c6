"""The pages about what partitions hold and use.

    GET /_armillary/partitions              every container and its partitions, now
    GET /_armillary/heat?minutes=N          the minutes that were kept, 60 unless asked otherwise, at most a day

`ru`, `requests` and `throttled` of a partition are those of the last whole second, `minute` has the sums of the last
sixty. Every figure is the server's, not the worker's that answers: it is read from memory that all share.
"""

from math import inf
from typing import Any, Final
from urllib.parse import parse_qs

from armillary.admission import METADATA
from armillary.budget import LOWEST_FACTOR, scale_factor
from armillary.database import STALE, Container, Database
from armillary.errors import Refusal
from armillary.hotkeys import merge_hot
from armillary.json import dump
from armillary.kv.steps import Block, Steps
from armillary.meter import Cell, MeterReader
from armillary.server.heatlog import HeatLog, Row
from armillary.server.splitpages import measure_split
from armillary.store.catalog import OfferRow, Range, Split
from armillary.store.header import Header
from armillary.wire.http import Request, Response

__all__ = ["FigurePages", "show_hot"]

_JSON: Final = b"content-type: application/json\r\ncache-control: no-store\r\n"
_MINUTE: Final = 60
_USUAL_MINUTES: Final = 60
_MOST_MINUTES: Final = 24 * 60
_HOT: Final = 5


class FigurePages:
    """The handlers; who may call them is checked before."""

    def __init__(self, database: Database, log: HeatLog) -> None:
        self._database = database
        self._log = log
        self._limits = database.limits
        self._reader = MeterReader(database.admission.meters.shared)

    def show_partitions(self, _: Request) -> Steps[Response]:
        self._database.admission.meters.publish()
        page = yield Block(self._describe)
        return Response(200, _JSON, dump(page))

    def show_heat(self, request: Request) -> Steps[Response]:
        asked = parse_qs(request.query.decode("latin-1")).get("minutes", [str(_USUAL_MINUTES)])[-1]
        if not asked.isdecimal() or not 1 <= len(asked) <= 4 or not 1 <= int(asked) <= _MOST_MINUTES:
            message = f"'minutes' must be a whole number from 1 to {_MOST_MINUTES}, not {asked[:20]!r}"
            return Response(400, _JSON, dump({"code": "BadRequest", "message": message}))
        now = self._reader.shared.now()
        since = (int(now) // _MINUTE - int(asked)) * _MINUTE
        rows = yield Block(lambda: self._log.read(since, now))
        return Response(200, _JSON, dump({"scale": self._limits.scale, "now": int(now), "rows": rows}))

    def _describe(self) -> dict[str, Any]:
        containers = []
        for container in self._database.every_container():
            try:
                containers.append(self._describe_container(container))
            except Refusal as refused:
                if refused.kind not in STALE:
                    raise  # else it was dropped meanwhile
        options, now = self._database.admission.options, int(self._reader.shared.now())
        return {
            "scale": self._limits.scale,
            "now": now,
            "rules": self._limits.rules,
            "containers": containers,
            "metadata": {
                "budget": 0 if options.metadata == inf else options.metadata,
                **_sum_up(self._reader.read_seconds(METADATA, now - _MINUTE, now)),
            },
        }

    def _describe_container(self, container: Container) -> dict[str, Any]:
        admission = self._database.admission
        offer = admission.find_offer(container.row, container.owner)
        rate = 0.0 if offer is None else admission.divide(offer, container.row)
        now = int(self._reader.shared.now())
        partitions, factor = [], LOWEST_FACTOR
        for place in container.row.ranges:
            cells = self._reader.read_seconds(place.partition, now - _MINUTE, now)
            if rate:
                factor = max(factor, scale_factor([cell.units for cell in cells], rate))
            shown = self._describe_partition(container, place)
            partitions.append({**shown, "budget": round(rate, 2), **_sum_up(cells)})
        own = offer if container.row.offer is not None else None
        return {
            "database": container.owner.id,
            "container": container.row.id,
            "offer": None if own is None else _show_offer(own, factor),
            "partitions": partitions,
        }

    def _describe_partition(self, container: Container, place: Range) -> dict[str, Any]:
        with self._database.engine.read(place.partition) as reader:
            header = Header(reader.header)
        splits = [split for split in container.row.splits if split.parent == place.id]
        limits = self._limits
        return {
            "range": place.id,
            "partition": place.partition.hex(),
            "min": place.low,
            "max": place.high,
            "items": header.items,
            "bytes": header.bytes,
            "limit_bytes": limits.fixed_storage if container.key.system_key else limits.partition_storage,
            "hot": show_hot(self._reader, place.partition),
            "split": None if not splits else self._describe_split(container, splits[0]),
        }

    def _describe_split(self, container: Container, split: Split) -> dict[str, Any]:
        found = measure_split(self._database, container, split)
        phase = f"{found['copied']} of {found['items']} items" if "items" in found else ""
        return {"id": split.id, "reason": split.reason, "state": found["state"], "phase": phase}


def _show_offer(offer: OfferRow, factor: float) -> dict[str, Any]:
    return {
        "throughput": offer.throughput,
        "autoscale": offer.autoscale,
        "implicit": offer.implicit,
        "per_minute": offer.per_minute,
        "factor": 1.0 if offer.autoscale is None else factor,
    }


def _sum_up(cells: list[Cell]) -> dict[str, Any]:
    """The last second, and all of them together."""
    last = cells[-1]
    minute = {
        "ru": round(sum(cell.units for cell in cells), 2),
        "peak": round(max(cell.units for cell in cells), 2),
        "requests": round(sum(cell.requests for cell in cells)),
        "throttled": round(sum(cell.refused for cell in cells)),
        "bytes": round(sum(cell.bytes for cell in cells)),
        "time": round(sum(cell.time for cell in cells), 6),
    }
    return {
        "ru": round(last.units, 2),
        "requests": round(last.requests),
        "throttled": round(last.refused),
        "minute": minute,
    }


def show_hot(reader: MeterReader, partition: bytes) -> list[Row]:
    """The hottest keys of a partition, as pages have them."""
    return [
        {"key": hot.key, "ru": round(hot.units, 2), "bytes": round(hot.bytes), "throttled": round(hot.refused)}
        for hot in merge_hot(reader.read_hot(partition), _HOT)
    ]
