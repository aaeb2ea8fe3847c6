"""The counts of TOP, OFFSET and LIMIT: whole numbers in the text, or parameters."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from armillary.lang.sql.errors import LIMIT_COUNT, OFFSET_COUNT, TOP_COUNT, Problem, refuse_query
from armillary.lang.sql.syntax import Count, Parameter, Query
from armillary.query.numbers import whole

MOST: Final = (1 << 32) - 1


class Counts(NamedTuple):
    """What a query cuts off; None where it does not."""

    top: int | None
    offset: int | None
    limit: int | None


WHOLE: Final = Counts(None, None, None)


def read_counts(query: Query, parameters: Mapping[str, object]) -> Counts:
    """The counts of a query with its parameters; refused where one is no whole number from 0 on, or too large."""
    return Counts(
        _read(query, "TOP", query.top, parameters, TOP_COUNT),
        _read(query, "OFFSET", query.offset, parameters, OFFSET_COUNT),
        _read(query, "LIMIT", query.limit, parameters, LIMIT_COUNT),
    )


def _read(query: Query, clause: str, count: Count | None, parameters: Mapping[str, object], code: str) -> int | None:
    if count is None:
        return None
    value = whole(parameters.get(count.name) if isinstance(count, Parameter) else count.value)
    if value is not None and 0 <= value <= MOST:
        return value
    message = f"The count value provided for a {clause} clause must be an integer."
    if code != TOP_COUNT and value is not None and value > MOST:
        message = f"The {clause} count value exceeds the maximum allowed value."
    raise refuse_query(Problem(code, *query.span_of(clause), message))
