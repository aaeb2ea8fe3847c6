"""The plan algebra: what a query does, as frozen nodes; every language lowers to it.

    Slice 0, 10                      rows flow upwards, in batches;
      Distinct                       from Project on they are values, below it tuples of slots
        Project {"city": c.city}
          Sort c.city DESC
            Filter (c.age > 20)
              Unnest t IN c.tags     Scan, Bind and Unnest append one slot each
                Scan c               Derive begins with the values of another plan; Group puts its keys and its
                                     aggregates in place of what came after the row from outside

The law: a node is a pure function of the rows below it, and all but Sort, Group and Distinct are streams: they hand on
what one batch gives before they ask for the next. A row that comes from outside (an inner query's outer row, or the run
alone) is the beginning of every row of the plan. Leaves out: how storage finds items (`source`) and what it costs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from armillary.query.scalars import Constant, Nested, Scalar, Variable, rebuild, walk


@dataclass(frozen=True, slots=True)
class Single:
    """One row: the one from outside."""


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on a path of the scanned items that an index could serve; `op` as operators and functions are named.

    `OR` has several tests of one path as its parts; all others have values that no item changes.
    """

    path: tuple[str, ...]
    op: str
    operands: "tuple[Scalar | Test, ...]" = ()


@dataclass(frozen=True, slots=True)
class Scan:
    """The items of the container in a new slot, their place in its own: at least those that pass every test.

    The order is a wish as well: paths, and whether they descend.
    """

    name: str
    slot: int
    tests: tuple[Test, ...] = ()
    order: tuple[tuple[tuple[str, ...], bool], ...] = ()
    omit: bool = False  # what has no value where the order looks is not wanted


@dataclass(frozen=True, slots=True)
class Bind:
    """A value in a new slot; rows for which it is undefined are dropped."""

    input: "Plan"
    value: Scalar
    name: str
    slot: int


@dataclass(frozen=True, slots=True)
class Unnest:
    """A row for each element of an array, with the element in a new slot; none for what is no array."""

    input: "Plan"
    value: Scalar
    name: str
    slot: int


@dataclass(frozen=True, slots=True)
class Derive:
    """The values of another plan, each in a new slot after the row from outside."""

    input: "Plan"
    name: str


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which the condition is true."""

    input: "Plan"
    condition: Scalar


@dataclass(frozen=True, slots=True)
class SortKey:
    """One key of a sort."""

    value: Scalar
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Sort:
    """The rows in order; those without a value for the key are dropped when `omit` says so.

    With `most`, no more than the first so many rows are wanted.
    """

    input: "Plan"
    keys: tuple[SortKey, ...]
    omit: bool = False
    most: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate over the rows of a group."""

    name: str
    argument: Scalar


@dataclass(frozen=True, slots=True)
class Group:
    """A row for each distinct tuple of keys: the row from outside, the keys, the aggregates.

    Without keys there is exactly one group, rows or no rows.
    """

    input: "Plan"
    keys: tuple[Scalar, ...]
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """A value for each row; undefined ones are dropped."""

    input: "Plan"
    value: Scalar


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each value once, where it came first."""

    input: "Plan"


@dataclass(frozen=True, slots=True)
class Slice:
    """The values from `offset` on, at most `limit` of them; both are constants or parameters."""

    input: "Plan"
    offset: Scalar
    limit: Scalar


Plan: TypeAlias = Single | Scan | Bind | Unnest | Derive | Filter | Sort | Group | Project | Distinct | Slice

ZERO = Constant(0)


def input_of(plan: Plan) -> Plan | None:
    """The plan below a node; None for a leaf."""
    return None if isinstance(plan, Single | Scan) else plan.input


def with_input(plan: Plan, below: Plan) -> Plan:
    """The same node over another plan."""
    return plan if isinstance(plan, Single | Scan) or plan.input is below else replace(plan, input=below)


def nodes_of(plan: Plan) -> Iterator[Plan]:
    """The nodes from the top down; plans inside expressions are not entered."""
    found: Plan | None = plan
    while found is not None:
        yield found
        found = input_of(found)


def scalars_of(plan: Plan) -> tuple[Scalar, ...]:
    """The expressions of one node."""
    match plan:
        case Bind(_, value) | Unnest(_, value) | Project(_, value) | Filter(_, value):
            return (value,)
        case Sort(_, keys, _, most):
            return (*(key.value for key in keys), *most)
        case Group(_, keys, calls):
            return (*keys, *(call.argument for call in calls))
        case Slice(_, offset, limit):
            return (offset, limit)
        case _:
            return ()


def map_scalars(plan: Plan, change: Callable[[Scalar], Scalar]) -> Plan:
    """The node with each of its expressions changed."""
    match plan:
        case Bind(_, value) | Unnest(_, value) | Project(_, value):
            return replace(plan, value=change(value))
        case Filter(_, condition):
            return replace(plan, condition=change(condition))
        case Sort(_, keys, _, most):
            changed = tuple(replace(key, value=change(key.value)) for key in keys)
            return replace(plan, keys=changed, most=tuple(map(change, most)))
        case Group(_, keys, calls):
            aggregates = tuple(replace(call, argument=change(call.argument)) for call in calls)
            return replace(plan, keys=tuple(map(change, keys)), calls=aggregates)
        case Slice(_, offset, limit):
            return replace(plan, offset=change(offset), limit=change(limit))
        case _:
            return plan


def rewrite_everywhere(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Change every node from the bottom up, also in the plans inside expressions."""

    def inside(scalar: Scalar) -> Scalar:
        changed = rebuild(scalar, inside)
        if isinstance(changed, Nested):
            return replace(changed, plan=rewrite_everywhere(changed.plan, change))
        return changed

    below = input_of(plan)
    if below is not None:
        plan = with_input(plan, rewrite_everywhere(below, change))
    return change(map_scalars(plan, inside))


def slots_in(scalar: Scalar) -> frozenset[int]:
    """The slots that an expression reads; inner queries are not entered."""
    return frozenset(part.slot for part in walk(scalar) if isinstance(part, Variable))


def fans_out(plan: Plan) -> bool:
    """Whether one item can become several rows: a position inside an item is then part of a continuation."""
    return any(isinstance(node, Unnest) for node in nodes_of(plan))
