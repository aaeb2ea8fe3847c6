"""The indexing policy of a container: read, checked, completed, and shown as clients see it.

The laws: every path is in exactly one of the two lists, and the root is in one of them; `_etag` is excluded unless a
client names it. Without lists everything is indexed; without indexing there are no lists. The kinds and precisions
that indexes of old were given mean nothing any more and are not shown; a spatial one becomes a spatial index.
Leaves out: which path decides for a property, and the building of the index.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from armillary.api.nosql.indexpaths import ETAG, ROOT, IndexPath, parse_index_path, parse_property
from armillary.api.nosql.search import FullTextIndex, VectorIndex, read_fulltext_indexes, read_vector_indexes
from armillary.api.nosql.shapes import Part
from armillary.keys import KeyPath

MOST_PATHS: Final = 1500
MOST_COMPOSITES: Final = 100
COMPOSITE_PATHS: Final = range(2, 9)
SHAPES: Final = ("Point", "LineString", "Polygon", "MultiPolygon")
_CORNERS: Final = ("xmin", "ymin", "xmax", "ymax")
_OLD_KINDS: Final = {"Hash": ("String", "Number"), "Range": ("String", "Number"), "Spatial": SHAPES}
_NO_ROOT: Final = (
    'The special mandatory indexing path "/*" is not provided in any of the path type sets. '
    "Please provide this path in one of the sets."
)


@dataclass(frozen=True, slots=True)
class SortPath:
    """One path of a composite index and its direction."""

    path: KeyPath
    descending: bool


@dataclass(frozen=True, slots=True)
class SpatialIndex:
    """A path that leads to shapes; planes need the corners of what is indexed: left, bottom, right, top."""

    path: IndexPath
    shapes: tuple[str, ...]
    box: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        text: dict[str, Any] = {"path": self.path.text, "types": list(self.shapes)}
        return text | ({"boundingBox": dict(zip(_CORNERS, self.box, strict=True))} if self.box else {})


@dataclass(frozen=True, slots=True)
class IndexingPolicy:
    """A checked policy with all its defaults."""

    mode: str
    automatic: bool
    included: tuple[IndexPath, ...]
    excluded: tuple[IndexPath, ...]
    composites: tuple[tuple[SortPath, ...], ...] = ()
    spatials: tuple[SpatialIndex, ...] = ()
    vectors: tuple[VectorIndex, ...] = ()
    fulltexts: tuple[FullTextIndex, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The policy as clients see it; lists that are seldom used are shown when they have members."""
        text: dict[str, Any] = {
            "indexingMode": self.mode,
            "automatic": self.automatic,
            "includedPaths": [{"path": path.text} for path in self.included],
            "excludedPaths": [{"path": path.text} for path in self.excluded],
        }
        lists = {
            "compositeIndexes": [[_show_sort(path) for path in index] for index in self.composites],
            "spatialIndexes": [index.to_json() for index in self.spatials],
            "vectorIndexes": [index.to_json() for index in self.vectors],
            "fullTextIndexes": [index.to_json() for index in self.fulltexts],
        }
        return text | {name: members for name, members in lists.items() if members}


def read_indexing(value: object) -> IndexingPolicy:
    """A policy from its JSON form; None stands for the default."""
    part = Part("indexing policy", "indexingPolicy", {} if value is None else value)
    mode = part.at("indexingMode").choice("consistent", "lazy", "none")
    automatic = part.at("automatic").flag(default=mode != "none")
    if mode == "none" and automatic:
        raise part.refuse("the indexing mode none cannot be automatic")
    included, excluded = _read_paths(part.at("includedPaths")), _read_paths(part.at("excludedPaths"))
    _check_paths(part, (*included, *excluded))
    if mode != "none":
        included, excluded = _complete_paths(part, included, excluded)
    old = _read_old_spatials(part.at("includedPaths"))
    return IndexingPolicy(
        mode,
        automatic,
        included,
        excluded,
        tuple(_read_composite(index) for index in part.at("compositeIndexes").some(MOST_COMPOSITES)),
        (*(_read_spatial(index) for index in part.at("spatialIndexes").each()), *old),
        read_vector_indexes(part.at("vectorIndexes")),
        read_fulltext_indexes(part.at("fullTextIndexes")),
    )


def _read_paths(part: Part) -> tuple[IndexPath, ...]:
    return tuple(parse_index_path(entry.at("path")) for entry in part.some(MOST_PATHS))


def _check_paths(part: Part, paths: Iterable[IndexPath]) -> None:
    seen: set[IndexPath] = set()
    for path in paths:
        if path in seen:
            raise part.refuse(f"The indexing path '{path.text}' stands in it twice")
        seen.add(path)


def _complete_paths(
    part: Part, included: tuple[IndexPath, ...], excluded: tuple[IndexPath, ...]
) -> tuple[tuple[IndexPath, ...], tuple[IndexPath, ...]]:
    """The two lists with what the service adds to them."""
    if ROOT not in (*included, *excluded):
        if included:
            raise part.refuse(_NO_ROOT)
        included = (ROOT,)
    if ETAG not in (*included, *excluded):
        excluded = (*excluded, ETAG)
    return included, excluded


def _read_composite(part: Part) -> tuple[SortPath, ...]:
    entries = part.each()
    if len(entries) not in COMPOSITE_PATHS:
        limits = f"from {COMPOSITE_PATHS.start} to {COMPOSITE_PATHS.stop - 1} paths"
        raise part.refuse(f"a composite index has {limits}, {part.place} has {len(entries)}")
    paths = tuple(
        SortPath(parse_property(entry.at("path")), entry.at("order").choice("ascending", "descending") == "descending")
        for entry in entries
    )
    if len({sort.path.names for sort in paths}) < len(paths):
        raise part.refuse(f"a path stands in {part.place} twice")
    return paths


def _show_sort(sort: SortPath) -> dict[str, str]:
    return {"path": sort.path.text, "order": "descending" if sort.descending else "ascending"}


def _read_spatial(part: Part) -> SpatialIndex:
    types = part.at("types").each()
    shapes = tuple(shape.choice(*SHAPES) for shape in types) or SHAPES
    box = part.at("boundingBox")
    return SpatialIndex(parse_index_path(part.at("path")), shapes, _read_box(box) if box.is_sent else ())


def _read_box(part: Part) -> tuple[float, ...]:
    corners = []
    for name in _CORNERS:
        corner = part.at(name)
        if not isinstance(corner.value, int | float) or isinstance(corner.value, bool):
            raise corner.wrong("a number")
        corners.append(corner.value)
    left, bottom, right, top = corners
    if left >= right or bottom >= top:
        raise part.refuse(f"{part.place} is empty: xmin and ymin must be less than xmax and ymax")
    return tuple(corners)


def _read_old_spatials(included: Part) -> tuple[SpatialIndex, ...]:
    """The spatial indexes among those that old clients name beside each included path."""
    found = []
    for entry in included.each():
        shapes = []
        for index in entry.at("indexes").each():
            kind = index.at("kind").choice(*_OLD_KINDS)
            shape = index.at("dataType").choice(*_OLD_KINDS[kind])
            if index.at("precision").is_sent:
                index.at("precision").whole(-1, 100)
            if kind == "Spatial":
                shapes.append(shape)
        if shapes:
            found.append(SpatialIndex(parse_index_path(entry.at("path")), tuple(dict.fromkeys(shapes))))
    return tuple(found)
