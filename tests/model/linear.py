"""Whether what clients saw of one item can have happened one operation at a time, each between its start and its stop.

    check(history) -> None, or the Fault: the operation that nothing can explain, and what the item could have been

The search is that of Wing and Gong as Lowe made it: events are taken in the order of time, and a *configuration* is
what the item holds together with the operations that have taken effect without having stopped yet. When an operation
stops, every configuration in which it has not taken effect lets others that are under way go first, in every order,
until it has; where that is impossible the configuration ends. The same configuration is never gone into twice. Where
nothing is under way only the values themselves are left, so a history costs what its crowded moments cost, however
long it is.

An operation whose outcome nobody knows is under way for ever, and need not take effect at all. A configuration that has
used up more of these than another with the same value explains nothing that the other cannot, and is dropped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Final, NamedTuple, TypeAlias


class Kind(Enum):
    """What was asked for."""

    CREATE = "create"
    READ = "read"
    REPLACE = "replace"
    UPSERT = "upsert"
    DELETE = "delete"


class Outcome(Enum):
    """What was answered; `UNKNOWN` is no answer, or one that leaves open whether it was done."""

    DONE = "done"
    CREATED = "created"
    REPLACED = "replaced"
    MISSING = "missing"
    EXISTS = "exists"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on the item. `value` is what it wrote or read, `expected` what a condition wanted to find.

    Every write brings a value of its own: a value that is read tells which write it is from.
    """

    kind: Kind
    outcome: Outcome
    start: float
    stop: float
    value: str = ""
    expected: str = ""

    @property
    def is_known(self) -> bool:
        return self.outcome is not Outcome.UNKNOWN


State: TypeAlias = str | None
ABSENT: Final[State] = None
UNTOLD: Final = "\0untold"
IMPOSSIBLE: Final = "\0impossible"


class Fault(NamedTuple):
    """The operation that has no place, and the values the item could have had when it stopped."""

    operation: Operation
    possible: tuple[State, ...]

    def __str__(self) -> str:
        return f"{self.operation} has no place; the item could have been {', '.join(map(repr, self.possible))}"


class _Configuration(NamedTuple):
    """What the item holds; which operations under way have taken effect, and which of unknown outcome."""

    state: State
    done: frozenset[int]
    spent: frozenset[int]


class _Frontier:
    """Configurations still to be gone into, each once, without those that another one makes needless."""

    def __init__(self, found: Iterable[_Configuration] = ()) -> None:
        self._least: dict[tuple[State, frozenset[int]], list[frozenset[int]]] = {}
        self._todo: list[_Configuration] = []
        for each in found:
            self.add(each)

    def add(self, found: _Configuration) -> None:
        known = self._least.setdefault((found.state, found.done), [])
        if not any(spent <= found.spent for spent in known):
            known[:] = [spent for spent in known if not found.spent <= spent]
            known.append(found.spent)
            self._todo.append(found)

    def take(self) -> Iterator[_Configuration]:
        """All of them, also those that are added meanwhile."""
        while self._todo:
            yield self._todo.pop()

    def __iter__(self) -> Iterator[_Configuration]:
        for (state, done), known in self._least.items():
            for spent in known:
                yield _Configuration(state, done, spent)


def check(history: Iterable[Operation], state: State = ABSENT) -> Fault | None:
    """The first operation that cannot have happened, or None when the whole history can."""
    search = _Search([found for found in history if found.is_known or found.kind is not Kind.READ])
    alive = [_Configuration(state, frozenset(), frozenset())]
    waiting: set[int] = set()
    for at, starts in search.list_events():
        if starts:
            waiting.add(at)
            continue
        after = list(search.advance(alive, at, waiting))
        if not after:
            possible = {each.state for each in alive}
            return Fault(search.operations[at], tuple(sorted(possible, key=str)))
        waiting.remove(at)
        alive = after
    return None


class _Search:
    """The operations of a history, and until when somebody tells each value.

    From then on a value is like any other that nobody will tell again: one name stands for all of them.
    """

    def __init__(self, operations: list[Operation]) -> None:
        self.operations = operations
        self._told: dict[State, float] = {}
        for found in operations:
            stop = found.stop if found.is_known else inf
            for value in (found.value if found.kind is Kind.READ else "", found.expected):
                self._told[value] = max(stop, self._told.get(value, stop))

    def list_events(self) -> Iterator[tuple[int, bool]]:
        """Starts and stops in the order of time; what starts at the moment another stops is beside it."""
        events = [(found.start, 0, at) for at, found in enumerate(self.operations)]
        events += [(found.stop, 1, at) for at, found in enumerate(self.operations) if found.is_known]
        for _, stops, at in sorted(events):
            yield at, not stops

    def advance(self, alive: list[_Configuration], must: int, waiting: set[int]) -> _Frontier:
        """The configurations in which this operation has taken effect; it has stopped, so they need not say so."""
        now = self.operations[must].stop
        known = {at for at in waiting if self.operations[at].is_known}
        unknown = self._group(waiting, {each.state for each in alive}, now)
        frontier, after = _Frontier(alive), _Frontier()
        for found in frontier.take():
            if must in found.done:
                after.add(found._replace(state=self._name(found.state, now), done=found.done - {must}))
                continue
            for at in known - found.done:
                state = apply(found.state, self.operations[at])
                if state is not IMPOSSIBLE:
                    frontier.add(_Configuration(self._name(state, now), found.done | {at}, found.spent))
            for alike in unknown:
                left = next((at for at in alike if at not in found.spent), None)
                state = IMPOSSIBLE if left is None else apply(found.state, self.operations[left])
                if left is not None and state is not IMPOSSIBLE:
                    frontier.add(_Configuration(self._name(state, now), found.done, found.spent | {left}))
        return after

    def _group(self, waiting: set[int], states: set[State], now: float) -> list[list[int]]:
        """Operations of unknown outcome by what they would do now, since one of them stands for all that are alike.

        A condition on a value that the item does not have and nobody under way writes is never met again.
        """
        writable = {self.operations[at].value for at in waiting} | states
        groups: dict[tuple[Kind, State, str], list[int]] = {}
        for at in sorted(waiting):
            found = self.operations[at]
            if not found.is_known and (not found.expected or found.expected in writable):
                groups.setdefault((found.kind, self._name(found.value, now), found.expected), []).append(at)
        return list(groups.values())

    def _name(self, state: State, now: float) -> State:
        return state if state is ABSENT or self._told.get(state, -inf) >= now else UNTOLD


def apply(state: State, operation: Operation) -> State:
    """What the item holds after the operation, `IMPOSSIBLE` where it cannot have been answered like that."""
    kind, outcome, present = operation.kind, operation.outcome, state is not ABSENT
    meets = not operation.expected or state == operation.expected
    if outcome is Outcome.MISSING:
        return IMPOSSIBLE if present else state
    if outcome is Outcome.EXISTS:
        return state if present else IMPOSSIBLE
    if outcome is Outcome.CHANGED:
        return state if present and not meets else IMPOSSIBLE
    if kind is Kind.READ:
        return state if state == operation.value else IMPOSSIBLE
    if kind is Kind.CREATE or outcome is Outcome.CREATED:
        return IMPOSSIBLE if present else operation.value
    if kind is Kind.UPSERT and outcome is Outcome.UNKNOWN:
        return operation.value if meets else IMPOSSIBLE
    if not (present and meets):
        return IMPOSSIBLE
    return ABSENT if kind is Kind.DELETE else operation.value
