"""Files kept open, at most so many, those unused longest closed first.

Whoever uses one pins it; a pinned one is never closed. Pinning what is open already takes no lock, because every read
of every partition goes this way: the pin is set first and `closed` is looked at afterwards, while closing sets `closed`
first and counts the pins afterwards, so one of the two always sees the other. Opening and closing take the lock.

Nothing of this may cross a fork (a database environment would lose its locks): a child of a process that had some open
is refused everything.
"""

import os
import sys
import threading
import weakref
from collections.abc import Callable
from itertools import count
from typing import Any, Final, Generic, TypeVar

from armillary.errors import Kind, Refusal

Handle = TypeVar("Handle")
Key = tuple[bytes, str]

RESERVED: Final = 200
MOST: Final = 400
EACH: Final = 3


class Opened(Generic[Handle]):
    """One open file; `pins` has an element for each user (appending and popping are atomic)."""

    __slots__ = ("close", "closed", "handle", "pins", "used", "why")

    def __init__(self, handle: Handle, close: Callable[[], object]) -> None:
        self.handle = handle
        self.close = close
        self.pins: list[None] = [None]
        self.closed = False
        self.used = 0
        self.why: Refusal | None = None


class Environments(Generic[Handle]):
    """All that one process has open."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._clock = count(1)
        self._open: dict[Key, Opened[Handle]] = {}
        self._lock = threading.Lock()
        self._forked = False
        _ALL.add(self)

    def pin(self, key: Key, make: Callable[[], Opened[Handle]]) -> Opened[Handle]:
        """The open one, or the one that `make` opens; give it back with `opened.pins.pop()`."""
        opened = self._open.get(key)
        if opened is not None:
            opened.pins.append(None)
            if not opened.closed:
                opened.used = next(self._clock)
                return opened
            opened.pins.pop()
        with self._lock:
            return self._pin_slowly(key, make)

    def _pin_slowly(self, key: Key, make: Callable[[], Opened[Handle]]) -> Opened[Handle]:
        if self._forked:
            raise Refusal(Kind.STORE_BROKEN, detail="this process was forked from one that had partitions open")
        opened = self._open.get(key)
        if opened is not None and not opened.closed:
            opened.pins.append(None)
        else:
            if opened is not None and not self._close(key, opened):
                raise opened.why or Refusal(Kind.STORE_BROKEN, detail=f"the partition {key[0].hex()} is being closed")
            self._make_room()
            opened = self._open[key] = make()
        opened.used = next(self._clock)
        return opened

    def _make_room(self) -> None:
        if len(self._open) < self._most:
            return
        for key, opened in sorted(self._open.items(), key=_last_use):
            if self._close(key, opened) and len(self._open) < self._most:
                return

    def _close(self, key: Key, opened: Opened[Handle]) -> bool:
        """Close what nobody uses."""
        before, opened.closed = opened.closed, True
        if opened.pins:
            opened.closed = before
            return False
        del self._open[key]
        opened.close()
        return True

    def retire(self, key: Key, why: Refusal) -> None:
        """Nobody gets this one any more; it is closed as soon as nobody uses it, and who asks before is told why."""
        with self._lock:
            opened = self._open.get(key)
            if opened is not None:
                opened.why = why
                opened.closed = True
                self._close(key, opened)

    def each(self) -> list[Opened[Handle]]:
        """All open ones, pinned; the retired are closed on the way."""
        with self._lock:
            for key, opened in list(self._open.items()):
                if opened.closed:
                    self._close(key, opened)
                else:
                    opened.pins.append(None)
            return [opened for opened in self._open.values() if not opened.closed]

    def close(self) -> None:
        """Close everything, used or not."""
        with self._lock:
            while self._open:
                _, opened = self._open.popitem()
                opened.closed = True
                opened.close()

    def __contains__(self, key: Key) -> bool:
        return key in self._open

    def __len__(self) -> int:
        return len(self._open)

    def forget_parent(self) -> None:
        """In a new child: what the parent had open is not ours, and its locks may be taken for ever."""
        self._forked = self._forked or bool(self._open)
        self._open = {}
        self._lock = threading.Lock()


_ALL: Final["weakref.WeakSet[Environments[Any]]"] = weakref.WeakSet()


def _last_use(entry: tuple[Key, Opened[Handle]]) -> int:
    return entry[1].used


def _forget_parents() -> None:
    for environments in list(_ALL):
        environments.forget_parent()


if sys.platform == "win32":

    def raise_descriptor_limit() -> int:
        """Windows has no such limit."""
        return MOST * EACH + RESERVED

else:
    import resource

    # macOS says "unlimited" and then refuses more than this.
    _SYSTEM_MOST: Final = 10_240

    os.register_at_fork(after_in_child=_forget_parents)

    def raise_descriptor_limit() -> int:
        """Let this process open as many files as it may; how many that is."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _SYSTEM_MOST if hard == resource.RLIM_INFINITY else hard
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return max(soft, wanted)


def count_affordable() -> int:
    """How many environments this process may keep open."""
    return max(4, min(MOST, (raise_descriptor_limit() - RESERVED) // EACH))
