"""Clients that write and read a few items without pause, and the history that each item's clients saw.

    with record(live.http, live.key, path, clients=8, keys=5, seed=1) as recording:
        ...                                what is to be survived
    must_be_linear(recording)

Every client is a thread with a connection of its own. Writes bring values that no other brings. A request that got no
answer, or one that leaves open whether it was done, is written down as unknown and the client goes on; one that was
refused before anything was done (too many requests, a partition that moves) leaves no trace.
"""

import json
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from itertools import count
from typing import Final

from tests.e2e.live import UPSERT, Answer, Caller, key_header
from tests.model.linear import Kind, Operation, Outcome, check

_WEIGHTS: Final = {Kind.READ: 5, Kind.REPLACE: 3, Kind.UPSERT: 2, Kind.CREATE: 2, Kind.DELETE: 1}
_METHODS: Final = {
    Kind.CREATE: "POST",
    Kind.UPSERT: "POST",
    Kind.READ: "GET",
    Kind.REPLACE: "PUT",
    Kind.DELETE: "DELETE",
}
_OUTCOMES: Final = {404: Outcome.MISSING, 409: Outcome.EXISTS, 412: Outcome.CHANGED}
_NOT_DONE: Final = frozenset((410, 429, 449))
_UNKNOWN: Final = frozenset((408, 500, 503))
_CONDITIONAL: Final = 0.4


class Recording:
    """What all clients have seen so far."""

    def __init__(self, target: tuple[str, str, str], keys: int, seed: int, limit: int | None) -> None:
        self._target = target
        self._keys = [f"key{number}" for number in range(keys)]
        self._seed = seed
        self._limit = limit
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._histories: dict[str, list[Operation]] = {key: [] for key in self._keys}
        self._surprises: list[str] = []
        self._values = count()

    def histories(self) -> Mapping[str, list[Operation]]:
        """The history of each item; refused when a client got an answer that nobody may get."""
        assert not self._surprises, self._surprises[:5]
        return self._histories

    def count(self) -> int:
        return sum(map(len, self._histories.values()))

    def stop(self) -> None:
        self._stop.set()

    def run_client(self, number: int) -> None:
        """One client, until it is told to stop or has done its share."""
        chance = random.Random(f"{self._seed}/{number}")
        url, key, path = self._target
        caller = Caller(url, key)
        known: dict[str, tuple[str, str]] = {}
        for done in count():
            if self._stop.is_set() or done == self._limit:
                break
            self._ask(caller, path, chance, known)
        caller.close()

    def _ask(self, caller: Caller, path: str, chance: random.Random, known: dict[str, tuple[str, str]]) -> None:
        """One request; `known` are the value and etag that this client saw last of an item."""
        key = chance.choice(self._keys)
        kind = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        value = "" if kind in (Kind.READ, Kind.DELETE) else f"v{next(self._values)}"
        conditional = kind in (Kind.REPLACE, Kind.DELETE) and key in known and chance.random() < _CONDITIONAL
        expected, etag = known[key] if conditional else ("", "")
        headers = {**key_header(key), "if-match": etag, **(UPSERT if kind is Kind.UPSERT else {})}
        body = {"id": "item", "pk": key, "value": value} if value else None
        place = f"{path}/docs" + ("" if _METHODS[kind] == "POST" else "/item")
        start = time.monotonic()
        try:
            answer: Answer | None = caller.ask(_METHODS[kind], place, body, headers)
        except (OSError, HTTPException):
            answer = None
        self._note(key, kind, (start, time.monotonic()), (value, expected), answer)
        if answer is not None and answer.status in (200, 201):
            known[key] = (json.loads(answer.body)["value"], answer.etag)

    def _note(
        self, key: str, kind: Kind, times: tuple[float, float], values: tuple[str, str], answer: Answer | None
    ) -> None:
        status = answer.status if answer is not None else 503
        if status in _NOT_DONE:
            return
        value, expected = values
        outcome = Outcome.UNKNOWN if status in _UNKNOWN else _OUTCOMES.get(status)
        if outcome is None and status not in (200, 201, 204):
            self._surprises.append(f"{kind} of {key}: {status} {answer.body if answer else b''!r}")
            return
        if kind is Kind.READ and answer is not None and status == 200:
            value = json.loads(answer.body)["value"]
        if kind is Kind.UPSERT and outcome is None:
            outcome = Outcome.CREATED if status == 201 else Outcome.REPLACED
        found = Operation(kind, outcome or Outcome.DONE, *times, value, expected)
        with self._lock:
            self._histories[key].append(found)


@contextmanager
def record(
    url: str, secret: str, path: str, *, clients: int, keys: int, seed: int, limit: int | None = None
) -> Iterator[Recording]:
    """Clients at work on a container while the block lasts, each at most so many requests; a limit is waited for."""
    recording = Recording((url, secret, path), keys, seed, limit)
    threads = [threading.Thread(target=recording.run_client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield recording
    finally:
        if limit is None:
            recording.stop()
        for thread in threads:
            thread.join()


def must_be_linear(recording: Recording) -> None:
    """Every item's history can have happened one operation at a time."""
    for key, history in recording.histories().items():
        fault = check(history)
        assert fault is None, f"{key}: {fault}"
