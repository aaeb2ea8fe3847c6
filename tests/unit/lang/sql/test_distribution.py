"""How queries are distributed: the plan of every case, and that its parts merge into the answer."""

import json
from collections.abc import Iterator
from typing import Final

import pytest
from tests.cases.loader import Case, load_cases

from armillary.errors import Refusal
from armillary.keys import KeyDefinition, define_key, divide_space
from armillary.lang.sql import prepare
from armillary.lang.sql.distribution import Distribution, distribute, read_features
from armillary.values import UNDEFINED

CASES: Final = load_cases("sql/distribution/plans") + load_cases("sql/distribution/ranges")
PYTHON: Final = (
    "Aggregate, CompositeAggregate, Distinct, MultipleOrderBy, OffsetAndLimit, OrderBy, Top, NonStreamingOrderBy, "
    "HybridSearch, CountIf, WeightedRankFusion"
)
JAVASCRIPT: Final = PYTHON + ", NonValueAggregate, GroupBy, MultipleAggregates, ListAndSetAggregate"


def distribute_case(case: Case) -> tuple[Distribution, KeyDefinition]:
    head, *lines = case.input.split("\n")
    definition = define_key(*head.split()[1:])
    parameters = dict(line.split(" = ", 1) for line in lines if line.startswith("@"))
    query = "\n".join(line for line in lines if not line.startswith("@"))
    values = {name: json.loads(value) for name, value in parameters.items()}
    return distribute(prepare(query), values, definition), definition


def describe(found: Distribution) -> Iterator[str]:
    """The distribution as the cases write it, but for the ranges."""
    yield "direct" if found.is_direct else f"features {', '.join(found.features)}"
    if found.has_value and not found.is_direct:
        yield "value"
    if found.distinct != "None":
        yield f"distinct {found.distinct}"
    if found.counts.top is not None:
        yield f"top {found.counts.top}"
    if found.counts.offset is not None:
        yield f"cut {found.counts.offset}, {found.counts.limit}"
    if found.order:
        yield "order " + ", ".join(f"{text} {'Descending' if down else 'Ascending'}" for text, down in found.order)
    if found.group:
        yield f"group {', '.join(found.group)}"
    if found.aggregates:
        yield f"aggregates {', '.join(found.aggregates)}"
    if found.aliases:
        yield f"aliases {json.dumps(found.aliases)}"
    yield from found.rewritten.split("\n") if found.rewritten else ()


def read_places(line: str, definition: KeyDefinition) -> Iterator[tuple[bytes, bytes]]:
    """The bounds that a line of a case stands for: at [1] [2], under [1], everywhere, nowhere."""
    word, *rest = line.split(" ", 1)
    if word == "everywhere":
        yield b"", b"\xff"
    elif word == "nowhere":
        yield b"", b""
    elif word in ("at", "under"):
        decoder, text = json.JSONDecoder(), rest[0]
        while text:
            values, end = decoder.raw_decode(text)
            epk = definition.epk([UNDEFINED if value == {} else value for value in values])
            yield epk, epk if word == "at" else epk + b"\xff"
            text = text[end:].lstrip()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.place)
def test_a_query_is_distributed(case: Case) -> None:
    if case.output.startswith("refused "):
        with pytest.raises(Refusal, match=case.output.removeprefix("refused ")):
            distribute_case(case)
        return
    found, definition = distribute_case(case)
    lines = case.output.split("\n")
    places = [line for line in lines if line.split(" ")[0] in ("everywhere", "nowhere", "at", "under")]
    assert list(describe(found)) == [line for line in lines if line not in places]
    expected = sorted(place for line in places for place in read_places(line, definition))
    assert [(one.start, one.stop) for one in found.ranges] == expected
    prepare(found.rewritten or "SELECT 1")


def test_the_plan_has_every_field() -> None:
    found = distribute(prepare("SELECT TOP 2 c.a FROM c ORDER BY c.a DESC"), {}, define_key("/pk")).to_json()
    rewritten = found["queryInfo"].pop("rewrittenQuery")
    assert rewritten.startswith("SELECT TOP 2 c._rid")
    assert found == {
        "partitionedQueryExecutionInfoVersion": 2,
        "queryInfo": {
            "distinctType": "None",
            "top": 2,
            "offset": None,
            "limit": None,
            "orderBy": ["Descending"],
            "orderByExpressions": ["c.a"],
            "groupByExpressions": [],
            "groupByAliases": [],
            "aggregates": [],
            "groupByAliasToAggregateType": {},
            "hasSelectValue": False,
            "hasNonStreamingOrderBy": False,
            "dCountInfo": None,
        },
        "queryRanges": [{"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}],
    }


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("SELECT * FROM c ORDER BY c.a, c.b", ""),
        ("SELECT VALUE AVG(c.a) FROM c", ""),
        ("SELECT VALUE COUNTIF(c.a) FROM c", ""),
        ("SELECT COUNT(1) FROM c", "NonValueAggregate"),
        ("SELECT COUNT(1), SUM(c.a) FROM c", "MultipleAggregates, NonValueAggregate"),
        ("SELECT c.a FROM c GROUP BY c.a", "GroupBy"),
        ("SELECT VALUE MAKELIST(c.a) FROM c", "ListAndSetAggregate"),
    ],
)
def test_a_client_that_cannot_execute_a_plan_is_refused(query: str, missing: str) -> None:
    found = distribute(prepare(query), {}, define_key("/pk"))
    found.check_client(read_features(JAVASCRIPT))
    if missing:
        with pytest.raises(Refusal, match=f"the calling client does not support: {missing}"):
            found.check_client(read_features(PYTHON))
    else:
        found.check_client(read_features(PYTHON))


def test_ranges_of_long_lists_and_long_values() -> None:
    many = ", ".join(map(str, range(300)))
    definition = define_key("/a", "/b")
    query = f"SELECT * FROM c WHERE c.a IN ({many}) AND c.b IN ({many})"
    ranges = distribute(prepare(query), {}, definition).ranges
    assert len(ranges) in (301, 1)  # one of the two conditions alone: zero is two points
    found = distribute(prepare("SELECT * FROM c WHERE c.a = @a"), {"@a": "x" * 3_000}, define_key("/a"))
    assert [(one.start, one.stop) for one in found.ranges] == [(b"", b"")]


def test_a_query_is_pinned_by_one_value() -> None:
    definition = define_key("/pk")
    for text, pinned in (
        ("SELECT * FROM c WHERE c.pk = 1 ORDER BY c.a", True),
        ("SELECT * FROM c WHERE c.pk = 1 AND c.pk = 2", True),
        ("SELECT * FROM c WHERE c.pk IN (1, 2)", False),
        ("SELECT * FROM c WHERE c.pk = 0", False),  # zero and minus zero are two keys
        ("SELECT * FROM c", False),
    ):
        assert distribute(prepare(text), {}, definition).is_pinned is pinned
    assert not distribute(prepare("SELECT * FROM c WHERE c.pk = 1"), {}, define_key("/pk", "/id")).is_pinned


def test_a_range_says_whether_a_partition_has_a_part_in_it() -> None:
    definition = define_key("/pk")
    found = distribute(prepare("SELECT * FROM c WHERE c.pk IN (1, 2, 3)"), {}, definition)
    halves = divide_space(2)
    assert all(sum(one.overlaps(half) for half in halves) == 1 for one in found.ranges)
    assert all(distribute(prepare("SELECT * FROM c"), {}, definition).ranges[0].overlaps(half) for half in halves)
    assert not any(distribute(prepare("SELECT 1"), {}, definition).ranges[0].overlaps(half) for half in halves[1:])
