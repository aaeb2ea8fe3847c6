"""What makes a query wrong before any item is seen: names, functions, clauses in the wrong place."""

from collections.abc import Iterable

from tests.naive import tree
from tests.naive.functions import FUNCTIONS
from tests.naive.tree import Node
from tests.naive.values import QueryError

AGGREGATES = ("AVG", "COUNT", "MAX", "MIN", "SUM", "COUNTIF", "MAKELIST", "MAKESET")


def check(query: tree.Query, parameters: Iterable[str]) -> None:
    """Raise QueryError when the query is wrong."""
    Checker(frozenset(parameters)).check_query(query, frozenset(), outermost=True)


class Checker:
    """Walks over a query with the names that are known at each place."""

    def __init__(self, parameters: frozenset[str]) -> None:
        self.parameters = parameters

    def check_query(self, query: tree.Query, names: frozenset[str], *, outermost: bool = False) -> None:
        if not outermost and (query.top or query.order or query.offset):
            raise QueryError("misplaced", "a subquery has no TOP, ORDER BY or OFFSET")
        for count in (query.top, query.offset, query.limit):
            if count:
                self.check(count, frozenset())
        if query.top and query.offset:
            raise QueryError("misplaced", "TOP and OFFSET exclude each other")
        for place, source in enumerate(query.sources):
            names = self.check_source(source, names, first=place == 0)
        if query.where:
            self.check(query.where, names)
        for node in query.group:
            self.check(node, names)
        self.check_select(query, names)
        self.check_order(query, names)

    def check_source(self, source: tree.Source, names: frozenset[str], *, first: bool) -> frozenset[str]:
        if isinstance(source.of, tree.Query):
            self.check_query(source.of, names)
        else:
            # Where nothing has a name yet, the first word names the container, whatever it is.
            self.check(source.of, names | {root_of(source.of)} if first and not names else names)
        if source.alias is None:
            return names
        return names | {source.alias}

    def check_select(self, query: tree.Query, names: frozenset[str]) -> None:
        nodes = list_selected(query.select)
        if not nodes and (len(query.sources) != 1 or query.group):
            raise QueryError("star", "SELECT * needs one source")
        aliases = [alias for alias, _ in query.select.columns or ()]
        if len(set(aliases)) < len(aliases):
            raise QueryError("duplicate", "two columns have one name")
        for node in nodes:
            self.check(node, names, aggregates=True)
            if is_grouped(query):
                check_grouped(node, query.group, frozenset())

    def check_order(self, query: tree.Query, names: frozenset[str]) -> None:
        if query.order and is_grouped(query):
            raise QueryError("misplaced", "GROUP BY and aggregates exclude ORDER BY")
        for node, _ in query.order:
            self.check(node, names)
            if not is_path(node):
                raise QueryError("order", "ORDER BY takes paths")

    def check(self, node: Node, names: frozenset[str], *, aggregates: bool = False) -> None:
        match node:
            case tree.Name(name) if name not in names:
                raise QueryError("unresolved", name)
            case tree.Parameter(name) if name not in self.parameters:
                raise QueryError("unresolved", name)
            case tree.Subquery(_, query):
                self.check_query(query, names)
                return
            case tree.Call(name, arguments) if name in AGGREGATES:
                if not aggregates:
                    raise QueryError("misplaced", f"{name} stands in no SELECT")
                if len(arguments) != 1:
                    raise QueryError("SC2050", name)
                aggregates = False
            case tree.Call(name, arguments):
                check_call(name, len(arguments))
        for child in list_children(node):
            self.check(child, names, aggregates=aggregates)


def check_call(name: str, count: int) -> None:
    function = FUNCTIONS.get(name)
    if function is None:
        raise QueryError("function", name)
    if not function.low <= count <= function.high:
        raise QueryError("SC2050", name)


def check_grouped(node: Node, group: tuple[Node, ...], bound: frozenset[str]) -> None:
    """Outside of aggregates, a grouped query sees only what it groups by, and names that a subquery binds itself."""
    match node:
        case _ if node in group:
            return
        case tree.Call(name, _) if name in AGGREGATES:
            return
        case tree.Name(name) if name not in bound:
            raise QueryError("ungrouped", name)
        case tree.Subquery(_, query):
            check_grouped_query(query, group, bound)
            return
    for child in list_children(node):
        check_grouped(child, group, bound)


def check_grouped_query(query: tree.Query, group: tuple[Node, ...], bound: frozenset[str]) -> None:
    for source in query.sources:
        if isinstance(source.of, tree.Query):
            check_grouped_query(source.of, group, bound)
        else:
            check_grouped(source.of, group, bound)
        bound |= {source.alias} if source.alias else set()
    for node in (*list_selected(query.select), *query.group, *([query.where] if query.where else [])):
        # The aggregates of a subquery are its own: their arguments are looked into.
        for inner in node.arguments if isinstance(node, tree.Call) and node.name in AGGREGATES else (node,):
            check_grouped(inner, group, bound)


def is_grouped(query: tree.Query) -> bool:
    """Whether rows are made of groups."""
    return bool(query.group) or any(has_aggregate(node) for node in list_selected(query.select))


def has_aggregate(node: Node) -> bool:
    """Whether an aggregate of this query, not of a subquery, stands in the expression."""
    if isinstance(node, tree.Subquery):
        return False
    if isinstance(node, tree.Call) and node.name in AGGREGATES:
        return True
    return any(has_aggregate(child) for child in list_children(node))


def list_selected(select: tree.Select) -> list[Node]:
    if select.value is not None:
        return [select.value]
    return [node for _, node in select.columns or ()]


def list_children(node: Node) -> list[Node]:
    """The expressions right below this one."""
    if isinstance(node, tree.MakeObject):
        return [child for _, child in node.pairs]
    listed = [child for value in vars(node).values() for child in (value if isinstance(value, tuple) else (value,))]
    return [child for child in listed if isinstance(child, Node)]


def is_path(node: Node) -> bool:
    """`alias.a["b"][0]`, with at least one step."""
    if not isinstance(node, tree.Member):
        return False
    return isinstance(node.key, tree.Literal) and (isinstance(node.of, tree.Name) or is_path(node.of))


def root_of(node: Node) -> str:
    """The alias at the start of a path of FROM."""
    while isinstance(node, tree.Member):
        node = node.of
    return node.name if isinstance(node, tree.Name) else ""
