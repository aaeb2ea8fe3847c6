"""Expressions to Python closures: compiled once for a text, called once for a row.

`compile_scalar(scalar, semantics, inner)` gives a function from a row to a value. What is known before is looked at
before: a path becomes one closure whatever its length, a comparison of a path with a constant skips the general rule
where the types agree, IN and LIKE with constants use the compiled forms of the semantics. What operators mean is handed
down; the one thing decided here is that an operand which cannot matter stays unevaluated: AND ends at the first false,
OR at the first true, `??` at a value.

The law: a compiled expression never raises, whatever the row holds, and does nothing but return a value.
"""

from collections.abc import Callable, Iterator
from operator import eq, ge, gt, itemgetter, le, lt
from typing import Any, Final, TypeAlias

from armillary.query.functions import FUNCTIONS
from armillary.query.numbers import NUMBERS
from armillary.query.scalars import (
    RUN,
    Among,
    Apply,
    Constant,
    Element,
    Form,
    Invoke,
    MakeArray,
    MakeObject,
    Matches,
    Nested,
    Parameter,
    Property,
    Scalar,
    Variable,
)
from armillary.query.semantics import Semantics
from armillary.values import UNDEFINED

Row: TypeAlias = tuple[Any, ...]
Compiled: TypeAlias = Callable[[Row], object]
Values: TypeAlias = Callable[[Row], Iterator[list[object]]]  # the values of an inner query, in batches
Inner: TypeAlias = Callable[[Any], Values]  # how an inner query's plan is compiled

_FLIPPED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_QUICK: Final[dict[str, Callable[[Any, Any], bool]]] = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}


def compile_scalar(scalar: Scalar, semantics: Semantics, inner: Inner) -> Compiled:
    """The closure of an expression."""

    def compiled(part: Scalar) -> Compiled:
        return compile_scalar(part, semantics, inner)

    match scalar:
        case Constant(value):
            return lambda _: value
        case Parameter(name):
            return lambda row: row[RUN].parameters.get(name, UNDEFINED)
        case Variable(slot):
            return itemgetter(slot)
        case Property():
            return _compile_path(scalar, compiled)
        case Element(of, at):
            return _compile_element(compiled(of), compiled(at))
        case Apply(op, operands):
            return _compile_quick(op, operands, semantics, compiled) or _compile_operator(
                op, [compiled(operand) for operand in operands], semantics
            )
        case Among():
            return _compile_among(scalar, semantics, compiled)
        case Matches():
            return _compile_like(scalar, semantics, compiled)
        case Invoke(name, arguments):
            return _compile_call(name, [compiled(argument) for argument in arguments])
        case MakeArray(items):
            return _compile_array([compiled(item) for item in items])
        case MakeObject(members):
            return _compile_object([(name, compiled(value)) for name, value in members])
        case Nested(form, plan):
            return _FORMS[form](inner(plan))


# paths


def _compile_path(scalar: Property, compiled: Callable[[Scalar], Compiled]) -> Compiled:
    names: list[str] = []
    of: Scalar = scalar
    while isinstance(of, Property):
        names.append(of.name)
        of = of.of
    names.reverse()
    if isinstance(of, Variable):
        return _read_one(of.slot, names[0]) if len(names) == 1 else _read_many(of.slot, names)
    read = compiled(of)

    def read_inside(row: Row) -> object:
        found = read(row)
        for name in names:
            if type(found) is not dict:
                return UNDEFINED
            found = found.get(name, UNDEFINED)
        return found

    return read_inside


def _read_one(slot: int, name: str) -> Compiled:
    def read(row: Row) -> object:
        item = row[slot]
        return item.get(name, UNDEFINED) if type(item) is dict else UNDEFINED

    return read


def _read_many(slot: int, names: list[str]) -> Compiled:
    def read(row: Row) -> object:
        found = row[slot]
        for name in names:
            if type(found) is not dict:
                return UNDEFINED
            found = found.get(name, UNDEFINED)
        return found

    return read


def _compile_element(of: Compiled, at: Compiled) -> Compiled:
    def read(row: Row) -> object:
        found, key = of(row), at(row)
        if isinstance(found, dict):
            return found.get(key, UNDEFINED) if isinstance(key, str) else UNDEFINED
        if isinstance(found, list) and type(key) in NUMBERS:
            place: Any = key
            if place == (whole := int(place)) and 0 <= whole < len(found):
                return found[whole]
        return UNDEFINED

    return read


# operators


def _compile_quick(
    op: str, operands: tuple[Scalar, ...], semantics: Semantics, compiled: Callable[[Scalar], Compiled]
) -> Compiled | None:
    """A comparison with a constant number or an ASCII text, where Python's own comparison is the language's."""
    if op not in _QUICK or len(operands) != 2:
        return None
    left, right = operands
    if isinstance(left, Constant):
        left, right, op = right, left, _FLIPPED[op]
    if not isinstance(right, Constant) or isinstance(left, Constant):
        return None
    read, constant, general, compare = compiled(left), right.value, semantics.binary[op], _QUICK[op]
    if isinstance(constant, str) and (constant.isascii() or op == "="):
        return _compare_texts(read, constant, compare, general)
    return _compare_numbers(read, constant, compare, general) if type(constant) in NUMBERS else None


