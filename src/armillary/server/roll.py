"""The roll of the family: who has which part now, and how often a part was left. One page of shared memory.

The parent writes, every process reads. It is made before the first fork. Each figure is 8 bytes at a multiple of 8, so
a reader finds an old figure or a new one and never half of each; two figures may be of different moments.

    for each part: process id, 0 while nobody has it | deaths
"""

import mmap
from collections.abc import Sequence

__all__ = ["Roll"]

_EACH = 2


class Roll:
    """The parts of a family, in the order of their names."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._figures = memoryview(mmap.mmap(-1, 8 * _EACH * len(self.names))).cast("q")

    def enter(self, part: int, pid: int) -> None:
        """A process has this part from now on."""
        self._figures[_EACH * part] = pid

    def note_death(self, part: int) -> None:
        """Nobody has this part any more."""
        self._figures[_EACH * part] = 0
        self._figures[_EACH * part + 1] += 1

    @property
    def deaths(self) -> int:
        """How many processes of the family have died."""
        return sum(self._figures[1::_EACH])

    @property
    def missing(self) -> list[str]:
        """The parts that nobody has now; each is about to be given to a new process."""
        return [name for name, pid in zip(self.names, self._figures[::_EACH], strict=True) if not pid]
