"""Time, injected: everything that needs a moment takes a `Clock`; only this module asks the machine.

Order never comes from a clock (order is the LSN). Wall time stamps items; monotonic time measures waits.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """The two clocks: wall time in units of 100 ns since 1970, monotonic time in seconds."""

    ticks: Callable[[], int] = lambda: time.time_ns() // 100
    monotonic: Callable[[], float] = time.monotonic


TICKS_PER_SECOND = 10_000_000
