"""Functions known by name that are not built: their calls are checked like all others, then refused in these words."""

from typing import Final, NamedTuple

from armillary.query.functions.function import UNBOUNDED


class Unbuilt(NamedTuple):
    """A function that is not built: how many arguments it takes, and what is missing."""

    least: int
    most: int
    what: str


_SPATIAL: Final = "Spatial search"
_TEXT: Final = "Full-text search"
_VECTOR: Final = "Vector search"

UNSUPPORTED: Final[dict[str, Unbuilt]] = {
    "FULLTEXTCONTAINS": Unbuilt(2, 2, _TEXT),
    "FULLTEXTCONTAINSALL": Unbuilt(2, UNBOUNDED, _TEXT),
    "FULLTEXTCONTAINSANY": Unbuilt(2, UNBOUNDED, _TEXT),
    "FULLTEXTSCORE": Unbuilt(2, UNBOUNDED, _TEXT),
    "RRF": Unbuilt(2, UNBOUNDED, _TEXT),
    "ST_AREA": Unbuilt(1, 1, _SPATIAL),
    "ST_DISTANCE": Unbuilt(2, 2, _SPATIAL),
    "ST_INTERSECTS": Unbuilt(2, 2, _SPATIAL),
    "ST_ISVALID": Unbuilt(1, 1, _SPATIAL),
    "ST_ISVALIDDETAILED": Unbuilt(1, 1, _SPATIAL),
    "ST_WITHIN": Unbuilt(2, 2, _SPATIAL),
    "VECTORDISTANCE": Unbuilt(2, 4, _VECTOR),
    "_FULLTEXTSCORE": Unbuilt(5, 5, _TEXT),
    "_FULLTEXTWORDCOUNT": Unbuilt(1, 1, _TEXT),
    "_VECTORSCORE": Unbuilt(2, 2, _VECTOR),
}
SCORES: Final = frozenset(("FULLTEXTSCORE", "RRF"))  # only after ORDER BY RANK
