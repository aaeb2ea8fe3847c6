"""The value of an expression in a scope: one function for each kind of node, found in a table."""

import math
import re
from collections.abc import Callable
from typing import Any, Final

from tests.naive import tree
from tests.naive.aggregates import AGGREGATES
from tests.naive.functions import FUNCTIONS
from tests.naive.scope import Scope
from tests.naive.tree import Node
from tests.naive.values import UNDEFINED, Value, equal, kind, number, rank

# The sources disagree about `1 ? a : b`: "undefined", or "else" for the last branch.
CONDITIONAL_NON_BOOLEAN = "undefined"


def evaluate(node: Node, scope: Scope) -> Value:
    """The value, or UNDEFINED."""
    return EVALUATORS[type(node)](node, scope)


def evaluate_literal(node: tree.Literal, scope: Scope) -> Value:
    return node.value


def evaluate_parameter(node: tree.Parameter, scope: Scope) -> Value:
    return scope.parameters[node.name]


def evaluate_name(node: tree.Name, scope: Scope) -> Value:
    return scope.names[node.name]


def evaluate_member(node: tree.Member, scope: Scope) -> Value:
    return look_up(evaluate(node.of, scope), evaluate(node.key, scope))


def look_up(value: Value, key: Value) -> Value:
    """A property by its name or an element by its place."""
    match kind(value), kind(key):
        case "object", "string":
            return value.get(key, UNDEFINED)
        case "array", "number" if key.is_integer() and 0 <= key < len(value):
            return value[int(key)]
    return UNDEFINED


def evaluate_unary(node: tree.Unary, scope: Scope) -> Value:
    value = evaluate(node.operand, scope)
    if node.operator == "NOT":
        return negate(value)
    if kind(value) != "number":
        return UNDEFINED
    return {"+": value, "-": -value, "~": float(~int32(value))}[node.operator]


def negate(value: Value) -> Value:
    return not value if kind(value) == "boolean" else UNDEFINED


def evaluate_binary(node: tree.Binary, scope: Scope) -> Value:
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    return OPERATORS[node.operator](left, right)


def both(left: Value, right: Value) -> Value:
    if left is False or right is False:
        return False
    return True if left is True and right is True else UNDEFINED


def either(left: Value, right: Value) -> Value:
    if left is True or right is True:
        return True
    return False if left is False and right is False else UNDEFINED


def compare(test: Callable[[Any, Any], bool]) -> Callable[[Value, Value], Value]:
    """`<` and its like: only between values of one primitive type."""

    def run(left: Value, right: Value) -> Value:
        if kind(left) != kind(right) or kind(left) in ("undefined", "array", "object"):
            return UNDEFINED
        return test(rank(left), rank(right))

    return run


def calculate(operation: Callable[[float, float], float]) -> Callable[[Value, Value], Value]:
    """Arithmetic: only between numbers, and only with a finite result."""

    def run(left: Value, right: Value) -> Value:
        if kind(left) != "number" or kind(right) != "number":
            return UNDEFINED
        try:
            return number(operation(left, right))
        except (ZeroDivisionError, ValueError, OverflowError):
            return UNDEFINED

    return run


def bits(operation: Callable[[int, int], int]) -> Callable[[Value, Value], Value]:
    """Bits of 32, as JavaScript has them."""
    return calculate(lambda left, right: int32(float(operation(int32(left), int32(right)))))


def int32(value: float) -> int:
    return (math.trunc(value) + 2**31) % 2**32 - 2**31


def concatenate(left: Value, right: Value) -> Value:
    return left + right if kind(left) == kind(right) == "string" else UNDEFINED


OPERATORS: Final[dict[str, Callable[[Value, Value], Value]]] = {
    "??": lambda left, right: right if left is UNDEFINED else left,
    "AND": both,
    "OR": either,
    "||": concatenate,
    "=": equal,
    "!=": lambda left, right: negate(equal(left, right)),
    "<": compare(lambda left, right: left < right),
    "<=": compare(lambda left, right: left <= right),
    ">": compare(lambda left, right: left > right),
    ">=": compare(lambda left, right: left >= right),
    "+": calculate(lambda left, right: left + right),
    "-": calculate(lambda left, right: left - right),
    "*": calculate(lambda left, right: left * right),
    "/": calculate(lambda left, right: left / right),
    "%": calculate(math.fmod),
    "&": bits(lambda left, right: left & right),
    "|": bits(lambda left, right: left | right),
    "^": bits(lambda left, right: left ^ right),
    "<<": bits(lambda left, right: left << (right & 31)),
    ">>": bits(lambda left, right: left >> (right & 31)),
    ">>>": calculate(lambda left, right: (int32(left) % 2**32) >> (int32(right) & 31)),
}


