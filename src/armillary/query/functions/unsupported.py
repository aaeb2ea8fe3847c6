"""Functions known by name that are not built: a query that calls one is refused in these words."""

from typing import Final

_SPATIAL: Final = "spatial functions are not built yet"
_TEXT: Final = "full-text search is not built yet"
_VECTOR: Final = "vector search is not built yet"

_REASONS: Final = {
    _SPATIAL: ("ST_AREA", "ST_DISTANCE", "ST_INTERSECTS", "ST_ISVALID", "ST_ISVALIDDETAILED", "ST_WITHIN"),
    _TEXT: (
        "FULLTEXTCONTAINS",
        "FULLTEXTCONTAINSALL",
        "FULLTEXTCONTAINSANY",
        "FULLTEXTSCORE",
        "RRF",
        "_FULLTEXTSCORE",
        "_FULLTEXTWORDCOUNT",
    ),
    _VECTOR: ("VECTORDISTANCE", "_VECTORSCORE"),
}

UNSUPPORTED: Final[dict[str, str]] = {name: reason for reason, names in _REASONS.items() for name in names}
