"""Meters in shared memory: workers see each other, the dead are followed, slots go round, and clocks may jump."""

import os
import random
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import pytest

from armillary.budget import PLAIN, Allowance, Budget, Wish, allow
from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.hotkeys import Hot
from armillary.meter import SECONDS, Cell, Meter, MeterMap, MeterReader, Meters, read_board, write_board

SEED = 20261119
NOON = 1_800_000_000
P, Q = b"p" * 16, b"q" * 16


class Hands:
    """A clock whose hands are set by the test."""

    def __init__(self) -> None:
        self.steady = 5.0
        self.wall = float(NOON)
        self.clock = Clock(ticks=lambda: int(self.wall * TICKS_PER_SECOND), monotonic=lambda: self.steady)

    def go(self, seconds: float) -> None:
        self.steady += seconds
        self.wall += seconds


@pytest.fixture
def hands() -> Hands:
    return Hands()


def use(meter: Meter, shared: MeterMap, units: float, size: int = 100, key: bytes | None = None) -> bool:
    """One operation, if it is admitted."""
    now = shared.now()
    if meter.refuse(now, PLAIN) is not None:
        meter.note_refusal(key, key)
        return False
    meter.book(now, now, units, size, key, key)
    return True


def open_meter(shared: MeterMap, worker: int = 0, rate: float = 400.0) -> Meter:
    meter = Meters(shared, worker).open(P)
    meter.adopt(Allowance(rate))
    return meter


# ---- one worker


@pytest.mark.parametrize("allowance", [Allowance(400.0), allow(50.0, burst=True), allow(80.0, per_minute=True)])
def test_a_meter_decides_like_a_budget(hands: Hands, allowance: Allowance) -> None:
    """The ring is another way to keep the same numbers."""
    draw = random.Random(SEED)
    shared = MeterMap(1, hands.clock)
    meter = Meters(shared).open(P)
    meter.adopt(allowance)
    budget = Budget(allowance, shared.now())
    for _ in range(20_000):
        hands.go(
            draw.choice((0.001, 0.01, 0.1, draw.expovariate(20.0), draw.random() * 3 if draw.random() < 0.01 else 0))
        )
        now, wish = shared.now(), Wish(low=draw.random() < 0.1, minute=draw.random() < 0.8)
        limit = meter.refuse(now, wish)
        assert limit is budget.refuse(now, wish)
        assert meter.wait(now) == pytest.approx(budget.wait(now))
        if limit is None:
            units = draw.choice((1.0, 6.0, 30.0))
            meter.book(now, now, units, 10, None, None)
            budget.charge(now, units)


def test_a_long_pause_forgets_no_debt_and_saves_no_more_than_the_bank(hands: Hands) -> None:
    shared = MeterMap(1, hands.clock)
    meter = open_meter(shared)
    assert use(meter, shared, 400.0 * 100)
    hands.go(90)
    assert not use(meter, shared, 1.0)
    assert meter.wait(shared.now()) == pytest.approx(10.0, abs=1.0)
    hands.go(10)
    assert use(meter, shared, 1.0)
    hands.go(3600)
    assert sum(use(meter, shared, 1.0) for _ in range(1000)) == 400


def test_the_clock_steps_and_nothing_is_refunded(hands: Hands) -> None:
    """An hour back, an hour forward: the time of day is read once, when the server starts."""
    shared = MeterMap(1, hands.clock)
    meter = open_meter(shared)
    assert sum(use(meter, shared, 1.0) for _ in range(1000)) == 400
    for step in (-3600.0, 3600.0, 3600.0, -7200.0):
        hands.wall += step
        assert not use(meter, shared, 1.0)
        assert shared.now() == pytest.approx(NOON + hands.steady - 5.0)
    hands.go(1.0)
    assert sum(use(meter, shared, 1.0) for _ in range(1000)) == 400


def test_an_offer_changes_without_punishing_what_was_free(hands: Hands) -> None:
    shared = MeterMap(1, hands.clock)
    meter = Meters(shared).open(P)
    assert all(use(meter, shared, 100.0) for _ in range(100))
    meter.adopt(Allowance(400.0))
    hands.go(1.0)
    assert sum(use(meter, shared, 1.0) for _ in range(1000)) == 400
    meter.adopt(Allowance(600.0))
    assert sum(use(meter, shared, 1.0) for _ in range(1000)) <= 600
    hands.go(1.0)
    assert sum(use(meter, shared, 1.0) for _ in range(1000)) == 600


def test_a_debt_stays_when_the_offer_changes(hands: Hands) -> None:
    shared = MeterMap(1, hands.clock)
    meter = open_meter(shared, rate=100.0)
    assert use(meter, shared, 1100.0)
    hands.go(1.0)
    assert not use(meter, shared, 1.0)  # 1,000 are owed
    meter.adopt(Allowance(500.0))
    hands.go(1.0)
    assert not use(meter, shared, 1.0)
    hands.go(1.0)
    assert use(meter, shared, 1.0)


