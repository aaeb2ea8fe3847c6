"""How a command ends: its exit code, and one line in words."""

from enum import IntEnum
from typing import Final

from armillary.errors import Kind, Refusal

__all__ = ["CommandError", "Exit", "code_of", "explain"]


class Exit(IntEnum):
    """The exit codes of all commands; `run` returns the code of the command it ran."""

    DONE = 0
    WRONG = 1  # not all is right of what was checked, loaded or dumped, or it was not done after all
    USAGE = 2
    DATA = 3
    ADDRESS = 4
    SERVER = 5
    INTERRUPTED = 130


_CODES: Final = {
    Kind.BAD_DEFINITION: Exit.USAGE,
    Kind.BAD_REQUEST: Exit.USAGE,
    Kind.BAD_KEY: Exit.USAGE,
    Kind.BAD_JSON: Exit.USAGE,
    Kind.NOT_BUILT: Exit.USAGE,
    Kind.FOLDER_IN_USE: Exit.DATA,
    Kind.FORMAT_NEWER: Exit.DATA,
    Kind.DISK_FULL: Exit.DATA,
    Kind.STORE_BROKEN: Exit.DATA,
    Kind.ADDRESS_UNUSABLE: Exit.ADDRESS,
}
_WAYS_OUT: Final = {
    Kind.FOLDER_IN_USE: "stop it, or choose another folder with --data",
    Kind.FORMAT_NEWER: "use the version that wrote it, or choose another folder with --data",
}


def code_of(kind: Kind) -> Exit:
    """The exit code of a refusal."""
    return _CODES.get(kind, Exit.SERVER)


def explain(refusal: Refusal) -> str:
    """A refusal in one line, with the way out where there is one."""
    way_out = _WAYS_OUT.get(refusal.kind)
    return f"{refusal}: {way_out}" if way_out else str(refusal)


class CommandError(Exception):
    """The end of a command that did not do what it was asked: one line, one exit code."""

    def __init__(self, message: str, code: Exit) -> None:
        super().__init__(message)
        self.code = code
