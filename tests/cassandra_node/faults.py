"""A driver's session between us and a real node that loses requests, loses answers, and delivers requests late."""

import copy
import random
import threading
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from cassandra import OperationTimedOut
from cassandra.query import BatchStatement

from armillary.kv.cassandra import CassandraLink


class Fault(Enum):
    """What happens to one conditional batch."""

    NONE = auto()
    LOSE_REQUEST = auto()
    LOSE_ANSWER = auto()
    HOLD = auto()
    """The caller hears nothing; the request arrives when it is released."""
    RELEASE_FIRST = auto()
    """What was held arrives just before this one, and then whatever `after_release` does."""
    GO_DARK = auto()
    """Applied, but from now on nothing answers."""
    GO_DARK_BEFORE = auto()
    """Not sent, and from now on nothing answers."""


def time_out() -> Exception:
    error: Exception = OperationTimedOut({}, None)
    return error


class FaultySession:
    """Passes everything on, but for what the script says."""

    def __init__(self, inner: Any, script: list[Fault], error: Callable[[], Exception] = time_out) -> None:
        self._inner = inner
        self.script = script
        self.error = error
        self.dark = False
        self.dark_after: int | None = None
        self.attempts = 0
        self.after_release: Callable[[], object] = lambda: None
        self._held: list[Callable[[], Any]] = []
        self._turn = threading.Lock()

    def execute(self, statement: Any, *args: Any, **named: Any) -> Any:
        if self.dark:
            raise self.error()
        if not isinstance(statement, BatchStatement):
            return self._inner.execute(statement, *args, **named)
        return self._attempt(lambda: self._inner.execute(statement, *args, **named))

    def execute_async(self, statement: Any) -> Any:
        """A plain batch on its way; after `dark_after` of them nothing answers."""
        if self.dark_after is not None:
            self.dark = self.dark or self.dark_after == 0
            self.dark_after -= 1
        return FailedFuture(self.error()) if self.dark else self._inner.execute_async(statement)

    def _attempt(self, send: Callable[[], Any]) -> Any:
        with self._turn:
            self.attempts += 1
            fault = self.script.pop(0) if self.script else Fault.NONE
            if fault is Fault.HOLD:
                self._held.append(send)
        if fault is Fault.RELEASE_FIRST:
            self.release()
            self.after_release()
        if fault in (Fault.GO_DARK, Fault.GO_DARK_BEFORE):
            self.dark = True
        if fault in (Fault.HOLD, Fault.LOSE_REQUEST, Fault.GO_DARK_BEFORE):
            raise self.error()
        answer = send()
        if fault in (Fault.LOSE_ANSWER, Fault.GO_DARK):
            raise self.error()
        return answer

    def release(self) -> list[bool]:
        """Let everything that was held arrive; whether each was applied."""
        with self._turn:
            held, self._held = self._held, []
        return [bool(send().one()[0]) for send in held]


class FailedFuture:
    """The answer that never comes."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def result(self) -> Any:
        raise self._error


class RandomSession(FaultySession):
    """Half of the conditional batches and a few of the reads go wrong; what is held arrives at any later moment."""

    def __init__(self, inner: Any, seed: int) -> None:
        super().__init__(inner, [])
        self._chance = random.Random(seed)

    def execute(self, statement: Any, *args: Any, **named: Any) -> Any:
        with self._turn:
            roll = self._chance.random()
            if isinstance(statement, BatchStatement):
                kinds = [Fault.LOSE_REQUEST, Fault.LOSE_ANSWER, Fault.HOLD, Fault.RELEASE_FIRST]
                self.script = [self._chance.choice(kinds)] if roll < 0.5 else []
            elif roll < 0.05:
                raise self.error()
        if roll > 0.9:
            self.release()
        return super().execute(statement, *args, **named)


def disturb(link: CassandraLink, session: FaultySession, *, patience: float) -> CassandraLink:
    """The same link over another session."""
    disturbed = copy.copy(link)
    disturbed._session = session
    disturbed.patience = patience
    return disturbed