def _compare_texts(
    read: Compiled, constant: str, compare: Callable[[Any, Any], bool], general: Callable[[object, object], object]
) -> Compiled:
    if compare is eq:

        def equal(row: Row) -> object:
            value = read(row)
            return value == constant if type(value) is str else general(value, constant)

        return equal

    def decide(row: Row) -> object:
        value = read(row)
        return compare(value, constant) if type(value) is str else general(value, constant)

    return decide


def _compare_numbers(
    read: Compiled, constant: object, compare: Callable[[Any, Any], bool], general: Callable[[object, object], object]
) -> Compiled:
    def decide(row: Row) -> object:
        value = read(row)
        kind = type(value)
        return compare(value, constant) if kind is int or kind is float else general(value, constant)

    return decide


def _compile_operator(op: str, operands: list[Compiled], semantics: Semantics) -> Compiled:
    if op == "AND":
        return _compile_logical(operands, False, semantics.binary[op])
    if op == "OR":
        return _compile_logical(operands, True, semantics.binary[op])
    if op == "?:":
        choose, (test, yes, no) = semantics.choose, operands
        return lambda row: choose(test(row), yes(row), no(row))
    if op == "BETWEEN":
        between, (value, low, high) = semantics.between, operands
        return lambda row: between(value(row), low(row), high(row))
    if len(operands) == 1:
        unary, (of,) = semantics.unary[op], operands
        return lambda row: unary(of(row))
    binary, (left, right) = semantics.binary[op], operands
    if op == "??":
        return lambda row: found if (found := left(row)) is not UNDEFINED else binary(found, right(row))
    return lambda row: binary(left(row), right(row))


def _compile_logical(operands: list[Compiled], decisive: bool, combine: Callable[[object, object], object]) -> Compiled:
    """AND or OR: the first decisive operand ends it."""
    first, rest = operands[0], operands[1:]

    def decide(row: Row) -> object:
        answer = first(row)
        for operand in rest:
            if answer is decisive:
                return answer
            answer = combine(answer, operand(row))
        return answer

    return decide


def _compile_among(scalar: Among, semantics: Semantics, compiled: Callable[[Scalar], Compiled]) -> Compiled:
    read = compiled(scalar.value)
    constants = [item.value for item in scalar.items if isinstance(item, Constant)]
    if len(constants) == len(scalar.items):
        known = semantics.compile_in(constants)
        return lambda row: known(read(row))
    is_in, items = semantics.is_in, [compiled(item) for item in scalar.items]
    return lambda row: is_in(read(row), [item(row) for item in items])


def _compile_like(scalar: Matches, semantics: Semantics, compiled: Callable[[Scalar], Compiled]) -> Compiled:
    read, escape = compiled(scalar.value), scalar.escape
    if isinstance(scalar.pattern, Constant):
        known = semantics.compile_like(scalar.pattern.value, escape)
        return lambda row: known(read(row))
    like, pattern = semantics.like, compiled(scalar.pattern)
    return lambda row: like(read(row), pattern(row), escape)


def _compile_call(name: str, arguments: list[Compiled]) -> Compiled:
    function = FUNCTIONS[name]
    call = function.call
    if function.needs_context:
        return lambda row: call(row[RUN].context, *[argument(row) for argument in arguments])
    if len(arguments) == 1:
        (only,) = arguments
        return lambda row: call(only(row))
    if len(arguments) == 2:
        first, second = arguments
        return lambda row: call(first(row), second(row))
    return lambda row: call(*[argument(row) for argument in arguments])


# what is made


def _compile_array(items: list[Compiled]) -> Compiled:
    return lambda row: [value for item in items if (value := item(row)) is not UNDEFINED]


def _compile_object(members: list[tuple[str, Compiled]]) -> Compiled:
    def make(row: Row) -> object:
        made: dict[str, object] = {}
        for name, member in members:
            value = member(row)
            if value is not UNDEFINED:
                made[name] = value
        return made

    return make


# inner queries


def _scalar(values: Values) -> Compiled:
    def evaluate(row: Row) -> object:
        found: object = UNDEFINED
        count = 0
        for batch in values(row):
            count += len(batch)
            if count > 1:
                return UNDEFINED
            found = batch[0] if batch else found
        return found

    return evaluate


def _exists(values: Values) -> Compiled:
    return lambda row: any(values(row))


def _array(values: Values) -> Compiled:
    return lambda row: [value for batch in values(row) for value in batch]


def _every(values: Values) -> Compiled:
    return lambda row: all(value is True for batch in values(row) for value in batch)


def _first(values: Values) -> Compiled:
    return lambda row: next((value for batch in values(row) for value in batch), UNDEFINED)


def _last(values: Values) -> Compiled:
    def evaluate(row: Row) -> object:
        found: object = UNDEFINED
        for batch in values(row):
            found = batch[-1] if batch else found
        return found

    return evaluate


_FORMS: Final[dict[Form, Callable[[Values], Compiled]]] = {
    Form.SCALAR: _scalar,
    Form.EXISTS: _exists,
    Form.ARRAY: _array,
    Form.ALL: _every,
    Form.FIRST: _first,
    Form.LAST: _last,
}
