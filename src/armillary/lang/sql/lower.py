"""Trees to plans: sources become scans, aggregates become groups, and what cannot mean anything is refused.

    FROM c.items i JOIN t IN i.tags         Unnest t IN i.tags
                                              Bind i = c.items
                                                Scan c

In the query itself the first name after FROM is the container, whatever it is called; in an inner query every name must
be one that the outer queries have bound. A query with aggregates sees only the keys of its groups, so an expression
that is written like a key is that key, and a name that is left over is refused.

The law: a plan has the meaning of the text, and nothing is refused later that could be refused here. Leaves out: which
index serves it (`query.rules` and the source), and what the counts of TOP, OFFSET and LIMIT are (`counts`).
"""

from dataclasses import replace
from typing import Final

from armillary.lang.sql.errors import (
    MISPLACED,
    NOT_A_PATH,
    OFFSET_IN_SUBQUERY,
    ORDER_IN_SUBQUERY,
    RANK_OF_EACH,
    RANK_OF_JOIN,
    RANK_OF_SUBQUERY,
    STAR_OF_GROUPS,
    STAR_OF_MANY,
    TOO_LARGE,
    TOP_IN_SUBQUERY,
    UNRESOLVED,
)
from armillary.lang.sql.naming import name_columns, name_of
from armillary.lang.sql.resolve import (
    Findings,
    Scope,
    find_aggregates,
    lower_aggregate,
    lower_expression,
    note_unbuilt,
)
from armillary.lang.sql.syntax import (
    Call,
    Count,
    Expression,
    Index,
    Literal,
    Member,
    Name,
    ObjectOf,
    Parameter,
    Query,
    Source,
)
from armillary.lang.sql.text import key_of
from armillary.query import scalars
from armillary.query.functions import UNSUPPORTED
from armillary.query.plan import (
    ZERO,
    AggregateCall,
    Bind,
    Derive,
    Distinct,
    Filter,
    Group,
    Plan,
    Project,
    Scan,
    Single,
    Slice,
    Sort,
    SortKey,
    Unnest,
)
from armillary.query.scalars import FIRST, Form, Nested, Scalar, Variable

MOST_JOINS: Final = 10
_NO_PATH: Final = "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path."
_CORRELATED: Final = "Order-by over correlated collections is not supported."
_NOT_INSIDE: Final = (
    ("ORDER", ORDER_IN_SUBQUERY, "'ORDER BY' is not supported in subqueries."),
    ("TOP", TOP_IN_SUBQUERY, "'TOP' is not supported in subqueries."),
    ("OFFSET", OFFSET_IN_SUBQUERY, "'OFFSET LIMIT' is not supported in subqueries."),
)


def lower_query(query: Query) -> Plan:
    """The plan of a query; refused with every problem that was found."""
    findings = Findings()
    plan = _lower(query, Scope({}, FIRST, _lower_inner, findings), container=True)
    findings.refuse()
    return plan


def _lower_inner(query: Query, scope: Scope) -> Plan:
    """The plan of a query inside an expression: its rows begin with the outer row, and it may not cut or order them."""
    return _lower(_refuse_cuts(query, scope), scope, container=False)


def _lower(query: Query, outer: Scope, *, container: bool) -> Plan:
    rows, value, scope = _lower_rows(query, outer, container=container)
    plan: Plan = Project(rows, value)
    if query.distinct:
        plan = Distinct(plan)
    if query.top and query.offset:
        scope.complain(MISPLACED, query.span_of("OFFSET"), "'TOP' and 'OFFSET LIMIT' cannot be used together.")
    if query.top:
        plan = Slice(plan, ZERO, _lower_count(query.top))
    if query.offset and query.limit:
        plan = Slice(plan, _lower_count(query.offset), _lower_count(query.limit))
    return plan


def _lower_rows(query: Query, outer: Scope, *, container: bool) -> tuple[Plan, Scalar, Scope]:
    """The rows of a query, what SELECT makes of one, and the scope in which it does."""
    outer = replace(outer, known=None, grouped=frozenset())
    plan, scope = _lower_sources(query, outer, container)
    if query.where is not None:
        plan = Filter(plan, lower_expression(query.where, scope))
    if query.order:
        plan = _lower_order(query, plan, scope)
    selected = _selected_of(query)
    calls = [] if selected is None else find_aggregates(selected)
    if query.group or calls:
        plan, scope = _lower_group(query, calls, plan, scope, outer)
    value = _lower_star(query, scope) if selected is None else lower_expression(selected, scope)
    return plan, value, scope


