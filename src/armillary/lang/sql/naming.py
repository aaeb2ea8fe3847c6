"""The names that columns and sources have when the text gives them none.

c.a.b -> b     c["x y"] -> x y     c -> c     r[0], 1, UPPER(c.a) -> $1, $2, ... in a SELECT list
"""

from collections.abc import Iterable

from armillary.lang.sql.syntax import Column, Expression, Index, Literal, Member, Name


def name_of(expression: Expression) -> str | None:
    """The name that an expression suggests, if it does."""
    match expression:
        case Name(name) | Member(_, name) | Index(_, Literal(str(name))):
            return name
        case _:
            return None


def name_columns(columns: Iterable[Column]) -> list[str]:
    """The property names of a SELECT list."""
    names: list[str] = []
    nameless = 0
    for column in columns:
        name = column.alias or name_of(column.of)
        if name is None:
            nameless += 1
            name = f"${nameless}"
        names.append(name)
    return names