# ---- several workers


def test_workers_spend_one_budget(hands: Hands) -> None:
    shared = MeterMap(4, hands.clock)
    meters = [open_meter(shared, worker) for worker in range(4)]
    draw = random.Random(SEED)
    through = 0
    for _ in range(60):
        for _ in range(1000):
            through += 6 * use(draw.choice(meters), shared, 6.0)
        hands.go(1.0)
    assert through / 60 == pytest.approx(400.0, rel=0.05)


def test_one_busy_worker_gets_what_the_others_leave(hands: Hands) -> None:
    shared = MeterMap(4, hands.clock)
    meters = [open_meter(shared, worker) for worker in range(4)]
    hands.go(1.0)
    assert use(meters[3], shared, 100.0)
    assert sum(use(meters[0], shared, 1.0) for _ in range(1000)) in (300, 400)  # it looks for others once a second
    hands.go(1.0)
    assert use(meters[3], shared, 100.0)
    assert sum(use(meters[0], shared, 1.0) for _ in range(1000)) <= 300


def test_a_late_booking_is_owed_by_everybody(hands: Hands) -> None:
    """A worker read the clock, was put aside, and books into a second that the other has settled already."""
    shared = MeterMap(2, hands.clock)
    one, two = open_meter(shared, 0), open_meter(shared, 1)
    for meter in (one, two):
        assert use(meter, shared, 1.0)
    late = shared.now()
    hands.go(1.0)
    assert use(one, shared, 1.0)
    two.book(late, late, 2000.0, 0, None, None)
    hands.go(1.0)
    assert not use(one, shared, 1.0)


def test_a_worker_that_comes_late_goes_on_from_where_the_others_are(hands: Hands) -> None:
    shared = MeterMap(2, hands.clock)
    one = open_meter(shared, 0)
    for _ in range(100):
        use(one, shared, 500.0)
        hands.go(1.0)
    hands.go(10.0)
    assert use(one, shared, 40_000.0)
    hands.go(80.0)
    two = open_meter(shared, 1)
    assert not use(two, shared, 1.0)
    hands.go(25.0)
    assert use(two, shared, 1.0)


def test_a_worker_that_was_idle_for_long_learns_what_the_others_owe(hands: Hands) -> None:
    shared = MeterMap(2, hands.clock)
    one, two = open_meter(shared, 0), open_meter(shared, 1)
    assert use(one, shared, 1.0)
    assert use(two, shared, 1.0)
    for _ in range(200):
        hands.go(1.0)
        assert use(one, shared, 400.0)
    assert not use(one, shared, 1.0)
    hands.go(1.0)
    assert use(one, shared, 40_000.0)
    hands.go(70.0)
    assert not use(two, shared, 1.0)


def test_a_worker_that_died_is_followed_by_one_that_goes_on(hands: Hands) -> None:
    shared = MeterMap(2, hands.clock)
    first = open_meter(shared, 0)
    assert sum(use(first, shared, 1.0) for _ in range(150)) == 150
    second = open_meter(shared, 0)
    assert sum(use(second, shared, 1.0) for _ in range(1000)) == 250
    cell = MeterReader(shared).read_seconds(P, int(shared.now()), int(shared.now()) + 1)[0]
    assert (cell.units, cell.requests) == (400.0, 400.0)
    assert cell.refused == 750.0


# ---- figures


def test_every_second_can_be_read_back(hands: Hands) -> None:
    shared = MeterMap(3, hands.clock)
    meters = [open_meter(shared, worker, rate=1e9) for worker in range(3)]
    start = int(shared.now())
    for second in range(50):
        for meter in meters:
            if second % 2:
                use(meter, shared, float(second), size=10)
        hands.go(1.0)
    cells = MeterReader(shared).read_seconds(P, start, start + 50)
    assert cells == [
        Cell(start + second, 3.0 * second, 3.0, 0.0, 30.0) if second % 2 else Cell(start + second)
        for second in range(50)
    ]


def test_only_the_last_minute_is_known(hands: Hands) -> None:
    shared = MeterMap(1, hands.clock)
    meter = open_meter(shared, rate=1e9)
    for _ in range(SECONDS + 10):
        use(meter, shared, 1.0)
        hands.go(1.0)
    now = int(shared.now())
    cells = MeterReader(shared).read_seconds(P, now - SECONDS - 5, now)
    assert [cell.units for cell in cells] == [0.0] * 5 + [1.0] * SECONDS