def _lower_count(count: Count) -> Scalar:
    return scalars.Parameter(count.name) if isinstance(count, Parameter) else scalars.Constant(count.value)


# sources


def _lower_sources(query: Query, outer: Scope, container: bool) -> tuple[Plan, Scope]:
    plan: Plan = Single()
    scope = outer
    if len(query.sources) > MOST_JOINS + 1:
        message = f"The query has {len(query.sources) - 1} JOINs; the limit is {MOST_JOINS}."
        scope.complain(TOO_LARGE, query.sources[-1].span, message)
    bound: set[str] = set()
    for place, source in enumerate(query.sources):
        plan, scope = _lower_source(source, plan, scope, container=container and not place)
        alias = _alias_of(source)
        if alias in bound:
            message = f"The input alias '{alias}' is specified more than once in the FROM clause."
            scope.complain(UNRESOLVED, source.span, message)
        if alias is not None:
            bound.add(alias)
    return plan, scope


def _lower_source(source: Source, plan: Plan, scope: Scope, *, container: bool) -> tuple[Plan, Scope]:
    alias = _alias_of(source)
    label = alias or "$value"
    if isinstance(source.of, Query):
        plan, scope = _lower_subquery(source.of, plan, scope, label, container=container)
        value: Scalar = Variable(scope.width - 1, label)
        if not source.each:
            return plan, replace(scope, names=_named(scope, alias, scope.width - 1))
    elif container:
        root = _root_of(source.of)
        plan = Scan(root, scope.width)
        if isinstance(source.of, Name) and not source.each:
            return plan, scope.bind(alias)
        value = lower_expression(source.of, scope.bind(root))
        scope = scope.bind(None)
    else:
        value = lower_expression(source.of, scope)
    plan = Unnest(plan, value, label, scope.width) if source.each else Bind(plan, value, label, scope.width)
    return plan, scope.bind(alias)


def _lower_subquery(query: Query, plan: Plan, scope: Scope, label: str, *, container: bool) -> tuple[Plan, Scope]:
    """A query after FROM or JOIN, whose values get the last slot of the scope."""
    query = _refuse_cuts(query, scope)
    if not container:
        value = Nested(Form.ARRAY, _lower(query, scope, container=False))
        return Unnest(plan, value, label, scope.width), scope.bind(None)
    if query.distinct or query.group or _has_aggregates(query):
        return Derive(_lower(query, scope, container=True), label), scope.bind(None)
    rows, selected, inner = _lower_rows(query, scope, container=True)
    return Bind(rows, selected, label, inner.width), replace(scope, width=inner.width + 1)


def _has_aggregates(query: Query) -> bool:
    selected = _selected_of(query)
    return selected is not None and bool(find_aggregates(selected))


def _named(scope: Scope, alias: str | None, slot: int) -> dict[str, int]:
    return dict(scope.names) if alias is None else {**scope.names, alias: slot}


def _refuse_cuts(query: Query, scope: Scope) -> Query:
    """The query without what only the outermost one may have."""
    for clause, code, message in _NOT_INSIDE:
        if any(name == clause for name, _ in query.spans):
            scope.complain(code, query.span_of(clause), message)
    return replace(query, top=None, order=(), offset=None, limit=None)


def _root_of(path: Expression) -> str:
    while isinstance(path, Member | Index):
        path = path.of
    return path.name if isinstance(path, Name) else "root"


# ORDER BY


def _lower_order(query: Query, plan: Plan, scope: Scope) -> Plan:
    if query.rank:
        _refuse_rank(query, scope)
        return plan
    if query.group:
        message = "'ORDER BY' and 'GROUP BY' cannot be used together."
        scope.complain(MISPLACED, query.span_of("ORDER"), message)
        return plan
    keys = []
    for key in query.order:
        if not is_path(key.of):
            if not (isinstance(key.of, Call) and key.of.name in UNSUPPORTED):
                scope.complain(NOT_A_PATH, key.span, _NO_PATH)
        elif query.sources and not _is_ordered_by(query.sources[0], _root_of(key.of)):
            scope.complain(NOT_A_PATH, key.span, _CORRELATED)
        keys.append(SortKey(lower_expression(key.of, scope), key.descending))
    return Sort(plan, tuple(keys), omit=len(keys) == 1)


