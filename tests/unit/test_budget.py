"""The arithmetic of a budget: what comes through over many seconds, and what each option adds."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.budget import (
    PLAIN,
    Allowance,
    Budget,
    Limit,
    State,
    Window,
    Wish,
    allow,
    carry,
    judge,
    open_window,
    scale_factor,
)

RATE = 400.0
LOW = Wish(low=True)
NO_MINUTE = Wish(minute=False)


def offer(
    budget: Budget, cost: float, per_second: float, seconds: int, wish: Wish = PLAIN, start: int = 0
) -> list[float]:
    """Evenly paced operations, charged at once; what came through in each second."""
    through = [0.0] * seconds
    for number in range(int(per_second * seconds)):
        now = start + (number + 0.5) / per_second
        if budget.refuse(now, wish) is None:
            budget.charge(now, cost)
            through[int(now) - start] += cost
    return through


@pytest.mark.parametrize("cost", [1.0, 6.0, 100.0, 380.0, 399.0, 500.0, 3000.0])
def test_the_mean_is_the_rate_whatever_an_operation_costs(cost: float) -> None:
    through = offer(Budget(Allowance(RATE)), cost, max(1.5 * RATE / cost, 4.0), 600)
    assert sum(through) / 600 == pytest.approx(RATE, rel=0.02)


@pytest.mark.parametrize("cost", [380.0, 399.0])
def test_a_reset_without_debt_would_admit_nearly_twice_the_rate(cost: float) -> None:
    """The reason for the debt: two operations fit where one does, and nobody pays for the second."""
    forgetful = through = 0.0
    budget = Budget(Allowance(RATE))
    for second in range(60):
        used = 0.0
        for part in range(4):
            if used < RATE:
                used += cost
            if budget.refuse(second + part / 4) is None:
                budget.charge(second + part / 4, cost)
                through += cost
        forgetful += used
    assert forgetful / 60 >= 1.9 * RATE
    assert through / 60 <= RATE + cost / 60


def test_late_charges_are_owed_too() -> None:
    """Everything that is under way when a second begins is admitted; the seconds after it pay."""
    budget = Budget(Allowance(RATE))
    through = 0.0
    for second in range(100):
        admitted = sum(budget.refuse(second + 0.001) is None for _ in range(200))
        budget.charge(second + 0.9, admitted * 6.0)
        through += admitted * 6.0
    assert through / 100 == pytest.approx(RATE, rel=0.05)


def test_nothing_is_saved_without_a_bank() -> None:
    budget = Budget(Allowance(RATE))
    assert sum(offer(budget, 1.0, 1000, 1, start=300)) == RATE


def test_a_bank_saves_what_is_left_and_spends_it_up_to_the_ceiling() -> None:
    budget = Budget(allow(100.0, burst=True))
    through = offer(budget, 1.0, 5000, 20, start=1000)
    # 300 s of 100 make 30,000, which 3,000 a second use up in a little over ten seconds: 100 come in all the time.
    assert through[:10] == [3000.0] * 10
    assert through[10] == 1100.0
    assert through[11:] == [100.0] * 9


def test_a_partition_that_has_the_ceiling_gets_no_bank() -> None:
    assert allow(3000.0, burst=True) == Allowance(3000.0)
    assert allow(2999.0, burst=True).bank == 300 * 2999


def test_a_minute_is_drawn_when_the_second_is_spent_and_full_again_with_the_next() -> None:
    budget = Budget(allow(100.0, per_minute=True))
    through = offer(budget, 1.0, 400, 120)
    assert through[:3] == [400.0] * 3
    assert sum(through[:60]) == 60 * 100 + 1000
    assert through[4:60] == [100.0] * 56
    assert sum(through[60:]) == 60 * 100 + 1000


def test_what_is_left_of_a_minute_is_lost() -> None:
    budget = Budget(allow(100.0, per_minute=True))
    assert sum(offer(budget, 1.0, 10_000, 1, start=179)) == 1100.0
    assert sum(offer(budget, 1.0, 10_000, 1, start=180)) == 1100.0


def test_a_request_may_leave_the_minute_alone() -> None:
    budget = Budget(allow(100.0, per_minute=True))
    assert sum(offer(budget, 1.0, 400, 10, NO_MINUTE)) == 1000.0
    assert budget.refuse(9.999, NO_MINUTE) is Limit.SECOND
    assert budget.refuse(9.999) is None


def test_the_limit_that_was_hit_is_named() -> None:
    plain, both = Window(100.0, 100.0), Window(100.0, 300.0)
    assert judge(plain, 100.0, 0.5) is Limit.SECOND
    assert judge(both, 100.0, 0.5) is None
    assert judge(both, 300.0, 0.5) is Limit.MINUTE
    assert judge(both, 300.0, 0.5, NO_MINUTE) is Limit.SECOND
    assert judge(plain, 60.0, 0.5, LOW) is Limit.LOW


def test_low_priority_takes_what_others_leave() -> None:
    budget = Budget(Allowance(100.0))
    through = {False: 0, True: 0}
    for step in range(60 * 400):
        now = step / 400
        wishes = [LOW, Wish()] if step % 5 == 0 else [LOW]  # 400 of low priority a second, 80 of high
        for wish in wishes:
            if budget.refuse(now, wish) is None:
                budget.charge(now, 1.0)
                through[wish.low] += 1
    assert through[False] == 60 * 80
    assert through[True] == pytest.approx(60 * 20, rel=0.1)


def test_without_a_rate_everything_is_metered_and_nothing_refused() -> None:
    budget = Budget(Allowance())
    assert sum(offer(budget, 1000.0, 100, 10)) == 10 * 100 * 1000
    assert budget.refuse(11.0) is None
    assert budget.state == State()


@given(
    rate=st.integers(1, 10_000),
    spent=st.lists(st.integers(0, 40_000), max_size=70),
    since=st.integers(0, 1000),
    idle=st.integers(0, 200),
    per_minute=st.booleans(),
    burst=st.booleans(),
)
def test_idle_seconds_are_the_same_one_by_one_and_together(
    rate: int, spent: list[int], since: int, idle: int, per_minute: bool, burst: bool
) -> None:
    allowance = allow(float(rate), per_minute=per_minute, burst=burst)
    start = State(0.0, allowance.minute)
    until = since + len(spent) + idle
    together = carry(start, allowance, since, spent, until)
    one_by_one = carry(start, allowance, since, [*spent, *[0] * idle], until)
    step = start
    for second, used in enumerate([*spent, *[0] * idle], since):
        step = carry(step, allowance, second, [used], second + 1)
    assert together == pytest.approx(one_by_one)
    assert together == pytest.approx(step)
    assert together.credit <= allowance.bank
    assert 0.0 <= together.minute <= allowance.minute


@given(
    rate=st.integers(1, 1000),
    costs=st.lists(st.floats(0.1, 5000.0), min_size=1, max_size=30),
    part=st.floats(0.0, 0.999),
)
def test_who_waits_as_told_is_admitted_and_not_a_second_earlier(rate: int, costs: list[float], part: float) -> None:
    budget = Budget(Allowance(float(rate)))
    now = 10.0 + part
    for cost in costs:
        budget.charge(now, cost)
    if budget.refuse(now) is None:
        return
    wait = budget.wait(now)
    assert 0.0 < wait <= 1.0 + sum(costs) / rate
    if wait > 1.0:
        assert budget.refuse(now + wait - 1.0 - 1e-6) is Limit.SECOND
    assert budget.refuse(now + wait + 1e-6) is None


def test_use_over_any_time_is_bounded_by_rate_and_one_operation() -> None:
    """The bound that the ring is there for, over every window and not only from the start."""
    cost = 130.0
    through = offer(Budget(Allowance(RATE)), cost, 30, 200)
    for start in range(200):
        for end in range(start + 1, 201):
            assert sum(through[start:end]) < RATE * (end - start) + 2 * cost


@pytest.mark.parametrize(
    ("spent", "factor"),
    [
        ([], 0.1),
        ([0.0] * 60, 0.1),
        ([1000.0] * 4 + [0.0] * 56, 0.8),
        ([0.0] * 20 + [1000.0] * 5 + [0.0] * 35, 1.0),
        ([333.0] * 60, 0.34),
        ([5000.0], 1.0),
    ],
)
def test_autoscale_is_at_its_maximum_after_five_full_seconds(spent: list[float], factor: float) -> None:
    assert scale_factor(spent, 1000.0) == factor


def test_a_window_without_limit_has_no_end() -> None:
    assert open_window(State(), Allowance()) == Window(inf, inf)