def test_hot_keys_are_shown_to_all(hands: Hands) -> None:
    shared = MeterMap(2, hands.clock)
    meters = [Meters(shared, worker, show=lambda name: name.decode()) for worker in range(2)]
    one, two = (side.open(P) for side in meters)
    one.adopt(Allowance(100.0))
    for count, key in ((60, b"hot"), (30, b"warm"), (40, b"late")):
        for _ in range(count):
            use(one, shared, 1.0, 10, key)
    assert one.top(2) == [Hot("hot", 60.0, 600.0, 0.0), Hot("warm", 30.0, 300.0, 0.0)]
    hands.go(1.0)
    use(one, shared, 1.0, 10, b"hot")
    shown = [Hot("hot", 60.0, 600.0, 0.0), Hot("warm", 30.0, 300.0, 0.0), Hot("late", 10.0, 100.0, 30.0)]
    assert MeterReader(shared).read_hot(P) == [shown, []]
    use(two, shared, 1.0)
    assert two.read_others() == [shown]


def test_a_board_holds_what_fits_and_a_torn_one_says_nothing() -> None:
    shared = MeterMap(1, slots=1)
    at = shared.slot(0, 0) + 512
    hot = [Hot("k" * 100 + str(number), 1.0, 2.0, 3.0) for number in range(60)]
    assert read_board(shared, at, 7) == []
    write_board(shared, at, 7, hot)
    found = read_board(shared, at, 7)
    assert found == hot[: len(found)]
    assert len(found) > 10
    assert read_board(shared, at, 8) == found
    assert read_board(shared, at, 9) == []
    shared.bytes[at * 8 + 20] ^= 1
    assert read_board(shared, at, 7) == []
    shared.bytes[at * 8 : at * 8 + 8] = b"\xff" * 8
    assert read_board(shared, at, 7) == []


# ---- slots


def test_slots_of_who_was_idle_longest_are_given_to_others(hands: Hands) -> None:
    shared = MeterMap(2, hands.clock, slots=3)
    side = Meters(shared, 0)
    reader = MeterReader(shared)
    names = [bytes([number]) * 16 for number in range(5)]
    old = []
    for name in names:
        meter = side.open(name)
        old.append(meter)
        assert use(meter, shared, 7.0)
        hands.go(1.0)
    now = int(shared.now())
    sums = [sum(cell.units for cell in reader.read_seconds(name, now - 10, now)) for name in names]
    assert sums == [0.0, 0.0, 7.0, 7.0, 7.0]
    # Who still holds the meter of a slot that went away books into nothing.
    hands.go(1.0)
    assert use(old[0], shared, 1000.0)
    assert [sum(cell.units for cell in reader.read_seconds(name, now - 10, now + 5)) for name in names] == sums


def test_others_find_a_slot_again_after_it_moved(hands: Hands) -> None:
    shared = MeterMap(2, hands.clock, slots=1)
    ours, theirs = Meters(shared, 0), Meters(shared, 1)
    for name in (P, Q, P):
        mine, other = ours.open(name), theirs.open(name)
        for meter in (mine, other):
            meter.adopt(Allowance(100.0))
        hands.go(100.0)
        assert use(other, shared, 60.0)
        assert use(mine, shared, 60.0)
        assert not use(mine, shared, 60.0)


# ---- processes


def spend(shared: MeterMap, worker: int, pipe: Any) -> None:
    """A worker process: for every second it is told of, as many operations as it gets through."""
    meter = open_meter(shared, worker)
    while (cost := pipe.recv()) is not None:
        through = 0.0
        for _ in range(2000):
            through += cost * use(meter, shared, cost)
        pipe.send(through)
    os._exit(0)


@pytest.fixture
def ticking() -> tuple[MeterMap, Callable[[], None]]:
    """A map whose clock stands in shared memory, so that the test moves the time of all processes."""
    face = MeterMap(slots=1)  # any memory that children share
    face.cells[0] = 100.0

    def tick() -> None:
        face.cells[0] += 1.0

    return MeterMap(4, Clock(ticks=lambda: 100 * TICKS_PER_SECOND, monotonic=lambda: float(face.cells[0]))), tick


@pytest.mark.parametrize("cost", [1.0, 6.0, 100.0, 380.0])
def test_processes_spend_one_budget(ticking: tuple[MeterMap, Callable[[], None]], cost: float) -> None:
    """Real processes race inside each second; over 40 of them the mean is the rate."""
    shared, tick = ticking
    fork = get_context("fork")
    workers = []
    for worker in range(4):
        ours, theirs = fork.Pipe()
        process = fork.Process(target=spend, args=(shared, worker, theirs), daemon=True)
        process.start()
        workers.append((process, ours))
    through = []
    for _ in range(42):
        for _, pipe in workers:
            pipe.send(cost)
        through.append(sum(pipe.recv() for _, pipe in workers))
        tick()
    for process, pipe in workers:
        pipe.send(None)
        process.join()
    counted = [cell.units for cell in MeterReader(shared).read_seconds(P, 100, 142)]
    assert counted == through
    assert sum(through[2:]) / 40 == pytest.approx(400.0, rel=0.05)
