"""The checker of histories: it takes what can have happened, also at random, and refuses what cannot."""

import random
from collections.abc import Sequence
from itertools import permutations
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.linear import ABSENT, IMPOSSIBLE, Kind, Operation, Outcome, State, apply, check

CREATE, READ, REPLACE, UPSERT, DELETE = Kind
DONE, CREATED, REPLACED, MISSING, EXISTS, CHANGED, UNKNOWN = Outcome


def history(*rows: tuple[object, ...]) -> list[Operation]:
    return [Operation(*row) for row in rows]  # type: ignore[arg-type]  # rows of a table


GOOD: Final = {
    "one after the other": history(
        (READ, MISSING, 0, 1),
        (CREATE, DONE, 2, 3, "a"),
        (CREATE, EXISTS, 4, 5, "b"),
        (READ, DONE, 6, 7, "a"),
        (REPLACE, CHANGED, 8, 9, "c", "b"),
        (REPLACE, DONE, 10, 11, "c", "a"),
        (UPSERT, REPLACED, 12, 13, "d"),
        (DELETE, DONE, 14, 15, "", "d"),
        (DELETE, MISSING, 16, 17),
        (UPSERT, CREATED, 18, 19, "e"),
    ),
    "a read beside a write sees either": history(
        (CREATE, DONE, 0, 1, "a"),
        (REPLACE, DONE, 2, 9, "b"),
        (READ, DONE, 3, 4, "b"),
        (READ, DONE, 2, 5, "a"),
    ),
    "two writes beside each other in the order that the reads tell": history(
        (UPSERT, REPLACED, 0, 10, "a"),
        (UPSERT, CREATED, 0, 10, "b"),
        (READ, DONE, 11, 12, "a"),
    ),
    "an unknown write that was done": history(
        (CREATE, DONE, 0, 1, "a"),
        (REPLACE, UNKNOWN, 2, 3, "b"),
        (READ, DONE, 4, 5, "a"),
        (READ, DONE, 6, 7, "b"),
    ),
    "an unknown write that was not": history(
        (CREATE, DONE, 0, 1, "a"), (DELETE, UNKNOWN, 2, 3), (REPLACE, DONE, 4, 5, "b")
    ),
    "an unknown deletion and an unknown creation after it": history(
        (CREATE, DONE, 0, 1, "a"),
        (DELETE, UNKNOWN, 2, 3),
        (CREATE, UNKNOWN, 4, 5, "b"),
        (READ, DONE, 6, 7, "b"),
    ),
}

