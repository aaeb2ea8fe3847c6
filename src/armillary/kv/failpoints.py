"""Named places where a test can end the process: `reach("after-commit")`.

Armed only by the environment, when the process starts: `ARMILLARY_FAILPOINTS=after-commit=kill:0.01,before-drop=kill#3`
kills the process (SIGKILL) at the one place with that probability, at the other the third time it is reached; without
either, the first time. `kill-family` kills the whole process group with it, at the same moment. Unarmed, reaching a
place is a call that does nothing.
"""

import os
import random
import re
import signal
from collections.abc import Callable
from itertools import count
from typing import Final

VARIABLE: Final = "ARMILLARY_FAILPOINTS"
_SETTING: Final = re.compile(r"([a-z-]+)=(kill|kill-family)(?::([0-9.]+)|#([0-9]+))?")


def _pass_by(_name: str) -> None:
    """Nothing is armed."""


def arm(text: str) -> Callable[[str], None]:
    """The `reach` of a setting."""
    if not text:
        return _pass_by
    places = dict(_read_part(part) for part in text.split(","))

    def reach(name: str) -> None:
        if name in places:
            places[name]()

    return reach


def _read_part(part: str) -> tuple[str, Callable[[], None]]:
    found = _SETTING.fullmatch(part)
    if found is None:
        raise ValueError(f"{VARIABLE}: {part!r} is not NAME=kill or NAME=kill-family, with :PROBABILITY or #TIME")
    name, verb, chance, time = found.groups()
    # Advancing it is one step of the interpreter: threads that pass together are counted one by one.
    passed = count(1)

    def pass_place() -> None:
        if next(passed) == int(time) if time else random.random() < float(chance or 1):
            os.kill(os.getpid() if verb == "kill" else 0, signal.SIGKILL)

    return name, pass_place


reach = arm(os.environ.get(VARIABLE, ""))
