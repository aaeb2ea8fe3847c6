"""The pages of a server about its partitions, as the commands read them: what runs now, the heat of a day, splits.

They are no part of the protocol: only this server has them, under `/_armillary/`. Fields are called what the pages call
them; fields that a page has beyond these are left alone, so a newer server can be read.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from armillary.cli.account import Target
from armillary.cli.client import Answer, Client, ServerError

__all__ = [
    "Container",
    "Heat",
    "HotKey",
    "Minute",
    "Offer",
    "Partition",
    "Partitions",
    "Split",
    "SplitState",
    "ask_heat",
    "ask_page",
    "ask_partitions",
    "ask_splits",
    "choose_rows",
    "read_heat",
    "read_page",
    "read_partitions",
    "tell_page",
]

PARTITIONS: Final = "/_armillary/partitions"
HEAT: Final = "/_armillary/heat"
SPLITS: Final = "/_armillary/splits"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HotKey:
    """A key value that much is asked of; `key` is JSON, an array of one value for each level."""

    key: str
    ru: float
    bytes: int
    throttled: int


@dataclass(frozen=True, slots=True)
class SplitState:
    """A split of a partition, under way."""

    id: str
    state: str
    phase: str


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition now: what it holds, what it served in this second, what it may serve."""

    range: str
    min: str
    max: str
    items: int
    bytes: int
    limit_bytes: int
    ru: float
    budget: float
    requests: int
    throttled: int
    hot: tuple[HotKey, ...]
    split: SplitState | None


@dataclass(frozen=True, slots=True)
class Offer:
    """The throughput of a container: `autoscale` when it is a maximum, `factor` of it being there now."""

    throughput: int
    autoscale: object
    implicit: bool
    factor: float


@dataclass(frozen=True, slots=True)
class Container:
    """A container and its partitions; without an offer it shares that of its database."""

    database: str
    container: str
    offer: Offer | None
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True)
class Partitions:
    """Every partition of the server; `scale` is the factor by which its limits are smaller than the service's."""

    scale: float
    now: float
    containers: tuple[Container, ...]


@dataclass(frozen=True, slots=True)
class Minute:
    """One partition in one minute: `ru` is the sum, `peak` the RU of its busiest second, `budget` that of a second."""

    minute: int
    database: str
    container: str
    range: str
    partition: str
    ru: float
    peak: float
    budget: float
    requests: int
    throttled: int


@dataclass(frozen=True, slots=True)
class Heat:
    """The minutes of all partitions, in any order."""

    scale: float
    rows: tuple[Minute, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """A split, under way or over; of one that is over little more is told than how it ended."""

    id: str
    database: str
    container: str
    range: str
    state: str
    reason: str
    phase: str = ""
    copied: int = 0
    items: int = 0
    seconds: float = 0.0
    error: str | None = None


# ---- asking


def ask_page(client: Client, path: str) -> dict[str, Any]:
    """A page of the server."""
    return _must(client.send("GET", path), "GET", path).json()


def tell_page(client: Client, path: str, order: Mapping[str, object]) -> dict[str, Any]:
    """What the server says to an order."""
    return _must(client.send("POST", path, body=json.dumps(order).encode()), "POST", path).json()


def ask_partitions(client: Client) -> dict[str, Any]:
    return ask_page(client, PARTITIONS)


def ask_heat(client: Client, minutes: int) -> dict[str, Any]:
    return ask_page(client, f"{HEAT}?minutes={minutes}")


def ask_splits(client: Client) -> list[Split]:
    """The splits of the server, those under way and the latest that ended."""
    return read_page(lambda page: [_pick(Split, row) for row in page["splits"]], ask_page(client, SPLITS))


def _must(answer: Answer, method: str, path: str) -> Answer:
    if answer.status == 404 and answer.message.endswith("no such page"):
        raise ServerError(f"the server has no page {path}: it is none of ours, or of another version")
    return answer.must(method, path)


# ---- reading


def read_partitions(page: Mapping[str, Any], chosen: Target | None = None) -> Partitions:
    """The page of partitions, or what of it belongs to one database or container."""
    return read_page(lambda page: _read_partitions(page, chosen), page)


def read_heat(page: Mapping[str, Any], chosen: Target | None = None) -> Heat:
    """The page of heat, or what of it belongs to one database or container."""
    return read_page(
        lambda page: Heat(page["scale"], tuple(_pick(Minute, row) for row in choose_rows(page["rows"], chosen))), page
    )


def read_page(reader: Callable[[Mapping[str, Any]], T], page: Mapping[str, Any]) -> T:
    """What a reader makes of a page; a page of another form is told, not stumbled over."""
    try:
        return reader(page)
    except (KeyError, TypeError, AttributeError) as error:
        raise ServerError(f"the server answered with a page of another form: {type(error).__name__} {error}") from None


def _read_partitions(page: Mapping[str, Any], chosen: Target | None) -> Partitions:
    containers = tuple(
        Container(
            row["database"],
            row["container"],
            _pick(Offer, row["offer"]) if row["offer"] else None,
            tuple(_read_partition(part) for part in row["partitions"]),
        )
        for row in choose_rows(page["containers"], chosen)
    )
    return Partitions(page["scale"], page["now"], containers)


def _read_partition(row: Mapping[str, Any]) -> Partition:
    hot = tuple(_pick(HotKey, key) for key in row["hot"])
    split = _pick(SplitState, row["split"]) if row["split"] else None
    return _pick(Partition, {**row, "hot": hot, "split": split})


def choose_rows(rows: list[Mapping[str, Any]], chosen: Target | None) -> list[Mapping[str, Any]]:
    """The rows of a page that belong to one database or container, or all."""
    return [row for row in rows if chosen is None or chosen.holds(row["database"], row["container"])]


def _pick(kind: Callable[..., T], row: Mapping[str, Any]) -> T:
    """A record of this kind, from the fields of a row that it knows."""
    return kind(**{name: row[name] for name in kind.__annotations__ if name in row})
