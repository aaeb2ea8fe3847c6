"""The tree of a query. Nodes are equal when they mean the same: `c.a` and `c["a"]` are one node."""

from dataclasses import dataclass

from tests.naive.values import Value


class Node:
    """An expression."""


@dataclass(frozen=True)
class Literal(Node):
    """A constant, `undefined` included."""

    value: Value


@dataclass(frozen=True)
class Parameter(Node):
    """`@name`."""

    name: str


@dataclass(frozen=True)
class Name(Node):
    """An alias that FROM or JOIN has bound."""

    name: str


@dataclass(frozen=True)
class Member(Node):
    """`of.key`, `of["key"]`, `of[3]`."""

    of: Node
    key: Node


@dataclass(frozen=True)
class Unary(Node):
    """`+ - ~ NOT`."""

    operator: str
    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    """An operator between two operands, `AND`, `OR` and `??` included."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Conditional(Node):
    """`test ? then : other`."""

    test: Node
    then: Node
    other: Node


@dataclass(frozen=True)
class Between(Node):
    """`operand BETWEEN low AND high`."""

    operand: Node
    low: Node
    high: Node


@dataclass(frozen=True)
class Among(Node):
    """`operand IN (options)`."""

    operand: Node
    options: tuple[Node, ...]


@dataclass(frozen=True)
class Like(Node):
    """`operand LIKE pattern ESCAPE escape`."""

    operand: Node
    pattern: Node
    escape: str


@dataclass(frozen=True)
class MakeArray(Node):
    """`[a, b]`."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class MakeObject(Node):
    """`{"a": b}`."""

    pairs: tuple[tuple[str, Node], ...]


@dataclass(frozen=True)
class Call(Node):
    """A built-in function; its name in upper case."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Subquery(Node):
    """A query inside an expression; `form` is "", EXISTS, ARRAY, ALL, FIRST or LAST."""

    form: str
    query: "Query"


@dataclass(frozen=True)
class Source:
    """One input of FROM or JOIN: what it reads, whether it walks over the elements, and its name."""

    of: "Node | Query"
    each: bool
    alias: str | None


@dataclass(frozen=True)
class Select:
    """What a row is made of: `*` when both are None."""

    value: Node | None
    columns: tuple[tuple[str, Node], ...] | None


@dataclass(frozen=True)
class Query:
    """A whole query or subquery."""

    select: Select
    distinct: bool = False
    top: Node | None = None
    sources: tuple[Source, ...] = ()
    where: Node | None = None
    group: tuple[Node, ...] = ()
    order: tuple[tuple[Node, bool], ...] = ()  # the expression, and whether it descends
    offset: Node | None = None
    limit: Node | None = None
