"""Expressions of the text to expressions of a row: every name becomes a slot of its scope.

A scope knows the names that are bound, how wide the row is, and - in a query with groups - which texts are keys and
aggregates. Problems are collected, so that a query with three unknown names is told of three.

The law: equal texts in one scope mean the same. Leaves out: clauses (`lower`), of which it knows one callback, since an
expression may hold a query.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeGuard

from armillary.errors import Kind, Refusal
from armillary.lang.sql.errors import (
    ARGUMENT_COUNT,
    MISPLACED,
    NESTED_AGGREGATE,
    NOT_GROUPED,
    SCORE_OUTSIDE_RANK,
    TOO_LARGE,
    UNKNOWN_FUNCTION,
    UNRESOLVED,
    Problem,
    refuse_query,
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
from armillary.lang.sql.text import key_of, write_expression
from armillary.query import scalars
from armillary.query.aggregates import AGGREGATES
from armillary.query.functions import FUNCTIONS, SCORES, UNBOUNDED, UNSUPPORTED
from armillary.query.plan import Plan
from armillary.query.scalars import Form, Scalar
from armillary.values import UNDEFINED

MOST_UDFS: Final = 10
_NESTED: Final = "Cannot perform an aggregate function on an expression containing an aggregate or a subquery."
_UNDEFINED: Final = scalars.Constant(UNDEFINED)


@dataclass
class Findings:
    """What is wrong with a query, and what it asks for that is not built: told when all of it has been read."""

    problems: list[Problem] = field(default_factory=list)
    unbuilt: list[str] = field(default_factory=list)
    udfs: int = 0

    def refuse(self) -> None:
        """Raise what was found, the mistakes of the caller first."""
        if self.problems:
            raise refuse_query(*self.problems)
        if self.unbuilt:
            raise Refusal(Kind.NOT_BUILT, what=self.unbuilt[0])


@dataclass(frozen=True)
class Scope:
    """What a name means at one place of a query."""

    names: Mapping[str, int]
    width: int
    inner: Callable[[Query, "Scope"], Plan]
    findings: "Findings"
    known: Mapping[str, int] | None = None  # what keys and aggregates say (`key_of`), where rows are groups
    grouped: frozenset[str] = frozenset()  # names that groups hide

    def bind(self, name: str | None) -> "Scope":
        """The scope with one more slot, which a name may lead to."""
        names = self.names if name is None else {**self.names, name: self.width}
        return replace(self, names=names, width=self.width + 1)

    def complain(self, code: str | int, span: Span, message: str) -> Scalar:
        """Note what is wrong, and go on with a stand-in."""
        self.findings.problems.append(Problem(code, *span, message))
        return _UNDEFINED


def lower_expression(expression: Expression, scope: Scope) -> Scalar:
    """The expression with its names resolved."""
    if scope.known:
        slot = scope.known.get(key_of(expression))
        if slot is not None:
            return scalars.Variable(slot, write_expression(expression))

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
        if key_of(found) in (scope.known or ()):
            return True
        found = found.of
    return key_of(found) in (scope.known or ())


def _lower_call(call: Call, scope: Scope) -> Scalar:
    if call.udf:
        return _note_udf(call, scope)
    if call.name in AGGREGATES:
        message = f"The aggregate function {call.name} can only stand in the SELECT clause."
        return scope.complain(MISPLACED, call.span, message)
    if call.name in SCORES:
        message = f"The {call.name} function is only allowed in the ORDER BY RANK clause."
        return scope.complain(SCORE_OUTSIDE_RANK, call.span, message)
    function = FUNCTIONS.get(call.name)
    if function is None:
        return note_unbuilt(call, scope)
    check_arguments(call, function.least, function.most, scope)
    return scalars.Invoke(call.name, tuple(lower_expression(argument, scope) for argument in call.arguments))


def note_unbuilt(call: Call, scope: Scope) -> Scalar:
    """A call of what is not built, or of what does not exist; its arguments are checked all the same."""
    unbuilt = UNSUPPORTED.get(call.name)
    if unbuilt is None:
        message = f"'{call.written}' is not a recognized built-in function name."
        return scope.complain(UNKNOWN_FUNCTION, call.span, message)
    check_arguments(call, unbuilt.least, unbuilt.most, scope)
    for argument in call.arguments:
        if isinstance(argument, Call) and argument.name in SCORES:
            note_unbuilt(argument, scope)
        else:
            lower_expression(argument, scope)
    scope.findings.unbuilt.append(f"{unbuilt.what} ({call.written})")
    return _UNDEFINED


def _note_udf(call: Call, scope: Scope) -> Scalar:
    for argument in call.arguments:
        lower_expression(argument, scope)
    scope.findings.udfs += 1
    if scope.findings.udfs == MOST_UDFS + 1:
        message = f"The query calls more than {MOST_UDFS} user-defined functions."
        scope.complain(TOO_LARGE, call.span, message)
    scope.findings.unbuilt.append(f"The call of a user-defined function (udf.{call.name})")
    return _UNDEFINED


def check_arguments(call: Call, least: int, most: int, scope: Scope) -> None:
    """Refuse a call with too few or too many arguments."""
    if not least <= len(call.arguments) <= most:
        wanted = f"{least}" if least == most else f"{least} or more" if most == UNBOUNDED else f"{least} to {most}"
        message = f"The {call.written} function requires {wanted} argument(s). It is called with {len(call.arguments)}."
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
