"""The budget of one partition: arithmetic over whole seconds, the same for the server and for whoever simulates it.

    admit     while used < rate + credit                        before the work, whatever it will cost
    carry     credit <- min(bank, credit + rate - used)         once a second; below zero it is a debt

An operation is admitted as long as anything is left and is charged afterwards, so a second may end over its rate. What
was spent too much is owed by the seconds that follow: a reset without that debt admits nearly twice the rate for ever
when operations are a little smaller than it (380 of 400, twice a second). The mean over time is therefore the rate,
however large the operations and however late they are charged.

Options, each off unless the allowance names it:

    bank      what a second leaves unused is kept, up to so many units, and spent at no more than `ceiling` a second
    minute    so many units a minute on top of the rate, drawn when the second is spent, full again with every minute
    low       a request of low priority is admitted only while use is behind the pace of the running second

Law: a function of the numbers handed in; no clock, no I/O. Seconds are whole numbers of any clock that never goes back,
and a minute begins where they are divisible by 60. Leaves out: who used what (`meter` adds up the workers) and which
throughput an offer asks for (`admission`).
"""

from collections.abc import Sequence
from enum import Enum
from math import ceil, floor, inf
from typing import Final, NamedTuple

BANK_SECONDS: Final = 300
CEILING: Final = 3_000.0
MINUTES_WORTH: Final = 10  # units a minute for each unit a second
MINUTE: Final = 60
LOWEST_FACTOR: Final = 0.1
SUSTAINED: Final = 5  # seconds at full use after which autoscale has reached its maximum


class Allowance(NamedTuple):
    """What a partition may use; without a rate it is metered and never refused."""

    rate: float = inf
    minute: float = 0.0
    bank: float = 0.0
    ceiling: float = 0.0


class State(NamedTuple):
    """What one second hands to the next: unused units (a debt below zero), and what is left of the minute."""

    credit: float = 0.0
    minute: float = 0.0


class Limit(Enum):
    """Which limit refused an operation."""

    SECOND = "second"
    MINUTE = "minute"
    LOW = "low priority"


class Wish(NamedTuple):
    """What a request says about its place in the budget."""

    low: bool = False
    minute: bool = True  # it may draw on the minute
    bucket: int = 0


PLAIN: Final = Wish()


class Window(NamedTuple):
    """What one second may use: without the minute, and with what is left of it."""

    plain: float
    most: float


def allow(rate: float, *, per_minute: bool = False, burst: bool = False, ceiling: float = CEILING) -> Allowance:
    """The allowance of a partition with this rate; one that has the ceiling already gains nothing by a bank."""
    banks = burst and rate < ceiling
    return Allowance(
        rate,
        MINUTES_WORTH * rate if per_minute else 0.0,
        BANK_SECONDS * rate if banks else 0.0,
        ceiling if banks else 0.0,
    )


def open_window(state: State, allowance: Allowance) -> Window:
    plain = allowance.rate + state.credit
    if state.credit > 0.0:
        plain = min(plain, max(allowance.rate, allowance.ceiling))
    return Window(plain, max(plain, 0.0) + state.minute if allowance.minute else plain)


def carry(state: State, allowance: Allowance, since: int, spent: Sequence[float], until: int) -> State:
    """The state at the start of second `until`, from the one at the start of `since` and what was used from there on.

    Seconds behind those of `spent` were idle, however many they are.
    """
    if allowance.rate == inf:
        return State()
    for second, used in enumerate(spent, since):
        state = _close(state, allowance, used, second + 1)
    reached = since + len(spent)
    if until > reached:
        credit = min(allowance.bank, state.credit + allowance.rate * (until - reached))
        renewed = until // MINUTE > reached // MINUTE
        state = State(credit, allowance.minute if renewed else min(state.minute, allowance.minute))
    return state


def _close(state: State, allowance: Allowance, used: float, following: int) -> State:
    over = max(0.0, used - max(0.0, open_window(state, allowance).plain))
    drawn = min(over, state.minute) if allowance.minute else 0.0
    credit = min(allowance.bank, state.credit + allowance.rate - (used - drawn))
    renewed = following % MINUTE == 0
    return State(credit, allowance.minute if renewed else min(state.minute - drawn, allowance.minute))


def judge(window: Window, used: float, elapsed: float, wish: Wish = PLAIN) -> Limit | None:
    """Which limit refuses an operation when so much of the second's window is used; None admits it.

    `elapsed` is the part of the second that is over: low priority takes what others have left so far, no more.
    """
    if wish.low:
        return None if used < window.plain * elapsed else Limit.LOW
    if used < window.plain or (wish.minute and used < window.most):
        return None
    return Limit.MINUTE if wish.minute and window.most > window.plain else Limit.SECOND


def measure_wait(state: State, allowance: Allowance, used: float, elapsed: float) -> float:
    """Seconds until an operation is admitted if nobody else uses anything: this second's rest and the debt's seconds.

    A request of low priority may be admitted before, and one that may draw on the minute when that begins anew.
    """
    credit = state.credit + allowance.rate - used
    owed = floor(-credit / allowance.rate) if credit < 0.0 else 0
    return 1.0 - elapsed + owed


def scale_factor(spent: Sequence[float], rate: float) -> float:
    """How far autoscale has gone, 0.1 to 1: the highest mean use of consecutive seconds, as a part of the maximum."""
    sums = [sum(spent[at : at + SUSTAINED]) for at in range(max(1, len(spent) - SUSTAINED + 1))]
    return min(1.0, max(LOWEST_FACTOR, ceil(100 * max(sums) / (SUSTAINED * rate)) / 100))


class Budget:
    """One partition with all its traffic in one place, on its user's own clock: what a simulator needs."""

    def __init__(self, allowance: Allowance, now: float = 0.0) -> None:
        self.allowance = allowance
        self.state = State(0.0, allowance.minute)
        self.used = 0.0
        self._second = int(now)
        self._window = open_window(self.state, allowance)

    def refuse(self, now: float, wish: Wish = PLAIN) -> Limit | None:
        """The limit that refuses an operation now, or None."""
        self._advance(now)
        return judge(self._window, self.used, now - self._second, wish)

    def charge(self, now: float, units: float) -> None:
        """Book what an operation cost, whenever that is known."""
        self._advance(now)
        self.used += units

    def wait(self, now: float) -> float:
        """What a refused operation is told: seconds until it is worth a try."""
        self._advance(now)
        return measure_wait(self.state, self.allowance, self.used, now - self._second)

    def _advance(self, now: float) -> None:
        second = int(now)
        if second > self._second:
            self.state = carry(self.state, self.allowance, self._second, [self.used], second)
            self._window = open_window(self.state, self.allowance)
            self._second, self.used = second, 0.0
