"""The rules: each turns a plan into another one with the same answers.

    fold_constants      Filter (c.a > (1 + 2))         ->  Filter (c.a > 3)
    simplify_filters    Filter ((a AND true) AND b)    ->  Filter (a AND b); a filter that is always true goes
    push_filters        Filter (c.a = 1) over Unnest   ->  Unnest over Filter, for what reads nothing that is new there
    bound_sorts         Slice over Project over Sort   ->  the same over a Sort that keeps no more than it must
    wish_terms          Sort over Filter over Scan     ->  the same over a Scan that says what an index could do

`RULES` are applied from the first to the last, once. The law: a plan and what a rule makes of it have the same values
in the same order over every source and with all parameters; the golden cases and random queries run with and without.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from armillary.query.expressions import Values, compile_scalar
from armillary.query.functions import FUNCTIONS
from armillary.query.plan import (
    Bind,
    Filter,
    Plan,
    Project,
    Slice,
    Sort,
    Unnest,
    map_scalars,
    rewrite_everywhere,
    slots_in,
)
from armillary.query.scalars import (
    Apply,
    Constant,
    Invoke,
    MakeArray,
    MakeObject,
    Nested,
    Scalar,
    Variable,
    parts_of,
    rebuild,
    walk,
)
from armillary.query.semantics import Semantics
from armillary.query.wishes import conjuncts_of, wish_terms
from armillary.values import UNDEFINED

Rule: TypeAlias = Callable[[Plan, Semantics], Plan]

_LONGEST: Final = 10_000


def apply_rules(plan: Plan, semantics: Semantics) -> Plan:
    """The plan after all rules."""
    for rule in RULES:
        plan = rule(plan, semantics)
    return plan


# constants


def fold_constants(plan: Plan, semantics: Semantics) -> Plan:
    """Compute what no row can change."""

    def fold(scalar: Scalar) -> Scalar:
        changed = rebuild(scalar, fold)
        if isinstance(changed, Apply) and _is_decided(changed):
            return Constant(changed.op == "OR")
        if not _is_constant(changed):
            return changed
        value = compile_scalar(changed, semantics, _refuse_inner)(())
        return changed if isinstance(value, str | list | dict) and len(value) > _LONGEST else Constant(value)

    return rewrite_everywhere(plan, lambda node: map_scalars(node, fold))


def _is_decided(scalar: Apply) -> bool:
    """Whether one constant decides an AND or an OR, whatever the other operands are."""
    if scalar.op not in ("AND", "OR"):
        return False
    decisive = scalar.op == "OR"
    return any(isinstance(part, Constant) and part.value is decisive for part in scalar.operands)


def _is_constant(scalar: Scalar) -> bool:
    parts = parts_of(scalar)
    if not all(isinstance(part, Constant) for part in parts):
        return False
    if not parts:
        return isinstance(scalar, MakeArray | MakeObject)
    if isinstance(scalar, Invoke):
        function = FUNCTIONS[scalar.name]
        return function.deterministic and not function.needs_context
    return True


def _refuse_inner(plan: object) -> Values:
    raise TypeError(f"constants hold no inner query such as {plan}")


# filters


def simplify_filters(plan: Plan, _: Semantics) -> Plan:
    """One filter where there are several above each other, without what is always true."""

    def simplify(node: Plan) -> Plan:
        if not isinstance(node, Filter):
            return node
        below = node.input
        conjuncts = [part for part in conjuncts_of(node.condition) if not _is_true(part)]
        if isinstance(below, Filter):
            conjuncts = conjuncts_of(below.condition) + conjuncts
            below = below.input
        return _filter(below, conjuncts)

    return rewrite_everywhere(plan, simplify)


def _is_true(scalar: Scalar) -> bool:
    return isinstance(scalar, Constant) and scalar.value is True


def _filter(below: Plan, conjuncts: list[Scalar]) -> Plan:
    if not conjuncts:
        return below
    return Filter(below, conjuncts[0] if len(conjuncts) == 1 else Apply("AND", tuple(conjuncts)))


def push_filters(plan: Plan, _: Semantics) -> Plan:
    """Filter before rows are multiplied."""

    def push(node: Plan) -> Plan:
        if not isinstance(node, Filter) or not isinstance(node.input, Unnest | Bind):
            return node
        maker = node.input
        conjuncts = conjuncts_of(node.condition)
        moved = [part for part in conjuncts if _is_below(part, maker.slot)]
        if not moved:
            return node
        kept = [part for part in conjuncts if not _is_below(part, maker.slot)]
        return _filter(replace(maker, input=push(_filter(maker.input, moved))), kept)

    return rewrite_everywhere(plan, push)


def _is_below(scalar: Scalar, slot: int) -> bool:
    """Whether an expression means the same where the row is shorter; inner queries count on its length."""
    return not any(isinstance(part, Nested) for part in walk(scalar)) and max(slots_in(scalar), default=0) < slot


# order


def bound_sorts(plan: Plan, _: Semantics) -> Plan:
    """Keep in a sort what can still come out; not where a row may project to nothing."""

    def bound(node: Plan) -> Plan:
        match node:
            case Slice(Project(Sort(most=()) as sort, value) as project, offset, limit) if _is_defined(value):
                return replace(node, input=replace(project, input=replace(sort, most=(offset, limit))))
            case _:
                return node

    return rewrite_everywhere(plan, bound)


def _is_defined(scalar: Scalar) -> bool:
    """Whether an expression always has a value."""
    if isinstance(scalar, Constant):
        return scalar.value is not UNDEFINED
    return isinstance(scalar, MakeObject | MakeArray | Variable)


def wish_everywhere(plan: Plan, _: Semantics) -> Plan:
    """Say on the scan what an index could do."""
    return wish_terms(plan)


RULES: Final[tuple[Rule, ...]] = (fold_constants, simplify_filters, push_filters, bound_sorts, wish_everywhere)
