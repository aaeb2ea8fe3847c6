"""Functions that choose one of their arguments."""

from typing import Final

from armillary.query.functions.function import UNBOUNDED, Function
from armillary.query.numbers import whole
from armillary.query.semantics import SQL
from armillary.values import UNDEFINED


def choose_at(position: object, *choices: object) -> object:
    """The choice at a position counted from 1; undefined where there is none."""
    at = whole(position)
    return choices[at - 1] if at is not None and 0 < at <= len(choices) else UNDEFINED


CONDITIONAL: Final = (
    Function("IIF", 3, 3, SQL.choose),
    Function("CHOOSE", 2, UNBOUNDED, choose_at),
)
