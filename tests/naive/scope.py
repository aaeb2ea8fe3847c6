"""What an expression may see: names, parameters, and the rows of its group."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.naive.tree import Query
from tests.naive.values import Value


@dataclass(frozen=True)
class Scope:
    """One row while it is looked at; `members` are the rows of the group it stands for."""

    items: list[Value]
    parameters: Mapping[str, Value]
    answer: "Callable[[Query, Scope], list[Value]]"  # the rows of a subquery
    names: Mapping[str, Value] = field(default_factory=dict)
    members: "tuple[Scope, ...]" = ()

    def bind(self, name: str, value: Value) -> "Scope":
        """This scope with one name more."""
        return replace(self, names={**self.names, name: value})

    def inner(self) -> "Scope":
        """The scope in which a subquery starts: it has groups of its own."""
        return replace(self, members=())
