"""The cases of the SQL language as text.

    on products                          the data set: tests/cases/sql/data/products.json
    SELECT VALUE p.name FROM p
    WHERE p.price > @least
    @least = 10                          parameters, as JSON
    ----
    "Chair"                              a row on each line, as JSON
    "Table"
    ----
    Project p.name                       sometimes the plan, as `explain` prints it

Rows are compared in order where the query has an ORDER BY at its end, else as a bag. Two words stand for rows:

    refused SC2001 could not be resolved        the code (or kind) of the refusal, and a part of its words
    any 2                                       so many of the rows that follow
"""

import json
from functools import cache
from typing import Any, Final, NamedTuple

from tests.cases.loader import FOLDER, load_cases

SQL: Final = FOLDER / "sql"


class SqlCase(NamedTuple):
    """One query, where it stands, and what it answers."""

    place: str
    data: str
    query: str
    parameters: dict[str, Any]
    rows: list[Any]
    some: int | None
    refused: str | None
    plan: str | None


class Row(NamedTuple):
    """One expression, where it stands, and its value: as JSON without white space, or `undefined`."""

    place: str
    expression: str
    value: str


@cache
def load_data(name: str) -> list[Any]:
    """The items of a data set."""
    if name == "nothing":
        return []
    items = json.loads((SQL / "data" / f"{name}.json").read_text(encoding="utf-8"))
    assert isinstance(items, list)
    return items


def load_sql_cases() -> list[SqlCase]:
    """All cases of `tests/cases/sql/*.case`."""
    return [
        _read(case.place, case.input, case.output)
        for path in sorted(SQL.glob("*.case"))
        for case in load_cases(f"sql/{path.stem}")
    ]


def load_rows() -> list[Row]:
    """The rows of all tables in `tests/cases/sql/expressions`: `LEFT("abc", 2) => "ab"` on each line."""
    return [
        Row(f"{path.stem}:{number}", *_split(line))
        for path in sorted((SQL / "expressions").glob("*.case"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line and not line.startswith("#")
    ]


def _split(line: str) -> tuple[str, str]:
    expression, mark, value = line.rpartition(" => ")
    assert mark, f"no row: {line}"
    value = value.strip()
    return expression.strip(), value if value == "undefined" else json.dumps(json.loads(value))


def _read(place: str, text: str, output: str) -> SqlCase:
    head, *lines = text.split("\n")
    word, data = head.split()
    assert word == "on", place
    parameters = [line for line in lines if line.startswith("@") and " = " in line]
    query = "\n".join(line for line in lines if line not in parameters)
    answer, _, plan = output.partition("----\n")
    rows = [line for line in answer.split("\n") if line]
    refused = rows.pop(0).removeprefix("refused ") if rows and rows[0].startswith("refused ") else None
    some = int(rows.pop(0).removeprefix("any ")) if rows and rows[0].startswith("any ") else None
    named = dict(line.split(" = ", 1) for line in parameters)
    values = {name: json.loads(value) for name, value in named.items()}
    return SqlCase(place, data, query, values, [json.loads(row) for row in rows], some, refused, plan or None)
