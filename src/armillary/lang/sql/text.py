"""Trees to text, in the form that rewritten queries have: clauses on lines of their own, operators in parentheses.

    select c.a+1 from Root c where not c.b='x'     ->     SELECT (c.a + 1)
                                                          FROM Root AS c
                                                          WHERE ((NOT c.b) = "x")

The law: the text of a tree is read as the same tree again, and equal trees have equal texts.
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


def write_query(query: Query) -> str:
    """The normalised text of a query."""
    clauses = [f"SELECT {_write_head(query)}{_write_selection(query)}"]
    if query.sources:
        clauses.append("FROM " + "\nJOIN ".join(map(_write_source, query.sources)))
    if query.where is not None:
        clauses.append(f"WHERE {write_expression(query.where)}")
    if query.group:
        clauses.append(f"GROUP BY {_write_list(query.group)}")
    if query.order:
        clauses.append(f"ORDER BY {'RANK ' if query.rank else ''}{', '.join(map(_write_key, query.order))}")
    if query.offset and query.limit:
        clauses.append(f"OFFSET {write_expression(query.offset)} LIMIT {write_expression(query.limit)}")
    return "\n".join(clauses)


def _write_head(query: Query) -> str:
    top = f"TOP {write_expression(query.top)} " if query.top else ""
    return ("DISTINCT " if query.distinct else "") + top


def _write_selection(query: Query) -> str:
    if query.value is not None:
        return f"VALUE {write_expression(query.value)}"
    return ", ".join(map(_write_column, query.columns)) or "*"


def _write_column(column: Column) -> str:
    return write_expression(column.of) + (f" AS {column.alias}" if column.alias else "")


def _write_source(source: Source) -> str:
    of = f"({write_query(source.of)})" if isinstance(source.of, Query) else write_expression(source.of)
    if source.each:
        return f"{source.alias} IN {of}"
    return f"{of} AS {source.alias}" if source.alias else of


def _write_key(key: Key) -> str:
    return write_expression(key.of) + (f" {key.direction}" if key.direction else "")


def write_expression(expression: Expression) -> str:
    """The normalised text of an expression."""
    match expression:
        case Literal(value):
            return write_literal(value)
        case Name(name) | Parameter(name) | Placeholder(name):
            return name
        case Member(of, name):
            return f"{write_expression(of)}.{name}"
        case Index(of, at):
            return f"{write_expression(of)}[{write_expression(at)}]"
        case Unary(op, of):
            return f"({op} {write_expression(of)})"
        case Binary(op, left, right):
            return f"({write_expression(left)} {op} {write_expression(right)})"
        case Logical(op, operands):
            return reduce(lambda left, right: f"({left} {op} {right})", map(write_expression, operands))
        case Call(name, arguments, udf):
            return f"{'udf.' if udf else ''}{name}({_write_list(arguments)})"
        case ArrayOf(items):
            return f"[{_write_list(items)}]"
        case ObjectOf(members):
            return "{" + ", ".join(f"{write_literal(name)}: {write_expression(of)}" for name, of in members) + "}"
        case Subquery(form, query):
            return f"{form.value}({write_query(query)})"
        case _:
            return f"({_write_test(expression)})"


def _write_test(expression: Conditional | In | Between | Like) -> str:
    match expression:
        case Conditional(test, yes, no):
            return f"{write_expression(test)} ? {write_expression(yes)} : {write_expression(no)}"
        case In(value, items, negated):
            return f"{write_expression(value)} {_not(negated)}IN ({_write_list(items)})"
        case Between(value, low, high, negated):
            bounds = f"{write_expression(low)} AND {write_expression(high)}"
            return f"{write_expression(value)} {_not(negated)}BETWEEN {bounds}"
        case Like(value, pattern, escape, negated):
            text = f"{write_expression(value)} {_not(negated)}LIKE {write_expression(pattern)}"
            return text if escape is None else f"{text} ESCAPE {write_literal(escape)}"


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _write_list(items: tuple[Expression, ...]) -> str:
    return ", ".join(map(write_expression, items))


def write_literal(value: str | int | float | bool | Undefined | None) -> str:
    """A constant as the language writes it; texts in double quotes."""
    return "undefined" if value is UNDEFINED else dump(value).decode()
