"""Whole queries against small cases worked out by hand from the published semantics."""

from typing import Any, Final

import pytest
from tests.naive.compare import same_rows
from tests.naive.evaluator import run
from tests.naive.values import QueryError

ROWS: Final = [
    {"id": "1", "g": "a", "n": 1, "t": [1, 2]},
    {"id": "2", "g": "b", "n": 5, "t": [2]},
    {"id": "3", "g": "a", "n": "x"},
    {"id": "4", "n": None, "t": []},
    {"id": "5", "g": "b", "n": 2, "t": "no"},
    {"id": "6", "g": None, "n": True, "t": [{"k": 1}]},
]

# Query, expected rows, and whether their order is said.
QUERIES: Final = [
    ("SELECT * FROM c WHERE c.id = '2'", [ROWS[1]]),
    ("SELECT c.id FROM c WHERE c.n > 1", [{"id": "2"}, {"id": "5"}]),
    ("SELECT c.missing FROM c WHERE c.n > 1", [{}, {}]),
    ("SELECT VALUE c.missing FROM c", []),
    ("SELECT c.id, c['g'], c.t[0] FROM c WHERE c.n = 1", [{"id": "1", "g": "a", "$1": 1}]),
    ("SELECT 1, c.id, 2 AS two, 3 FROM c WHERE c.n = 1", [{"$1": 1, "id": "1", "two": 2, "$2": 3}]),
    ("SELECT c FROM c WHERE c.n = 5", [{"c": ROWS[1]}]),
    ("SELECT c.id i, c.n AS v FROM c WHERE c.n = 5", [{"i": "2", "v": 5}]),
    ("SELECT VALUE 1", [1]),
    ("SELECT 1 AS one, 'a'", [{"one": 1, "$1": "a"}]),
    ("SELECT VALUE f.id FROM Families AS f WHERE f.n = 5", ["2"]),
    ("SELECT VALUE root.id FROM root WHERE root.n = 5", ["2"]),
    ("select value c.id from c where c.n = 5 -- the end\n", ["2"]),
    ("SELECT VALUE c.id FROM c WHERE c.n", ["6"]),
    ("SELECT VALUE c.id FROM c WHERE NOT (c.n = 1)", ["2", "5"]),
    ("SELECT VALUE c.id FROM c WHERE c.n != 1", ["2", "5"]),
    ("SELECT VALUE c.id FROM c WHERE c.g = null", ["6"]),
    ("SELECT VALUE c.id FROM c WHERE c.g IN ('a', null)", ["1", "3", "6"]),
    ("SELECT VALUE t FROM c JOIN t IN c.t", [1, 2, 2, {"k": 1}]),
    ("SELECT VALUE t FROM t IN c.t", [1, 2, 2, {"k": 1}]),
    ("SELECT * FROM t IN c.t WHERE t = 2", [2, 2]),
    ("SELECT c.id, t FROM c JOIN t IN c.t WHERE t = 2", [{"id": "1", "t": 2}, {"id": "2", "t": 2}]),
    ("SELECT VALUE [t, u] FROM c JOIN t IN c.t JOIN u IN c.t WHERE c.id = '1'", [[1, 1], [1, 2], [2, 1], [2, 2]]),
    ("SELECT VALUE x FROM c.t AS x WHERE IS_STRING(x)", ["no"]),
    ("SELECT VALUE t FROM c.t", [[1, 2], [2], [], "no", [{"k": 1}]]),
    ("SELECT VALUE k FROM c JOIN k IN c.t[0]", []),
    ("SELECT VALUE u FROM c JOIN (SELECT VALUE t FROM t IN c.t WHERE t > 1) AS u", [2, 2]),
    ("SELECT VALUE u FROM c JOIN u IN (SELECT VALUE c.t) WHERE c.id = '1'", [1, 2]),
    ("SELECT VALUE r.k FROM c JOIN r IN (SELECT VALUE [{k: 1, v: 'one'}, {k: 2, v: 'two'}]) WHERE r.k = c.n", [1, 2]),
    ("SELECT VALUE s.a FROM (SELECT c.n AS a FROM c) AS s WHERE s.a > 1", [5, 2]),
    ("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.g FROM c) AS g", [3]),
    ("SELECT VALUE COUNT(1) FROM c", [6]),
    ("SELECT COUNT(1) FROM c", [{"$1": 6}]),
    ("SELECT COUNT(c.g) AS g, COUNT(c.missing) AS m FROM c", [{"g": 5, "m": 0}]),
    ("SELECT VALUE COUNT(1) FROM c WHERE false", [0]),
    ("SELECT VALUE SUM(c.n) FROM c", []),
    ("SELECT VALUE SUM(c.n) FROM c WHERE IS_NUMBER(c.n)", [8]),
    ("SELECT VALUE SUM(c.n) FROM c WHERE false", [0]),
    ("SELECT VALUE AVG(c.n) FROM c WHERE c.n >= 2", [3.5]),
    ("SELECT VALUE AVG(c.n) FROM c WHERE false", []),
    ("SELECT AVG(c.n) AS a, MIN(c.n) AS m FROM c WHERE false", [{}]),
    ("SELECT MIN(c.n) AS low, MAX(c.n) AS high FROM c", [{"low": None, "high": "x"}]),
    ("SELECT VALUE MIN(c.g) FROM c WHERE c.g > ''", ["a"]),
    ("SELECT VALUE MAX(c.t) FROM c", []),
    ("SELECT VALUE COUNTIF(c.n > 1) FROM c", [2]),
    ("SELECT VALUE MAKESET(c.g) FROM c", [["a", "b", None]]),
    ("SELECT VALUE MAKELIST(c.g) FROM c", [["a", "b", "a", "b", None]]),
    ("SELECT VALUE COUNT(1) / 2 + MAX(c.n ?? 0) FROM c WHERE IS_NUMBER(c.n)", [6.5]),
    ("SELECT VALUE {n: COUNT(1), of: 'all'} FROM c", [{"n": 6, "of": "all"}]),
    (
        "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g",
        [{"g": "a", "n": 2}, {"g": "b", "n": 2}, {"n": 1}, {"g": None, "n": 1}],
    ),
    ("SELECT c['g'] AS k, SUM(c.n) AS s FROM c GROUP BY c.g", [{"k": "a"}, {"k": "b", "s": 7}, {}, {"k": None}]),
    ("SELECT VALUE COUNT(1) FROM c WHERE c.n > 0 GROUP BY c.g", [1, 2]),
    ("SELECT VALUE c.g FROM c GROUP BY c.g", ["a", "b", None]),
    ("SELECT UPPER(c.g) AS u FROM c WHERE c.g != '' GROUP BY UPPER(c.g)", [{"u": "A"}, {"u": "B"}]),
    ("SELECT VALUE {g: c.g, twice: CONCAT(c.g, c.g)} FROM c WHERE c.g = 'a' GROUP BY c.g", [{"g": "a", "twice": "aa"}]),
    ("SELECT COUNT(1) AS n FROM c WHERE false GROUP BY c.g", []),
    ("SELECT DISTINCT VALUE c.g FROM c", ["a", "b", None]),
    ("SELECT DISTINCT c.g FROM c", [{"g": "a"}, {"g": "b"}, {}, {"g": None}]),
    ("SELECT DISTINCT VALUE IS_NUMBER(c.n) FROM c", [True, False]),
    ("SELECT DISTINCT VALUE [1, {b: 1, a: 2}] FROM c", [[1, {"a": 2, "b": 1}]]),
]


