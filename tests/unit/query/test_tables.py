"""The tables of expressions, run on operators and functions alone."""

import orjson
import pytest
from tests.cases.rows import Row, load_rows
from tests.unit.query.evaluator import evaluate

from armillary.values import UNDEFINED

ROWS = [row for folder in ("semantics", "functions") for row in load_rows(folder)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.place)
def test_an_expression_has_its_value(row: Row) -> None:
    value = evaluate(row.expression)
    assert ("undefined" if value is UNDEFINED else orjson.dumps(value).decode()) == row.value, row.expression


def test_there_are_many() -> None:
    assert len(ROWS) == len({row.expression for row in ROWS}) >= 500
