"""Operations that wait, written once: a generator yields what must be waited for and is sent what came of it.

Everything below `server` is one colour, plain synchronous code. An operation that commits, or that does something slow,
is a generator of steps; whoever drives it chooses how to wait:

    Commit    a work for one partition; the driver sends the `Outcome`, or throws a `Refusal` (queue full, stopping)
    Block     a call that takes milliseconds (makes files, walks a catalog); the driver sends what it returns
    Pause     nothing for so many seconds
    Turn      nothing, once everybody else who waits has had a turn

`server` gives commits to its writer threads, where they are grouped, and blocks to a pool; `drive` below does both at
once, for the command line, the keeper and tests.
"""

import time
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from armillary.kv.engine import Engine, Work

Result = TypeVar("Result")


class Commit(NamedTuple):
    """Please commit this work; answered with its `Outcome`."""

    partition: bytes
    work: Work


class Block(NamedTuple):
    """Please call this where waiting harms nobody; answered with what it returns."""

    call: Callable[[], object]


class Pause(NamedTuple):
    """Please go on after so many seconds."""

    seconds: float


class Turn(NamedTuple):
    """Please go on when others had their turn: what takes long is done in slices."""


Step: TypeAlias = Commit | Block | Pause | Turn
Steps: TypeAlias = Generator[Step, Any, Result]


def drive(engine: Engine, steps: Steps[Result]) -> Result:
    """Run an operation to its end in this thread."""
    try:
        step = next(steps)
        while True:
            try:
                sent = _take(engine, step)
            except Exception as error:  # noqa: BLE001 - not handled here: thrown on into the operation
                step = steps.throw(error)
            else:
                step = steps.send(sent)
    except StopIteration as end:
        result: Result = end.value
        return result


def _take(engine: Engine, step: Step) -> object:
    if isinstance(step, Commit):
        return engine.write(step.partition, [step.work])[0]
    if isinstance(step, Block):
        return step.call()
    if isinstance(step, Pause):
        time.sleep(step.seconds)
    return None
