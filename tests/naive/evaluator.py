"""The naive evaluator: a query over a list of items, by walking over everything, every time.

It shares no line with the product, has no index and no cleverness, and follows the published semantics word for word.
Where a wrong answer of the product is looked for, its answer is held against this one (see `compare`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from tests.naive import tree
from tests.naive.checks import check, is_grouped, list_selected
from tests.naive.expressions import evaluate
from tests.naive.parser import parse
from tests.naive.scope import Scope
from tests.naive.values import UNDEFINED, QueryError, Value, give, identity, kind, rank, take

# Whether ORDER BY several paths keeps rows in which one of them is undefined (one path alone drops them).
MANY_PATHS_KEEP_UNDEFINED = True

# The name of a source without a name, which no query can say.
UNNAMED = "*"

Key = tuple[Any, ...]


class Answer(NamedTuple):
    """All answers that are right: `offset` and `limit` cut a window out of the ties, whose inner order is free."""

    ties: list[list[Value]]
    offset: int
    limit: int | None

    @property
    def rows(self) -> list[Value]:
        """One right answer: rows in the order of the items where nothing else is asked for."""
        rows = [row for tie in self.ties for row in tie]
        return rows[self.offset :][: self.limit]


def run(text: str, parameters: Mapping[str, Value], items: list[Value]) -> list[Value]:
    """The rows of a query, or QueryError. Parameters are named with their `@`."""
    return answer(text, parameters, items).rows


def answer(text: str, parameters: Mapping[str, Value], items: list[Value]) -> Answer:
    """What `run` gives, and which rows could change places."""
    query = parse(text)
    check(query, parameters)
    known = {name: take(value) for name, value in parameters.items()}
    scope = Scope([take(item) for item in items], known, answer_subquery)
    offset, limit = count(query.offset, scope) or 0, count(query.limit or query.top, scope)
    ties: list[list[Value]] = []
    last: Key | None = None
    for key, row in find_rows(query, scope):
        if key != last:
            ties.append([])
        ties[-1].append(give(row))
        last = key
    return Answer(ties, offset, limit)


def count(node: tree.Node | None, scope: Scope) -> int | None:
    """The number that TOP, OFFSET or LIMIT says."""
    if node is None:
        return None
    value = evaluate(node, scope)
    if kind(value) != "number" or not value.is_integer() or value < 0:
        raise QueryError("count", f"{value!r} is no count of rows")
    return int(value)


def answer_subquery(query: tree.Query, scope: Scope) -> list[Value]:
    return [row for _, row in find_rows(query, scope)]


def find_rows(query: tree.Query, outer: Scope) -> list[tuple[Key, Value]]:
    """All rows with their sort keys, in order; without ORDER BY all keys are the same."""
    scopes = [outer]
    for source in query.sources:
        scopes = [found for scope in scopes for found in expand(source, scope)]
    if query.where is not None:
        scopes = [scope for scope in scopes if evaluate(query.where, scope) is True]
    if is_grouped(query):
        scopes = form_groups(query, scopes, outer)
    keyed = sort(query.order, scopes)
    rows = [(key, row) for key, scope in keyed if (row := make_row(query, scope)) is not UNDEFINED]
    return remove_repeated(rows) if query.distinct else rows


def expand(source: tree.Source, scope: Scope) -> list[Scope]:
    """The scopes that one source makes of one scope."""
    if isinstance(source.of, tree.Query):
        values = scope.answer(source.of, scope.inner())
    else:
        values = [value for value in follow(source.of, scope) if value is not UNDEFINED]
    if source.each:
        values = [element for value in values if kind(value) == "array" for element in value]
    return [scope.bind(source.alias or UNNAMED, value) for value in values]


def follow(path: tree.Node, scope: Scope) -> list[Value]:
    """The values of a path of FROM: one when it starts at a name, or one for each item of the container."""
    match path:
        case tree.Name(name):
            return [scope.names[name]] if name in scope.names else scope.items
        case tree.Member(of, key):
            return [evaluate(tree.Member(tree.Literal(value), key), scope) for value in follow(of, scope)]
    raise QueryError("syntax", "FROM takes a path")


def form_groups(query: tree.Query, scopes: list[Scope], outer: Scope) -> list[Scope]:
    """One scope for each group; without GROUP BY everything is one group, even nothing."""
    if not query.group:
        return [replace(outer, members=tuple(scopes))]
    groups: dict[Key, list[Scope]] = {}
    for scope in scopes:
        key = tuple(identity(evaluate(node, scope)) for node in query.group)
        groups.setdefault(key, []).append(scope)
    return [replace(members[0], members=tuple(members)) for members in groups.values()]


def sort(order: tuple[tuple[tree.Node, bool], ...], scopes: list[Scope]) -> list[tuple[Key, Scope]]:
    keyed: list[tuple[Key, Scope]] = [
        (tuple(rank(evaluate(node, scope)) for node, _ in order), scope) for scope in scopes
    ]
    if len(order) == 1 or not MANY_PATHS_KEEP_UNDEFINED:
        keyed = [(key, scope) for key, scope in keyed if rank(UNDEFINED) not in key]
    for place in reversed(range(len(order))):
        keyed.sort(key=lambda pair: pair[0][place], reverse=order[place][1])
    return keyed


def make_row(query: tree.Query, scope: Scope) -> Value:
    if query.select.value is not None:
        return evaluate(query.select.value, scope)
    if query.select.columns is None:
        return scope.names[query.sources[0].alias or UNNAMED]
    nodes = zip(query.select.columns, list_selected(query.select), strict=True)
    values = [(name, evaluate(node, scope)) for (name, _), node in nodes]
    return {name: value for name, value in values if value is not UNDEFINED}


def remove_repeated(rows: list[tuple[Key, Value]]) -> list[tuple[Key, Value]]:
    """The first of equal rows stays."""
    seen: dict[Key, tuple[Key, Value]] = {}
    for key, row in rows:
        seen.setdefault(identity(row), (key, row))
    return list(seen.values())
