"""What is wrong with a query text, in the service's envelope: code, place and words.

    {"errors":[{"severity":"Error","location":{"start":7,"end":8},"code":"SC2001",
                "message":"Identifier 'x' could not be resolved."}]}

A syntax error also says line, column and what was expected, after the service's own sentence. The place is counted in
characters from 0; an ORDER BY without a path has none. What the planner of queries over several partitions refuses has
an envelope of its own (`refuse_plan`).
"""

from typing import Final, NamedTuple

from armillary.errors import Kind, Refusal
from armillary.json import dump

SYNTAX: Final = "SC1001"
UNRESOLVED: Final = "SC2001"
UNKNOWN_FUNCTION: Final = "SC2005"
STAR_OF_MANY: Final = "SC2040"
STAR_OF_GROUPS: Final = "SC2041"
ARGUMENT_COUNT: Final = "SC2050"
TOP_COUNT: Final = "SC2060"
LIMIT_COUNT: Final = "SC2061"
OFFSET_COUNT: Final = "SC2062"
NESTED_AGGREGATE: Final = "SC2101"
NOT_GROUPED: Final = "SC2102"
MISPLACED: Final = "SC2103"
ORDER_IN_SUBQUERY: Final = "SC2202"
TOP_IN_SUBQUERY: Final = "SC2203"
OFFSET_IN_SUBQUERY: Final = "SC2204"
RANK_OF_EACH: Final = "SC2223"
RANK_OF_JOIN: Final = "SC2224"
RANK_OF_SUBQUERY: Final = "SC2225"
SCORE_OUTSIDE_RANK: Final = "SC2240"
NOT_A_PATH: Final = 2206
TOO_LARGE: Final = "SC3001"


class Problem(NamedTuple):
    """One thing that is wrong, and where; the code of an ORDER BY without a path is a number."""

    code: str | int
    start: int
    end: int
    message: str


def refuse_query(*problems: Problem) -> Refusal:
    """The refusal of a query text."""
    errors = [_describe(found) for found in problems]
    return Refusal(Kind.BAD_REQUEST, reason=dump({"errors": errors}).decode())


def _describe(found: Problem) -> dict[str, object]:
    location = {} if found.code == NOT_A_PATH else {"location": {"start": found.start, "end": found.end}}
    return {"severity": "Error", **location, "code": found.code, "message": found.message}


def refuse_syntax(text: str, start: int, end: int, expected: str) -> Refusal:
    """The refusal of a text that the grammar does not allow.

    >>> print(refuse_syntax("SELECT", 6, 6, "an expression").context["reason"][-62:-4])
    near 'end of query'. Line 1, column 7: expected an expression
    """
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    near = text[start:end].encode("utf-8", "replace").decode() or "end of query"
    message = f"Syntax error, incorrect syntax near '{near}'. Line {line}, column {column}: expected {expected}."
    return refuse_query(Problem(SYNTAX, start, end, message))


def refuse_plan(message: str) -> Refusal:
    """What the planner of queries over several partitions refuses."""
    return Refusal(Kind.BAD_REQUEST, reason=dump({"Errors": [message]}).decode())
