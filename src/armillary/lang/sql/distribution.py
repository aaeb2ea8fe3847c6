"""Queries over several partitions: what clients send to each partition, and how they merge the answers.

    distribution = distribute(statement, parameters, definition)
    distribution.is_direct          a gateway may serve it as it is: no order, no cut, no aggregate
    distribution.is_pinned          one logical partition holds everything it can find
    distribution.features           what a client must know to execute the plan
    distribution.to_json()          the plan, as clients read it
    distribution.ranges             where anything can be found

    SELECT VALUE AVG(c.a) FROM c    SELECT VALUE [{"item": {"sum": SUM(c.a), "count": COUNT(c.a)}}]
                                    FROM c

The rewritten texts are those of the service: clients take them apart. A query that one value of the partition key pins
is passed on as it is, but for what its parts alone cannot answer (aggregates, DISTINCT, GROUP BY); TOP stays the
client's in any case.

The law: the parts of the answers, merged as the plan says, are the answer of the query.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from armillary.errors import Kind, Refusal
from armillary.keys import KeyDefinition
from armillary.lang.sql.counts import WHOLE, Counts, read_counts
from armillary.lang.sql.errors import refuse_plan
from armillary.lang.sql.naming import name_columns
from armillary.lang.sql.ranges import QueryRange, find_ranges
from armillary.lang.sql.resolve import find_aggregates, is_aggregate
from armillary.lang.sql.rewrite import AGGREGATE_NAMES, Rewriter
from armillary.lang.sql.statements import Statement
from armillary.lang.sql.syntax import Expression, Literal, Query
from armillary.lang.sql.text import key_of, write_expression, write_query

VERSION: Final = 2
FEATURES: Final = (
    "Aggregate",
    "CompositeAggregate",
    "CountIf",
    "Distinct",
    "GroupBy",
    "ListAndSetAggregate",
    "MultipleAggregates",
    "MultipleOrderBy",
    "NonValueAggregate",
    "OffsetAndLimit",
    "OrderBy",
    "Top",
)
_COMPOSED: Final = "Compositions of aggregates and other expressions are not allowed."


@dataclass(frozen=True, slots=True)
class Distribution:
    """How one query is executed over several partitions."""

    ranges: tuple[QueryRange, ...]
    rewritten: str = ""
    features: tuple[str, ...] = ()
    distinct: str = "None"
    counts: Counts = WHOLE
    order: tuple[tuple[str, bool], ...] = ()
    group: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    aliases: Mapping[str, str | None] = field(default_factory=dict)
    has_value: bool = False

    @property
    def is_direct(self) -> bool:
        """Whether a gateway serves the query itself, whatever the number of partitions: as one run over all of them."""
        return not self.features

    @property
    def is_pinned(self) -> bool:
        """Whether one value of the partition key holds everything: then it is as good as a key in the header."""
        return len(self.ranges) == 1 and self.ranges[0].is_point

    def check_client(self, supported: Collection[str]) -> None:
        """Refuse a client that could not execute the plan."""
        missing = [feature for feature in self.features if feature not in supported]
        if missing:
            reason = "Query contains the following features, which the calling client does not support: "
            raise Refusal(Kind.BAD_REQUEST, reason=reason + ", ".join(missing))

    def to_json(self) -> dict[str, Any]:
        """The plan: partitionedQueryExecutionInfo."""
        return {
            "partitionedQueryExecutionInfoVersion": VERSION,
            "queryInfo": self._describe(),
            "queryRanges": [found.to_json() for found in self.ranges],
        }

    def _describe(self) -> dict[str, Any]:
        return {
            "distinctType": self.distinct,
            "top": self.counts.top,
            "offset": self.counts.offset,
            "limit": self.counts.limit,
            "orderBy": ["Descending" if descending else "Ascending" for _, descending in self.order],
            "orderByExpressions": [text for text, _ in self.order],
            "groupByExpressions": list(self.group),
            "groupByAliases": list(self.aliases),
            "aggregates": list(self.aggregates),
            "groupByAliasToAggregateType": dict(self.aliases),
            "rewrittenQuery": self.rewritten,
            "hasSelectValue": self.has_value,
            "hasNonStreamingOrderBy": False,
            "dCountInfo": None,
        }


def read_features(header: str) -> frozenset[str]:
    """The features that a client says it supports."""
    return frozenset(filter(None, (part.strip() for part in header.split(","))))


def distribute(statement: Statement, parameters: Mapping[str, object], definition: KeyDefinition) -> Distribution:
    """The distribution of a query; refused where it has none."""
    query = statement.query
    counts = read_counts(query, parameters)
    ranges = tuple(find_ranges(statement.plan, parameters, definition))
    start = Distribution(ranges, features=_find_features(query), counts=counts, has_value=query.value is not None)
    if query.group:
        return _distribute_groups(query, start)
    if _aggregates_in(query):
        return _distribute_aggregates(query, start)
    if query.order and not (start.is_pinned and not query.distinct):
        return _distribute_order(query, start)
    if query.distinct:
        return _distribute_distinct(query, start)
    if query.offset:
        return _distribute_cut(query, start)
    return start


def _aggregates_in(query: Query) -> bool:
    return any(find_aggregates(expression) for expression in _selected(query))


def _selected(query: Query) -> list[Expression]:
    return [query.value] if query.value is not None else [column.of for column in query.columns]


def _find_features(query: Query) -> tuple[str, ...]:
    calls = [call.name for expression in _selected(query) for call in find_aggregates(expression)]
    found = {
        "Aggregate": bool(calls),
        "CompositeAggregate": "AVG" in calls,
        "CountIf": "COUNTIF" in calls,
        "Distinct": query.distinct,
        "GroupBy": bool(query.group),
        "ListAndSetAggregate": not {"MAKELIST", "MAKESET"}.isdisjoint(calls),
        "MultipleAggregates": len(calls) > 1,
        "MultipleOrderBy": len(query.order) > 1,
        "NonValueAggregate": bool(calls) and query.value is None and not query.group,
        "OffsetAndLimit": query.offset is not None,
        "OrderBy": bool(query.order),
        "Top": query.top is not None,
    }
    return tuple(name for name in FEATURES if found[name])


# aggregates and groups


def _distribute_aggregates(query: Query, start: Distribution) -> Distribution:
    _refuse_compositions(query)
    bare = replace(query, distinct=False, top=None, order=(), offset=None, limit=None)
    distinct = "Unordered" if query.distinct else "None"
    if query.value is not None:
        rewritten = Rewriter(bare).value_aggregate()
        return replace(start, rewritten=write_query(rewritten), distinct=distinct, aggregates=_operators(query))
    rewritten = Rewriter(bare).list_aggregates()
    return replace(start, rewritten=write_query(rewritten), distinct=distinct, aliases=_aliases(query))


def _distribute_groups(query: Query, start: Distribution) -> Distribution:
    _refuse_compositions(query)
    bare = replace(query, distinct=False, top=None, order=(), offset=None, limit=None)
    return replace(
        start,
        rewritten=write_query(Rewriter(bare).groups()),
        distinct="Unordered" if query.distinct else "None",
        group=tuple(map(write_expression, query.group)),
        aggregates=_operators(query) if query.value is not None else (),
        aliases={} if query.value is not None else _aliases(query),
    )


def _refuse_compositions(query: Query) -> None:
    for expression in _selected(query):
        if find_aggregates(expression) and not is_aggregate(expression):
            raise refuse_plan(_COMPOSED)


def _operators(query: Query) -> tuple[str, ...]:
    return tuple(AGGREGATE_NAMES[call.name] for call in _selected(query) if is_aggregate(call))


def _aliases(query: Query) -> dict[str, str | None]:
    names = name_columns(query.columns)
    operators = [AGGREGATE_NAMES[found.name] if is_aggregate(found) else None for found in _selected(query)]
    return dict(zip(names, operators, strict=True))


# order, DISTINCT and cuts


def _distribute_order(query: Query, start: Distribution) -> Distribution:
    is_same = query.value is not None and len(query.order) == 1 and key_of(query.value) == key_of(query.order[0].of)
    bare = replace(query, distinct=False)
    bare = replace(bare, top=None, offset=None, limit=None) if query.distinct else _widen(bare, start.counts)
    return replace(
        start,
        rewritten=write_query(Rewriter(bare).order()),
        distinct="None" if not query.distinct else "Ordered" if is_same else "Unordered",
        order=tuple((write_expression(key.of), key.descending) for key in query.order),
    )


def _distribute_distinct(query: Query, start: Distribution) -> Distribution:
    is_cut = query.top is not None or query.offset is not None
    bare = replace(query, top=None, offset=None, limit=None)
    return replace(start, rewritten=write_query(bare) if is_cut else "", distinct="Unordered")


def _distribute_cut(query: Query, start: Distribution) -> Distribution:
    if start.is_pinned:
        return replace(start, counts=Counts(start.counts.top, None, None))
    return replace(start, rewritten=write_query(_widen(query, start.counts)))


def _widen(query: Query, counts: Counts) -> Query:
    """The query with its counts as numbers: each partition gives what could be skipped, too."""
    top, offset, limit = counts
    return replace(
        query,
        top=None if top is None else Literal(top),
        offset=None if offset is None else Literal(0),
        limit=None if offset is None or limit is None else Literal(offset + limit),
    )