def evaluate_conditional(node: tree.Conditional, scope: Scope) -> Value:
    test = evaluate(node.test, scope)
    if kind(test) != "boolean" and CONDITIONAL_NON_BOOLEAN == "undefined":
        return UNDEFINED
    return evaluate(node.then if test is True else node.other, scope)


def evaluate_between(node: tree.Between, scope: Scope) -> Value:
    value, low, high = (evaluate(part, scope) for part in (node.operand, node.low, node.high))
    return both(OPERATORS[">="](value, low), OPERATORS["<="](value, high))


def evaluate_among(node: tree.Among, scope: Scope) -> Value:
    value = evaluate(node.operand, scope)
    found: Value = False
    for option in node.options:
        found = either(found, equal(value, evaluate(option, scope)))
    return found


def evaluate_like(node: tree.Like, scope: Scope) -> Value:
    value, pattern = evaluate(node.operand, scope), evaluate(node.pattern, scope)
    if kind(value) != "string" or kind(pattern) != "string":
        return UNDEFINED
    return re.fullmatch(translate_like(pattern, node.escape), value, re.DOTALL) is not None


def translate_like(pattern: str, escape: str) -> str:
    """The regular expression of a LIKE pattern."""
    parts: list[str] = []
    rest = pattern
    while rest:
        letter, rest = rest[0], rest[1:]
        if letter == escape and rest:
            parts.append(re.escape(rest[0]))
            rest = rest[1:]
        elif letter in "%_":
            parts.append({"%": ".*", "_": "."}[letter])
        elif letter == "[" and (found := re.match(r"(\^?)([^\]]+)\]", rest)):
            letters = re.sub(r"([\\\[^&~|])", r"\\\1", found.group(2))
            parts.append(f"[{found.group(1)}{letters}]")
            rest = rest[found.end() :]
        else:
            parts.append(re.escape(letter))
    return "".join(parts)


def evaluate_array(node: tree.MakeArray, scope: Scope) -> Value:
    values = (evaluate(item, scope) for item in node.items)
    return [value for value in values if value is not UNDEFINED]


def evaluate_object(node: tree.MakeObject, scope: Scope) -> Value:
    values = ((name, evaluate(item, scope)) for name, item in node.pairs)
    return {name: value for name, value in values if value is not UNDEFINED}


def evaluate_call(node: tree.Call, scope: Scope) -> Value:
    if node.name in AGGREGATES:
        (argument,) = node.arguments
        return AGGREGATES[node.name]([evaluate(argument, member) for member in scope.members])
    return FUNCTIONS[node.name].run([evaluate(argument, scope) for argument in node.arguments])


def evaluate_subquery(node: tree.Subquery, scope: Scope) -> Value:
    rows = scope.answer(node.query, scope.inner())
    match node.form:
        case "EXISTS":
            return bool(rows)
        case "ARRAY":
            return rows
        case "ALL":
            return all(row is True for row in rows)
        case "FIRST":
            return rows[0] if rows else UNDEFINED
        case "LAST":
            return rows[-1] if rows else UNDEFINED
    return rows[0] if len(rows) == 1 else UNDEFINED


EVALUATORS: Final[dict[type[Node], Callable[[Any, Scope], Value]]] = {
    tree.Literal: evaluate_literal,
    tree.Parameter: evaluate_parameter,
    tree.Name: evaluate_name,
    tree.Member: evaluate_member,
    tree.Unary: evaluate_unary,
    tree.Binary: evaluate_binary,
    tree.Conditional: evaluate_conditional,
    tree.Between: evaluate_between,
    tree.Among: evaluate_among,
    tree.Like: evaluate_like,
    tree.MakeArray: evaluate_array,
    tree.MakeObject: evaluate_object,
    tree.Call: evaluate_call,
    tree.Subquery: evaluate_subquery,
}
