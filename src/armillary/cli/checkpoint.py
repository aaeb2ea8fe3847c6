"""A checkpoint: a small file that says how far a load or dump has come, so that it can go on from there.

It is written whole, to a neighbour that then takes its place, and only says what is done for certain. It belongs to one
task: what is copied from where to where is kept in it, and another task refuses it.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from armillary.cli.exits import CommandError, Exit

__all__ = ["Checkpoint"]


class Checkpoint:
    """The state of one task, in a file; without a file it is never kept."""

    def __init__(self, file: Path | None, task: Mapping[str, str]) -> None:
        self._file = file
        self.kept = file is not None
        self._task = dict(task)

    def read(self) -> dict[str, object]:
        """What was done before; empty when nothing was."""
        if self._file is None or not self._file.exists():
            return {}
        try:
            kept = json.loads(self._file.read_text("utf-8"))
            task, state = kept["task"], kept["state"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CommandError(f"the checkpoint {self._file} cannot be read: {error}", Exit.USAGE) from None
        if task != self._task:
            raise CommandError(f"the checkpoint {self._file} belongs to another task: {task}", Exit.USAGE)
        return dict(state)

    def write(self, state: Mapping[str, object]) -> None:
        if self._file is None:
            return
        neighbour = self._file.with_name(self._file.name + ".new")
        neighbour.write_text(json.dumps({"task": self._task, "state": state}), "utf-8")
        os.replace(neighbour, self._file)

    def remove(self) -> None:
        """All is done: nothing is left to go on with."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)
