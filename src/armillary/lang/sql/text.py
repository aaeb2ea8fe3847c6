"""Trees to text, in the form that rewritten queries have: clauses on lines of their own, operators in parentheses.

    select c.a+1 from Root c where not c.b='x'     ->     SELECT (c.a + 1)
                                                          FROM Root AS c
                                                          WHERE ((NOT c.b) = "x")

The laws: the text of a tree is read as the same tree again. `key_of` writes equal trees as equal texts whatever the
spelling of functions and properties, so that an expression can be told from another.
"""

from functools import reduce

from armillary.json import dump
from armillary.lang.sql.syntax import (
    ArrayOf,
    Between,
    Binary,
    Call,
    Column,
    Conditional,
    Expression,
    In,
    Index,
    Key,
    Like,
    Literal,
    Logical,
    Member,
    Name,
    ObjectOf,
    Parameter,
    Placeholder,
    Query,
    Source,
    Subquery,
    Unary,
)
from armillary.values import UNDEFINED, Undefined

_LINE = "\n"
_INDENT = "\n    "
_MOST_NESTED = 32  # operands of AND and OR are nested as the service nests them, but not as deep as a text may be


def write_query(query: Query) -> str:
    """The text of a query."""
    return _AS_WRITTEN.query(query)


def write_expression(expression: Expression) -> str:
    """The text of an expression."""
    return _AS_WRITTEN.expression(expression)


def key_of(expression: Expression) -> str:
    """What two expressions have in common that say the same: `UPPER(c.a)` and `upper(c["a"])`."""
    return _AS_KEY.expression(expression)


def write_literal(value: str | int | float | bool | Undefined | None) -> str:
    """A constant as the language writes it: texts in double quotes."""
    return "undefined" if value is UNDEFINED else dump(value).decode()


class _Writer:
    """One way to spell names of functions and properties."""

    __slots__ = ("_plain",)

    def __init__(self, *, plain: bool) -> None:
        self._plain = plain

    def query(self, query: Query) -> str:
        clauses = [f"SELECT {self._head(query)}{self._selection(query)}"]
        if query.sources:
            clauses.append("FROM " + "\nJOIN ".join(map(self._source, query.sources)))
        if query.where is not None:
            clauses.append(f"WHERE {self.expression(query.where)}")
        if query.group:
            clauses.append(f"GROUP BY {self._list(query.group)}")
        if query.order:
            clauses.append(f"ORDER BY {'RANK ' if query.rank else ''}{', '.join(map(self._key, query.order))}")
        if query.offset and query.limit:
            clauses.append(f"OFFSET {self.expression(query.offset)} LIMIT {self.expression(query.limit)}")
        return "\n".join(clauses)

    def _head(self, query: Query) -> str:
        top = f"TOP {self.expression(query.top)} " if query.top else ""
        return ("DISTINCT " if query.distinct else "") + top

    def _selection(self, query: Query) -> str:
        if query.value is not None:
            return f"VALUE {self.expression(query.value)}"
        return ", ".join(map(self._column, query.columns)) or "*"

    def _column(self, column: Column) -> str:
        return self.expression(column.of) + (f" AS {column.alias}" if column.alias else "")

    def _source(self, source: Source) -> str:
        if isinstance(source.of, Query):
            of = f"{_INDENT}({self.query(source.of).replace(_LINE, _INDENT)}){_LINE}"
        else:
            of = self.expression(source.of)
        if source.each:
            return f"{source.alias} IN {of.strip()}"
        return f"{of} AS {source.alias}" if source.alias else of

    def _key(self, key: Key) -> str:
        return self.expression(key.of) + (f" {key.direction}" if key.direction else "")

    def expression(self, expression: Expression) -> str:
        write = self.expression
        match expression:
            case Literal(value):
                return write_literal(value)
            case Name(name) | Parameter(name):
                return name
            case Placeholder(text):
                return f"({text})"
            case Index(of, Literal(str(name))) if self._plain:
                return write(Member(of, name))
            case Member(of, name):
                return f"{write(of)}.{name}"
            case Index(of, at):
                return f"{write(of)}[{write(at)}]"
            case Unary(op, of):
                return f"({op} {write(of)})"
            case Binary(op, left, right):
                return f"({write(left)} {op} {write(right)})"
            case Logical(op, operands):
                if len(operands) > _MOST_NESTED:
                    return f"({f' {op} '.join(map(write, operands))})"
                return reduce(lambda left, right: f"({left} {op} {right})", map(write, operands))
            case Call(name, arguments, udf):
                called = name if self._plain else expression.written or name
                return f"{'udf.' if udf else ''}{called}({self._list(arguments)})"
            case ArrayOf(items):
                return f"[{self._list(items)}]"
            case ObjectOf(members):
                return "{" + ", ".join(f"{write_literal(name)}: {write(of)}" for name, of in members) + "}"
            case Subquery(form, query):
                return f"{form.value}({self.query(query)})"
            case _:
                return f"({self._test(expression)})"

    def _test(self, expression: Conditional | In | Between | Like) -> str:
        write = self.expression
        match expression:
            case Conditional(test, yes, no):
                return f"{write(test)} ? {write(yes)} : {write(no)}"
            case In(value, items, negated):
                return f"{write(value)} {_not(negated)}IN ({self._list(items)})"
            case Between(value, low, high, negated):
                return f"{write(value)} {_not(negated)}BETWEEN {write(low)} AND {write(high)}"
            case Like(value, pattern, escape, negated):
                text = f"{write(value)} {_not(negated)}LIKE {write(pattern)}"
                return text if escape is None else f"{text} ESCAPE {write_literal(escape)}"

    def _list(self, items: tuple[Expression, ...]) -> str:
        return ", ".join(map(self.expression, items))


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


_AS_WRITTEN = _Writer(plain=False)
_AS_KEY = _Writer(plain=True)
