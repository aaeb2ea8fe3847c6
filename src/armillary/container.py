"""A container ready for use: what operations need of it, from what the catalog keeps."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from armillary.keys.definition import KeyDefinition, read_definition
from armillary.keys.path import parse_path
from armillary.keys.ranges import EpkRange, read_range
from armillary.limits import USUAL, Limits
from armillary.store.catalog import ContainerRow, DatabaseRow, Range
from armillary.store.check import Subject
from armillary.store.layout import ITEM, LOGICAL
from armillary.store.places import logical_code
from armillary.store.reading import Scope, scope_of
from armillary.store.rules import Rules
from armillary.values import KeyValue

_HEADER_SAFE: Final = " !\"$&'()*+,/:;<=>@[]^`{|}~"


@dataclass(frozen=True, slots=True)
class Container:
    """One version of a container, ready for use; `link` is its path in names, as a header can carry it.

    `bounds` are the item keys between which its ranges lie, in order, from the first to the last; `notes` hold for each
    range a text that an API would otherwise make again for every answer, with the charge and LSN it is made of.
    """

    row: ContainerRow
    owner: DatabaseRow
    key: KeyDefinition
    rules: Rules
    ranges: tuple[EpkRange, ...]
    bounds: tuple[bytes, ...]
    rid: str
    link: str
    notes: dict[str, tuple[tuple[float, int], str]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def definition(self) -> dict[str, Any]:
        return self.row.definition

    def route(self, key: bytes) -> Range:
        """The range that an item key falls into."""
        return self.find_range(key)[0]

    def find_range(self, key: bytes) -> tuple[Range, bytes]:
        """The same, and the item key at which the range ends."""
        bounds = self.bounds
        at = bisect_right(bounds, key) - 1 if len(bounds) > 2 else 0
        return self.row.ranges[at], bounds[at + 1]

    def scope(self, values: Sequence[KeyValue]) -> Scope:
        """The items of one logical partition, or of all that begin with a prefix of a hierarchical key."""
        if not self.key.is_complete(values):
            return scope_of(self.key.range_of(values))
        code = logical_code(self.key, values)[0]
        return Scope(ITEM + code, ITEM + code + b"\xff", LOGICAL + code, values)

    def subjects(self) -> list[Subject]:
        """Its partitions, for a check."""
        name = f"{self.owner.id}/{self.row.id}"
        return [
            Subject(
                f"{name} range {place.id} ({place.partition.hex()})",
                place.partition,
                place.birth,
                bounds,
                self.key,
                self.rules,
            )
            for place, bounds in zip(self.row.ranges, self.ranges, strict=True)
        ]


def compile_container(row: ContainerRow, owner: DatabaseRow, limits: Limits = USUAL) -> Container:
    """What operations need of a container, from what the catalog keeps."""
    key = read_definition(row.definition["partitionKey"])
    unique = row.definition.get("uniqueKeyPolicy", {}).get("uniqueKeys", [])
    paths = tuple(tuple(parse_path(path, "unique key policy").names for path in rule["paths"]) for rule in unique)
    rules = Rules(
        row.version,
        (row.database, row.number),
        f"dbs/{owner.rid}/colls/{row.rid}/docs/".encode(),
        row.definition.get("defaultTtl"),
        paths,
        limits.fixed_storage if key.system_key else limits.key_storage,
        limits.note,
    )
    ranges = tuple(read_range(place.low, place.high) for place in row.ranges)
    bounds = (ITEM, *(ITEM + found.stop.rstrip(b"\0") for found in ranges))
    link = quote(f"dbs/{owner.id}/colls/{row.id}", _HEADER_SAFE)
    return Container(row, owner, key, rules, ranges, bounds, row.rid, link)
