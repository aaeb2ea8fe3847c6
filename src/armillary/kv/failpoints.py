"""Named places where a test can end the process: `reach("after-commit")`.

Armed only by the environment, when the process starts: `ARMILLARY_FAILPOINTS=after-commit=kill:0.01,before-rename=kill`
kills the process (SIGKILL) at the place, with that probability. Unarmed, reaching one is a call that does nothing.
"""

import os
import random
import signal
from collections.abc import Callable

VARIABLE = "ARMILLARY_FAILPOINTS"


def _pass_by(_name: str) -> None:
    """Nothing is armed."""


def arm(text: str) -> Callable[[str], None]:
    """The `reach` of a setting."""
    if not text:
        return _pass_by
    chances: dict[str, float] = {}
    for part in text.split(","):
        name, _, action = part.partition("=")
        verb, _, chance = action.partition(":")
        if verb != "kill":
            raise ValueError(f"{VARIABLE}: {part!r} is not NAME=kill or NAME=kill:PROBABILITY")
        chances[name] = float(chance or 1)

    def reach(name: str) -> None:
        if name in chances and random.random() < chances[name]:
            os.kill(os.getpid(), signal.SIGKILL)

    return reach


reach = arm(os.environ.get(VARIABLE, ""))
