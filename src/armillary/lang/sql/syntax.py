"""The tree of a query text: frozen data, nothing resolved yet.

Two trees are equal when they are the same query: places are not compared. Where a text says the same in two ways, the
tree keeps one: `AND` and `OR` hold all their operands, `<>` is `!=`, a minus before a number belongs to it. Built-in
functions have upper-case names and remember how they were written; `c.a` and `c["a"]` stay what they were, since
rewritten texts show both.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from armillary.values import Undefined

Span: TypeAlias = tuple[int, int]
NOWHERE: Final[Span] = (0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant: a number, a text, true, false, null or undefined; 1 and true are two, where Python has one."""

    value: str | int | float | bool | Undefined | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class Parameter:
    """`@name`."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier: what it means is found when the query is lowered."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Member:
    """`of.name`."""

    of: "Expression"
    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Index:
    """`of[at]`."""

    of: "Expression"
    at: "Expression"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """`op of`, with `-`, `+`, `~` or `NOT`."""

    op: str
    of: "Expression"


@dataclass(frozen=True, slots=True)
class Binary:
    """`left op right`."""

    op: str
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Logical:
    """`AND` or `OR` of two operands or more."""

    op: str
    operands: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`test ? yes : no`."""

    test: "Expression"
    yes: "Expression"
    no: "Expression"


@dataclass(frozen=True, slots=True)
class In:
    """`value [NOT] IN (items)`."""

    value: "Expression"
    items: tuple["Expression", ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Between:
    """`value [NOT] BETWEEN low AND high`."""

    value: "Expression"
    low: "Expression"
    high: "Expression"
    negated: bool


@dataclass(frozen=True, slots=True)
class Like:
    """`value [NOT] LIKE pattern [ESCAPE 'c']`."""

    value: "Expression"
    pattern: "Expression"
    escape: str | None
    negated: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a built-in function, or of a user's own, `udf.name(...)`."""

    name: str
    arguments: tuple["Expression", ...]
    udf: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    written: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """`[items]`."""

    items: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """`{"name": value, ...}`."""

    members: tuple[tuple[str, "Expression"], ...]


class Form(Enum):
    """What an expression makes of a query's rows."""

    SCALAR = ""
    EXISTS = "EXISTS"
    ARRAY = "ARRAY"
    ALL = "ALL"
    FIRST = "FIRST"
    LAST = "LAST"


@dataclass(frozen=True, slots=True)
class Subquery:
    """A query inside an expression."""

    form: Form
    query: "Query"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """`{documentdb-...}`: clients put a condition in its place; where none did, it is true."""

    text: str


Expression: TypeAlias = (
    Literal
    | Parameter
    | Name
    | Member
    | Index
    | Unary
    | Binary
    | Logical
    | Conditional
    | In
    | Between
    | Like
    | Call
    | ArrayOf
    | ObjectOf
    | Subquery
    | Placeholder
)
Count: TypeAlias = Literal | Parameter


@dataclass(frozen=True, slots=True)
class Source:
    """One source of rows: `of [AS alias]`, or `alias IN of`."""

    of: "Expression | Query"
    alias: str | None
    each: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Column:
    """One item of a SELECT list."""

    of: Expression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """One item of ORDER BY; `direction` is as written: "", "ASC" or "DESC"."""

    of: Expression
    direction: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def descending(self) -> bool:
        return self.direction == "DESC"


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query; `value` for SELECT VALUE, `columns` for a list, neither for `*`."""

    value: Expression | None = None
    columns: tuple[Column, ...] = ()
    distinct: bool = False
    top: Count | None = None
    sources: tuple[Source, ...] = ()
    where: Expression | None = None
    group: tuple[Expression, ...] = ()
    order: tuple[Key, ...] = ()
    rank: bool = False
    offset: Count | None = None
    limit: Count | None = None
    spans: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)

    @property
    def star(self) -> bool:
        return self.value is None and not self.columns

    def span_of(self, clause: str) -> Span:
        """Where a clause stands: `SELECT` (the selection), `TOP`, `ORDER`, `OFFSET` or `LIMIT`."""
        return dict(self.spans).get(clause, NOWHERE)


def children_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside one; queries inside are not entered."""
    match expression:
        case Member(of) | Unary(_, of):
            return (of,)
        case Index(left, right) | Binary(_, left, right):
            return (left, right)
        case Logical(_, parts) | Call(_, parts) | ArrayOf(parts):
            return parts
        case Conditional(test, yes, no):
            return (test, yes, no)
        case In(value, items, _):
            return (value, *items)
        case Between(value, low, high, _):
            return (value, low, high)
        case Like(value, pattern, _, _):
            return (value, pattern)
        case ObjectOf(members):
            return tuple(value for _, value in members)
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """An expression and all inside it, from the outside in; queries inside are not entered."""
    waiting = [expression]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed(children_of(found))