def _refuse_rank(query: Query, scope: Scope) -> None:
    """Ranking is not built; what could never rank is refused first."""
    first, *joined = query.sources or (None,)
    if first is not None and first.each:
        scope.complain(RANK_OF_EACH, first.span, "'FROM ... IN' is not supported with 'ORDER BY RANK'.")
    if first is not None and isinstance(first.of, Query):
        scope.complain(RANK_OF_SUBQUERY, first.span, "A subquery after FROM is not supported with 'ORDER BY RANK'.")
    if joined:
        scope.complain(RANK_OF_JOIN, query.span_of("ORDER"), "'JOIN' is not supported with 'ORDER BY RANK'.")
    for key in query.order:
        if isinstance(key.of, Call) and key.of.name in UNSUPPORTED:
            note_unbuilt(key.of, scope)
        else:
            scope.complain(NOT_A_PATH, key.span, "'ORDER BY RANK' takes scoring functions only.")


def is_path(expression: Expression) -> bool:
    """Whether an expression is a property of a source: `c.a`, `c["a"].b`, but not `c` alone."""
    if not isinstance(expression, Member | Index):
        return False
    found: Expression = expression
    while isinstance(found, Member | Index):
        if isinstance(found, Index) and not (isinstance(found.at, Literal) and isinstance(found.at.value, str)):
            return False
        found = found.of
    return isinstance(found, Name)


def _is_ordered_by(first: Source, root: str) -> bool:
    """Whether a path belongs to the items themselves, and not to what is inside one of them."""
    if isinstance(first.of, Query) or first.each:
        return False
    return root == _alias_of(first)


# SELECT and GROUP BY


def _selected_of(query: Query) -> Expression | None:
    """What SELECT makes of a row, as one expression; None for `*`."""
    if query.value is not None:
        return query.value
    if query.star:
        return None
    names = name_columns(query.columns)
    return ObjectOf(tuple(zip(names, (column.of for column in query.columns), strict=True)))


def _lower_star(query: Query, scope: Scope) -> Scalar:
    if query.group:
        return scope.complain(STAR_OF_GROUPS, query.span_of("SELECT"), "'SELECT *' is not allowed with GROUP BY.")
    if len(query.sources) != 1:
        message = "'SELECT *' is only valid with a single input set."
        return scope.complain(STAR_OF_MANY, query.span_of("SELECT"), message)
    (source,) = query.sources
    return Variable(scope.width - 1, _alias_of(source) or "$value")


def _lower_group(query: Query, calls: list[Call], plan: Plan, scope: Scope, outer: Scope) -> tuple[Plan, Scope]:
    """The group and the scope of its rows: the row from outside, then keys, then aggregates."""
    keys = {key_of(key): key for key in query.group}
    for key in query.group:
        if find_aggregates(key):
            scope.complain(MISPLACED, query.span_of("SELECT"), "GROUP BY cannot hold an aggregate function.")
    aggregates = {key_of(call): call for call in calls}
    lowered = tuple(lower_expression(key, scope) for key in keys.values() if not find_aggregates(key))
    folded = tuple(AggregateCall(call.name, lower_aggregate(call, scope)) for call in aggregates.values())
    known = {text: outer.width + place for place, text in enumerate((*keys, *aggregates))}
    names = dict(outer.names)
    for text, key in keys.items():
        if isinstance(key, Name):
            names[key.name] = known[text]
    hidden = frozenset(filter(None, map(_alias_of, query.sources))) - keys.keys()
    grouped = Scope(names, outer.width + len(known), scope.inner, scope.findings, known, hidden)
    return Group(plan, lowered, folded), grouped


def _alias_of(source: Source) -> str | None:
    """The name that a source binds, if any."""
    return source.alias or (None if isinstance(source.of, Query) else name_of(source.of))
