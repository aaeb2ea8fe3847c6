"""Expressions of one row: frozen data that any language lowers to and `expressions` compiles.

A row is a tuple of slots. Slot 0 holds the run (parameters, source, clock), slot 1 the place of the item that the row
was made of, or None; the rows of an outer query come first in the rows of an inner one, so a correlated query needs
nothing but a longer row. Operators are named as `semantics` names
them. Nothing here knows how values compare or what a language calls its functions beyond the name in the registry.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeAlias

RUN, PLACE, FIRST = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A JSON value or undefined; 1 and true are two, where Python has one."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(repr(self.value))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that the caller gives with the text; undefined when it does not."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A slot of the row; the name is what the text calls it."""

    slot: int
    name: str


@dataclass(frozen=True, slots=True)
class Property:
    """A property of an object; undefined where there is no object or no such property."""

    of: "Scalar"
    name: str


@dataclass(frozen=True, slots=True)
class Element:
    """A property or an array element whose name or place is computed."""

    of: "Scalar"
    at: "Scalar"


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator: unary, binary, `AND` and `OR` of any number, `?:` and `BETWEEN` of three."""

    op: str
    operands: tuple["Scalar", ...]


@dataclass(frozen=True, slots=True)
class Among:
    """IN: whether a value is one of the items."""

    value: "Scalar"
    items: tuple["Scalar", ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """LIKE."""

    value: "Scalar"
    pattern: "Scalar"
    escape: str | None


@dataclass(frozen=True, slots=True)
class Invoke:
    """A call of a built-in function, by its name in the registry."""

    name: str
    arguments: tuple["Scalar", ...]


@dataclass(frozen=True, slots=True)
class MakeArray:
    """An array; undefined items are left out."""

    items: tuple["Scalar", ...]


@dataclass(frozen=True, slots=True)
class MakeObject:
    """An object; undefined members are left out."""

    members: tuple[tuple[str, "Scalar"], ...]


class Form(Enum):
    """What an inner query's values become."""

    SCALAR = "SCALAR"
    EXISTS = "EXISTS"
    ARRAY = "ARRAY"
    ALL = "ALL"
    FIRST = "FIRST"
    LAST = "LAST"


@dataclass(frozen=True, slots=True)
class Nested:
    """The values of an inner query; `plan` is a `query.plan.Plan`, which this module does not know."""

    form: Form
    plan: Any


Scalar: TypeAlias = (
    Constant
    | Parameter
    | Variable
    | Property
    | Element
    | Apply
    | Among
    | Matches
    | Invoke
    | MakeArray
    | MakeObject
    | Nested
)


def parts_of(scalar: Scalar) -> tuple[Scalar, ...]:
    """The expressions directly inside one; inner queries are not entered."""
    match scalar:
        case Property(of):
            return (of,)
        case Element(of, at):
            return (of, at)
        case Apply(_, parts) | Invoke(_, parts) | MakeArray(parts):
            return parts
        case Among(value, items):
            return (value, *items)
        case Matches(value, pattern, _):
            return (value, pattern)
        case MakeObject(members):
            return tuple(value for _, value in members)
        case _:
            return ()


def rebuild(scalar: Scalar, change: Callable[[Scalar], Scalar]) -> Scalar:
    """The same expression with each of its parts changed; itself when no part was."""
    parts = parts_of(scalar)
    changed = tuple(map(change, parts))
    if all(new is old for new, old in zip(changed, parts, strict=True)):
        return scalar
    match scalar:
        case Property():
            return replace(scalar, of=changed[0])
        case Element():
            return Element(*changed)
        case Apply(op):
            return Apply(op, changed)
        case Invoke(name):
            return Invoke(name, changed)
        case Among():
            return Among(changed[0], changed[1:])
        case Matches():
            return replace(scalar, value=changed[0], pattern=changed[1])
        case MakeObject(members):
            return MakeObject(tuple((name, value) for (name, _), value in zip(members, changed, strict=True)))
        case _:
            return MakeArray(changed)


def walk(scalar: Scalar) -> Iterator[Scalar]:
    """An expression and all inside it; inner queries are not entered."""
    waiting = [scalar]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += reversed(parts_of(found))


def builds(scalar: Scalar) -> bool:
    """Whether an expression makes an array or an object, or runs a query that may."""
    return any(isinstance(part, MakeArray | MakeObject | Nested) for part in walk(scalar))


def path_of(scalar: Scalar) -> tuple[Variable, tuple[str, ...]] | None:
    """The variable and the property names of a plain path; None for anything else.

    >>> path_of(Property(Variable(1, "c"), "a"))
    (Variable(slot=1, name='c'), ('a',))
    """
    names: list[str] = []
    while isinstance(scalar, Property):
        names.append(scalar.name)
        scalar = scalar.of
    return (scalar, tuple(reversed(names))) if isinstance(scalar, Variable) else None
