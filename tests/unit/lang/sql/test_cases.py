"""Every case of the language, with the rules and without, on 1, 2 and 7 partitions, in pages of 1 and 100."""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from random import Random
from typing import Any

import pytest
from tests.cases.sqlcases import Row, SqlCase, load_data, load_rows, load_sql_cases
from tests.unit.query.shelves import Shelves

from armillary.errors import Refusal
from armillary.lang.sql import Statement
from armillary.lang.sql.lower import lower_query
from armillary.lang.sql.parser import parse_query
from armillary.lang.sql.syntax import Expression, Literal, Parameter, Query
from armillary.query.execute import compile_plan
from armillary.query.pages import compile_pages, read_page
from armillary.query.plan import Plan
from armillary.query.positions import read_position, write_position
from armillary.query.rules import apply_rules
from armillary.query.semantics import SQL
from armillary.query.source import Run, start_run
from armillary.values import UNDEFINED

NOW = 16_094_592_000_000_000  # 2021-01-01
CASES = load_sql_cases()
ROWS = load_rows()


def begin(source: Shelves, parameters: dict[str, Any]) -> Run:
    return start_run(source, parameters, lambda: NOW, lambda: 0.25)


def answer_whole(plan: Plan, source: Shelves, parameters: dict[str, Any]) -> list[Any]:
    return [value for batch in compile_plan(plan, SQL)(begin(source, parameters)) for value in batch]


def answer_paged(plan: Plan, source: Shelves, parameters: dict[str, Any], most: int, seed: int) -> list[Any]:
    """All pages, each from the position of the last one; some are ended before they are complete."""
    paged, random = compile_pages(plan, SQL), Random(seed)
    rows: list[Any] = []
    position = None
    for _ in range(10_000):
        pages = paged.open(begin(source, parameters), position)
        if random.random() < 0.2 and pages.can_end:
            pages.begin(most)
            steps = 3
            while steps and pages.advance():
                steps -= 1
            page = pages.end()
        else:
            page = read_page(pages, most)
        assert len(page.values) <= most
        rows += page.values
        if page.position is None:
            return rows
        position = read_position(write_position(page.position))
    raise AssertionError("the pages have no end")


def spell(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def is_ordered(query: Query) -> bool:
    return bool(query.order)


def answers(case: SqlCase, statement: Statement) -> Iterator[tuple[str, list[Any]]]:
    """The rows of a case in every setting."""
    items = load_data(case.data)
    plans = {"ruled": apply_rules(statement.lowered, SQL), "plain": statement.lowered}
    for (name, plan), parts, indexed in product(plans.items(), (1, 2, 7), (False, True)):
        source = Shelves(items, parts, indexed=indexed)
        yield f"{name} on {parts}, whole", answer_whole(plan, source, case.parameters)
        for most in (1, 100):
            rows = answer_paged(plan, source, case.parameters, most, seed=parts)
            yield f"{name} on {parts}, index {indexed}, pages of {most}", rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.place)
def test_a_query_has_its_answer(case: SqlCase) -> None:
    if case.refused is not None:
        assert_refused(case)
        return
    statement = Statement(case.query)
    if case.plan is not None:
        assert statement.explain() == case.plan
    expected = [spell(row) for row in case.rows]
    for setting, rows in answers(case, statement):
        found = [spell(row) for row in rows]
        if case.some is not None:
            assert len(found) == case.some, setting
            for row in found:
                assert found.count(row) <= expected.count(row), setting
        elif is_ordered(statement.query):
            assert found == expected, setting
        else:
            assert sorted(found) == sorted(expected), setting


def run_whole(case: SqlCase) -> None:
    list(Statement(case.query).run(begin(Shelves(load_data(case.data)), case.parameters)))


def assert_refused(case: SqlCase) -> None:
    with pytest.raises(Refusal) as found:
        run_whole(case)
    code, _, words = (case.refused or "").partition(" ")
    told = str(found.value)
    assert found.value.kind.name == code or f'"code":"{code}"' in told or f'"code":{code}' in told, told
    assert words in told


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.place)
def test_an_expression_has_its_value(row: Row) -> None:
    statement = Statement(f"SELECT VALUE {row.expression}")
    for plan in (statement.plan, statement.lowered):
        rows = answer_whole(plan, Shelves([]), {})
        assert (json.dumps(rows[0]) if rows else "undefined") == row.value, row.expression


def test_there_are_many() -> None:
    assert len(ROWS) == len({row.expression for row in ROWS})
    assert len(CASES) == len({(case.data, case.query, str(case.parameters)) for case in CASES})
    assert len(ROWS) + len(CASES) >= 1_200


def lift(expression: Expression, values: dict[str, Any]) -> Expression:
    """The expression with every constant as a parameter: nothing is left to compute before a row comes."""

    def inside(part: Any) -> Any:
        return lift(part, values) if isinstance(part, Expression) else part

    if isinstance(expression, Literal):
        name = f"@p{len(values)}"
        if expression.value is not UNDEFINED:
            values[name] = expression.value
        return Parameter(name if name in values else "@missing")
    changed = {}
    for field in fields(expression):
        found = getattr(expression, field.name)
        if isinstance(found, tuple) and field.name != "span":
            found = tuple((part[0], inside(part[1])) if isinstance(part, tuple) else inside(part) for part in found)
        changed[field.name] = inside(found)
    return replace(expression, **changed)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.place)
def test_an_expression_of_parameters_has_the_same_value(row: Row) -> None:
    query = parse_query(f"SELECT VALUE {row.expression}")
    assert query.value is not None
    values: dict[str, Any] = {}
    lifted = replace(query, value=lift(query.value, values))
    rows = answer_whole(apply_rules(lower_query(lifted), SQL), Shelves([]), values)
    assert (json.dumps(rows[0]) if rows else "undefined") == row.value, row.expression