@pytest.mark.parametrize(("text", "expected"), QUERIES, ids=lambda part: str(part)[:90])
def test_query(text: str, expected: list[Any]) -> None:
    rows = run(text, {}, ROWS)
    assert same_rows(rows, expected), rows


ORDERED: Final = [
    ("SELECT VALUE c.n FROM c ORDER BY c.n", [None, True, 1, 2, 5, "x"]),
    ("SELECT VALUE c.n FROM c ORDER BY c.n DESC", ["x", 5, 2, 1, True, None]),
    ("SELECT VALUE c.id FROM c ORDER BY c.missing", []),
    ("SELECT VALUE c.n FROM c WHERE c.n > 0 ORDER BY c['n'] asc OFFSET 1 LIMIT 1", [2]),
    ("SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n DESC", ["x", 5]),
    ("SELECT TOP 0 * FROM c ORDER BY c.n", []),
    ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 4 LIMIT 10", [5, "x"]),
    ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 9 LIMIT 10", []),
    ("SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g DESC", ["b", "a", None]),
    ("SELECT VALUE c.id FROM c ORDER BY c.g, c.id DESC", ["4", "6", "3", "1", "5", "2"]),
    ("SELECT VALUE c.id FROM c WHERE c.g > '' ORDER BY c.g DESC, c.id ASC", ["2", "5", "1", "3"]),
    ("SELECT VALUE t FROM c JOIN t IN c.t WHERE c.n > 0 ORDER BY c.n DESC", [2, 1, 2]),
]


@pytest.mark.parametrize(("text", "expected"), ORDERED)
def test_order(text: str, expected: list[Any]) -> None:
    assert same_rows(run(text, {}, ROWS), expected, ordered=True)