BAD: Final = {
    "a stale read": history(
        (CREATE, DONE, 0, 1, "a"), (REPLACE, DONE, 2, 3, "b"), (READ, DONE, 4, 5, "b"), (READ, DONE, 6, 7, "a")
    ),
    "a lost update": history(
        (CREATE, DONE, 0, 1, "a"), (REPLACE, DONE, 2, 6, "b", "a"), (REPLACE, DONE, 3, 5, "c", "a")
    ),
    "a deleted item that came back": history(
        (CREATE, DONE, 0, 1, "a"), (DELETE, DONE, 2, 3), (READ, MISSING, 4, 5), (READ, DONE, 6, 7, "a")
    ),
    "a write that was acknowledged and lost": history((CREATE, DONE, 0, 1, "a"), (READ, MISSING, 2, 3)),
    "two creations of one item": history((CREATE, DONE, 0, 2, "a"), (CREATE, DONE, 1, 3, "b")),
    "a value before it was written": history((READ, DONE, 0, 1, "a"), (CREATE, DONE, 2, 3, "a")),
    "an unknown write that was done and undone": history(
        (CREATE, DONE, 0, 1, "a"),
        (REPLACE, UNKNOWN, 2, 3, "b"),
        (READ, DONE, 4, 5, "b"),
        (READ, DONE, 6, 7, "a"),
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_can_have_happened_passes(name: str) -> None:
    assert check(GOOD[name]) is None


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_have_happened_is_refused(name: str) -> None:
    assert check(BAD[name]) is not None


def test_a_fault_names_the_operation_and_the_values() -> None:
    fault = check(BAD["a stale read"])
    assert fault is not None
    assert fault.operation == BAD["a stale read"][-1]
    assert fault.possible == ("b",)
    assert "has no place" in str(fault)


def run_clients(seed: int, clients: int, steps: int, unknown: float = 0.0) -> list[Operation]:
    """A history of clients of one true item; each operation takes effect somewhere between its start and its stop."""
    chance = random.Random(seed)
    state: State = ABSENT
    free = [0.0] * clients
    plans = []
    for number in range(steps):
        client = min(range(clients), key=free.__getitem__)
        start = free[client] + chance.random()
        at = start + chance.random() * 3
        stop = at + chance.random() * 3
        free[client] = stop + 1e-6
        plans.append((at, start, stop, number))
    made = []
    for _, start, stop, number in sorted(plans):
        kind = chance.choice(list(Kind))
        value = "" if kind in (READ, DELETE) else f"v{number}"
        expected = state or "" if kind in (REPLACE, DELETE) and chance.random() < 0.5 else ""
        lost = chance.random() < unknown
        if lost and chance.random() < 0.5:
            made.append(Operation(kind, UNKNOWN, start, stop, value, expected))
            continue
        answered, state = answer(state, Operation(kind, DONE, start, stop, value, expected))
        made.append(Operation(kind, UNKNOWN, start, stop, value, expected) if lost else answered)
    return made


def answer(state: State, asked: Operation) -> tuple[Operation, State]:
    """What a true item says, and what it holds then."""
    outcomes = (CREATED, REPLACED) if asked.kind is UPSERT else (DONE,)
    for outcome in (*outcomes, MISSING, EXISTS):
        value = state or "" if asked.kind is READ and outcome is DONE else asked.value
        said = Operation(asked.kind, outcome, asked.start, asked.stop, value, asked.expected)
        after = apply(state, said)
        if after is not IMPOSSIBLE and (outcome is not EXISTS or asked.kind is CREATE):
            return said, after
    raise AssertionError(f"{asked} has no answer")


@pytest.mark.parametrize(("clients", "unknown"), [(8, 0.0), (4, 0.01)])
def test_long_histories_of_a_true_item_pass(clients: int, unknown: float) -> None:
    for seed in range(3):
        assert check(run_clients(seed, clients, 3000, unknown)) is None, f"seed {seed}"


def test_one_false_answer_in_a_long_history_is_found() -> None:
    """A read that tells a value long overwritten, wherever it stands."""
    for seed in range(10):
        made = sorted(run_clients(seed, 4, 1000), key=lambda found: found.stop)
        old = next(found.value for found in made if found.outcome in (DONE, CREATED) and found.kind is not READ)
        at = random.Random(seed).choice([at for at in range(500, 1000) if made[at].kind is READ])
        made[at] = Operation(READ, DONE, made[at].start, made[at].stop, old)
        fault = check(made)
        assert fault is not None, f"seed {seed}"
        assert fault.operation == made[at], f"seed {seed}"


def check_plainly(made: Sequence[Operation]) -> bool:
    """Every order of every choice of operations, tried."""
    known = [found for found in made if found.is_known]
    unknown = [found for found in made if not found.is_known and found.kind is not READ]
    for bits in range(1 << len(unknown)):
        chosen = known + [found for at, found in enumerate(unknown) if bits >> at & 1]
        if any(is_possible(order) for order in permutations(chosen)):
            return True
    return False


def is_possible(order: Sequence[Operation]) -> bool:
    state: State = ABSENT
    for at, found in enumerate(order):
        if any(later.is_known and later.stop < found.start for later in order[at + 1 :]):
            return False
        state = apply(state, found)
        if state is IMPOSSIBLE:
            return False
    return True


OUTCOMES: Final = {
    CREATE: (DONE, EXISTS, UNKNOWN),
    READ: (DONE, MISSING),
    REPLACE: (DONE, MISSING, CHANGED, UNKNOWN),
    UPSERT: (CREATED, REPLACED, UNKNOWN),
    DELETE: (DONE, MISSING, CHANGED, UNKNOWN),
}


@st.composite
def small_histories(draw: st.DrawFn) -> list[Operation]:
    """Up to five operations with any answers, most of them impossible."""
    made = []
    for number in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(list(Kind)))
        outcome = draw(st.sampled_from(OUTCOMES[kind]))
        start = draw(st.integers(0, 6))
        value = draw(st.sampled_from("0123")) if kind is READ and outcome is DONE else str(number)
        expected = draw(st.sampled_from("01")) if outcome is CHANGED else ""
        if outcome in (DONE, UNKNOWN) and kind in (REPLACE, DELETE):
            expected = draw(st.sampled_from(["", "0", "1"]))
        value = "" if kind is DELETE else value
        made.append(Operation(kind, outcome, start, start + draw(st.integers(1, 4)), value, expected))
    return made


@settings(max_examples=400, deadline=None)
@given(small_histories())
def test_it_agrees_with_trying_everything(made: list[Operation]) -> None:
    assert (check(made) is None) == check_plainly(made)
