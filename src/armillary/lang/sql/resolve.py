"""Expressions of the text to expressions of a row: every name becomes a slot of its scope.

A scope knows the names that are bound, how wide the row is, and - in a query with groups - which texts are keys and
aggregates. Problems are collected, so that a query with three unknown names is told of three.

The law: equal texts in one scope mean the same. Leaves out: clauses (`lower`), of which it knows one callback, since an
expression may hold a query.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from armillary.errors import Kind, Refusal
from armillary.lang.sql.errors import (
    ARGUMENT_COUNT,
    MISPLACED,
    NESTED_AGGREGATE,
    NOT_GROUPED,
    UNKNOWN_FUNCTION,
    UNRESOLVED,
    Problem,
)
from armillary.lang.sql.syntax import (
    ArrayOf,
    Between,
    Binary,
    Call,
    Conditional,
    Expression,
    In,
    Index,
    Like,
    Literal,
    Logical,
    Member,
    Name,
    ObjectOf,
    Parameter,
    Placeholder,
    Query,
    Span,
    Subquery,
    Unary,
    walk,
)
from armillary.lang.sql.text import write_expression
from armillary.query import scalars
from armillary.query.aggregates import AGGREGATES
from armillary.query.functions import FUNCTIONS, UNSUPPORTED
from armillary.query.plan import Plan
from armillary.query.scalars import Form, Scalar
from armillary.values import UNDEFINED

MOST_UDFS: Final = 10
_NESTED: Final = "Cannot perform an aggregate function on an expression containing an aggregate or a subquery."
_UNDEFINED: Final = scalars.Constant(UNDEFINED)


@dataclass(frozen=True)
class Scope:
    """What a name means at one place of a query."""

    names: Mapping[str, int]
    width: int
    inner: Callable[[Query, "Scope"], Plan]
    problems: list[Problem]
    known: Mapping[str, int] | None = None  # texts of keys and aggregates, where rows are groups
    grouped: frozenset[str] = frozenset()  # names that groups hide

    def bind(self, name: str | None) -> "Scope":
        """The scope with one more slot, which a name may lead to."""
        names = self.names if name is None else {**self.names, name: self.width}
        return replace(self, names=names, width=self.width + 1)

    def complain(self, code: str | int, span: Span, message: str) -> Scalar:
        """Note what is wrong, and go on with a stand-in."""
        self.problems.append(Problem(code, *span, message))
        return _UNDEFINED


def lower_expression(expression: Expression, scope: Scope) -> Scalar:
    """The expression with its names resolved."""
    if scope.known:
        slot = scope.known.get(text := write_expression(expression))
        if slot is not None:
            return scalars.Variable(slot, text)

    def lower(part: Expression) -> Scalar:
        return lower_expression(part, scope)

    match expression:
        case Literal(value):
            return scalars.Constant(value)
        case Parameter(name):
            return scalars.Parameter(name)
        case Name() | Member() | Index():
            return _lower_path(expression, scope)
        case Unary(op, of):
            return scalars.Apply(op, (lower(of),))
        case Binary(op, left, right):
            return scalars.Apply(op, (lower(left), lower(right)))
        case Logical(op, operands):
            return scalars.Apply(op, tuple(map(lower, operands)))
        case Conditional(test, yes, no):
            return scalars.Apply("?:", (lower(test), lower(yes), lower(no)))
        case In(value, items, negated):
            return _negate(scalars.Among(lower(value), tuple(map(lower, items))), negated)
        case Between(value, low, high, negated):
            return _negate(scalars.Apply("BETWEEN", (lower(value), lower(low), lower(high))), negated)
        case Like(value, pattern, escape, negated):
            return _negate(scalars.Matches(lower(value), lower(pattern), escape), negated)
        case Call():
            return _lower_call(expression, scope)
        case ArrayOf(items):
            return scalars.MakeArray(tuple(map(lower, items)))
        case ObjectOf(members):
            return scalars.MakeObject(tuple((name, lower(value)) for name, value in members))
        case Subquery(form, query):
            return scalars.Nested(Form(form.value or "SCALAR"), scope.inner(query, scope))
        case Placeholder():
            return scalars.Constant(True)


def _negate(scalar: Scalar, negated: bool) -> Scalar:
    return scalars.Apply("NOT", (scalar,)) if negated else scalar


def _lower_path(expression: Name | Member | Index, scope: Scope) -> Scalar:
    """A path; where a group hides its root, the whole path is what is wrong."""
    root: Expression = expression
    while isinstance(root, Member | Index):
        root = root.of
    if isinstance(root, Name) and root.name in scope.grouped and not _is_known(expression, scope):
        text = write_expression(expression)
        message = (
            f"Property reference '{text}' is invalid in the select list because it is not contained in either an "
            "aggregate function or the GROUP BY clause."
        )
        return scope.complain(NOT_GROUPED, expression.span, message)
    match expression:
        case Name(name):
            if name in scope.names:
                return scalars.Variable(scope.names[name], name)
            return scope.complain(UNRESOLVED, expression.span, f"Identifier '{name}' could not be resolved.")
        case Member(of, name) | Index(of, Literal(str(name))):
            return scalars.Property(lower_expression(of, scope), name)
        case Index(of, at):
            return scalars.Element(lower_expression(of, scope), lower_expression(at, scope))


def _is_known(expression: Expression, scope: Scope) -> bool:
    """Whether a path leads through one of the keys of the group."""
    found = expression
    while isinstance(found, Member | Index):
        if write_expression(found) in (scope.known or ()):
            return True
        found = found.of
    return write_expression(found) in (scope.known or ())


def _lower_call(call: Call, scope: Scope) -> Scalar:
    if call.udf:
        raise Refusal(Kind.NOT_BUILT, what=f"The call of the user-defined function udf.{call.name}")
    if call.name in AGGREGATES:
        message = f"The aggregate function {call.name} can only stand in the SELECT clause."
        return scope.complain(MISPLACED, call.span, message)
    if call.name in UNSUPPORTED:
        raise Refusal(Kind.BAD_REQUEST, reason=f"{call.name}: {UNSUPPORTED[call.name]}")
    function = FUNCTIONS.get(call.name)
    if function is None:
        return scope.complain(UNKNOWN_FUNCTION, call.span, f"'{call.name}' is not a recognized built-in function name.")
    check_arguments(call, function.least, function.most, scope)
    return scalars.Invoke(call.name, tuple(lower_expression(argument, scope) for argument in call.arguments))


def check_arguments(call: Call, least: int, most: int, scope: Scope) -> None:
    """Refuse a call with too few or too many arguments."""
    if not least <= len(call.arguments) <= most:
        wanted = f"{least}" if least == most else f"{least} or more" if most > 100 else f"{least} to {most}"
        message = f"The {call.name} function requires {wanted} argument(s), not {len(call.arguments)}."
        scope.complain(ARGUMENT_COUNT, call.span, message)


def find_aggregates(expression: Expression) -> list[Call]:
    """The calls of aggregates in an expression, from the left."""
    return [part for part in walk(expression) if is_aggregate(part)]


def is_aggregate(expression: Expression) -> TypeGuard[Call]:
    return isinstance(expression, Call) and not expression.udf and expression.name in AGGREGATES


def lower_aggregate(call: Call, scope: Scope) -> Scalar:
    """The argument of an aggregate, in the scope of the rows that it folds."""
    check_arguments(call, 1, 1, scope)
    inside = [part for argument in call.arguments for part in walk(argument)]
    if any(is_aggregate(part) or isinstance(part, Subquery) for part in inside):
        return scope.complain(NESTED_AGGREGATE, call.span, _NESTED)
    return lower_expression(call.arguments[0], scope) if call.arguments else _UNDEFINED