def test_every_type_has_its_place() -> None:
    mixed = [{}, [], "b", 2, True, None, "a", -1, False, "", 0.5, "😀", "\uffee"]
    items = [{"id": str(place), "v": value} for place, value in enumerate(mixed)] + [{"id": "none"}]
    rows = run("SELECT VALUE c.v FROM c ORDER BY c.v", {}, items)
    assert same_rows(rows, [None, False, True, -1, 0.5, 2, "", "a", "b", "😀", "\uffee", [], {}], ordered=True)


PARAMETERS: Final = [
    ("SELECT VALUE c.id FROM c WHERE c.n = @n", {"@n": 5}, ["2"]),
    ("SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(@list, c.g)", {"@list": ["b"]}, ["2", "5"]),
    ("SELECT TOP @n VALUE c.id FROM c ORDER BY c.id", {"@n": 1}, ["1"]),
    ("SELECT VALUE c.id FROM c ORDER BY c.id OFFSET @o LIMIT @l", {"@o": 4, "@l": 5}, ["5", "6"]),
    ("SELECT VALUE @o.a[1] FROM c WHERE c.id = '1'", {"@o": {"a": [1, 2]}}, [2]),
    ("SELECT VALUE c[@name] FROM c WHERE c.id IN (@a, @b)", {"@name": "n", "@a": "1", "@b": "2"}, [1, 5]),
    ("SELECT VALUE @n", {"@n": None}, [None]),
]


@pytest.mark.parametrize(("text", "parameters", "expected"), PARAMETERS)
def test_parameters(text: str, parameters: dict[str, Any], expected: list[Any]) -> None:
    assert same_rows(run(text, parameters, ROWS), expected, ordered=True)


WRONG: Final = [
    ("", "syntax"),
    ("SELECT", "syntax"),
    ("SELECT FROM c", "syntax"),
    ("SELECT * FROM c WHERE", "syntax"),
    ("SELECT * FROM c extra more", "syntax"),
    ("SELECT VALUE 'open FROM c", "syntax"),
    ("SELECT VALUE '\\q' FROM c", "syntax"),
    ("SELECT VALUE 1 ++ FROM c", "syntax"),
    ("SELECT VALUE c.n IN () FROM c", "syntax"),
    ("SELECT VALUE c.n FROM c OFFSET 1", "syntax"),
    ("SELECT VALUE 1abc FROM c", "syntax"),
    ("SELECT VALUE c.s LIKE 'a' ESCAPE 'ab' FROM c", "syntax"),
    ("SELECT VALUE d.n FROM c", "unresolved"),
    ("SELECT VALUE c.n FROM c AS d", "unresolved"),
    ("SELECT VALUE C.n FROM c", "unresolved"),
    ("SELECT VALUE @p FROM c", "unresolved"),
    ("SELECT VALUE t FROM c JOIN t IN d.t", "unresolved"),
    ("SELECT VALUE ARRAY(SELECT VALUE x FROM x IN d.t) FROM c", "unresolved"),
    ("SELECT VALUE NOSUCH(1) FROM c", "function"),
    ("SELECT VALUE udf.mine(1) FROM c", "function"),
    ("SELECT VALUE ABS() FROM c", "SC2050"),
    ("SELECT VALUE ABS(1, 2) FROM c", "SC2050"),
    ("SELECT VALUE CONCAT('a') FROM c", "SC2050"),
    ("SELECT VALUE COUNT(1, 2) FROM c", "SC2050"),
    ("SELECT VALUE (SELECT TOP 1 VALUE t FROM t IN c.t) FROM c", "misplaced"),
    ("SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.t ORDER BY t.a) FROM c", "misplaced"),
    ("SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.t OFFSET 0 LIMIT 1) FROM c", "misplaced"),
    ("SELECT c.g FROM c GROUP BY c.g ORDER BY c.g", "misplaced"),
    ("SELECT * FROM c WHERE COUNT(1) > 1", "misplaced"),
    ("SELECT VALUE SUM(COUNT(1)) FROM c", "misplaced"),
    ("SELECT * FROM c JOIN t IN c.t", "star"),
    ("SELECT *", "star"),
    ("SELECT c.n, COUNT(1) FROM c", "ungrouped"),
    ("SELECT c.n FROM c GROUP BY c.g", "ungrouped"),
    ("SELECT c.n, c.n FROM c", "duplicate"),
    ("SELECT * FROM c ORDER BY c.n + 1", "order"),
    ("SELECT TOP -1 * FROM c", "syntax"),
    ("SELECT TOP 1.5 * FROM c", "count"),
]


@pytest.mark.parametrize(("text", "code"), WRONG)
def test_wrong_queries(text: str, code: str) -> None:
    with pytest.raises(QueryError) as caught:
        run(text, {}, [])
    assert caught.value.code == code
