"""What a built-in function is to those who call it: a row of the registry."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

UNBOUNDED: Final = 1 << 16


class Context(NamedTuple):
    """What functions may know besides their arguments; handed down, so that a run can be repeated.

    `started` is when the statement began and `now` what time it is, in units of 100 ns since 1970; `draw` gives a
    random number from 0 up to, but not with, 1.
    """

    started: int
    now: Callable[[], int]
    draw: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Function:
    """One function: how many arguments it takes, and `call`, which gives a value or `UNDEFINED` and never raises.

    `call` takes evaluated arguments, undefined ones too. With `needs_context` a `Context` comes before them. What is
    not deterministic must be called again for every row; the rest may be computed once where its arguments are known.
    """

    name: str
    least: int
    most: int
    call: Callable[..., object]
    deterministic: bool = True
    needs_context: bool = False
