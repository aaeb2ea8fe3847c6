"""The heaviest keys of a stream, in bounded memory: a space-saving sketch in its form that takes whole batches.

A sketch keeps `size` counters. A batch of exact weights is added to them; if there are more keys then than counters,
the largest weight that has no place is taken off every counter and remembered as the error. So for every key

    count <= true weight <= count + error        and error <= total / (size + 1)

and a key without a counter weighs no more than the error. These are the counts of the space-saving algorithm, shifted
by the error. Taking batches makes it cheap: replacing the smallest counter for every new key would cost more than the
operation that is counted.

`HotKeys` keeps two sketches, by request units and by refusals, for this minute and for the last. Bytes are carried
beside the units: a KB costs at least a tenth of a unit, so a key of many bytes is never one of few units.
"""

from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import Any, Final, NamedTuple, TypeAlias

SIZE: Final = 64
SHOWN: Final = 16

# What one key has used: weight, bytes, and whatever it is shown by. A list, since one is made for every new key.
Use: TypeAlias = list[Any]


class TopKeys:
    """One sketch; it owns the uses that it is given."""

    def __init__(self, size: int = SIZE) -> None:
        self.uses: dict[bytes, Use] = {}
        self.error = 0.0
        self._size = size

    def absorb(self, batch: Mapping[bytes, Use]) -> None:
        """Add exact weights."""
        uses = self.uses
        for key, use in batch.items():
            known = uses.get(key)
            if known is None:
                uses[key] = use
            else:
                known[0] += use[0]
                known[1] += use[1]
        if len(uses) > self._size:
            floor = sorted([use[0] for use in uses.values()], reverse=True)[self._size]
            self.uses = {key: use for key, use in uses.items() if use[0] > floor}
            for use in self.uses.values():
                use[0] -= floor
            self.error += floor

    def top(self, most: int) -> list[bytes]:
        """The heaviest keys, heaviest first."""
        return nlargest(most, self.uses, key=lambda key: self.uses[key][0])


class Hot(NamedTuple):
    """One key and what it is known to have used; a figure may be too low, by the error of its sketch."""

    key: str
    units: float
    bytes: float
    refused: float


class _Minute(NamedTuple):
    spent: TopKeys
    refused: TopKeys


def _start_minute() -> _Minute:
    return _Minute(TopKeys(), TopKeys())


class HotKeys:
    """The top keys of one partition in one worker; minutes come in order."""

    def __init__(self) -> None:
        self._minute = 0
        self._now = _start_minute()
        self._before = _start_minute()

    def absorb(self, minute: int, spent: Mapping[bytes, Use], refused: Mapping[bytes, Use]) -> None:
        """Add what each key used in a minute, and how often it was refused."""
        self._turn(minute)
        self._now.spent.absorb(spent)
        self._now.refused.absorb(refused)

    def top(self, minute: int, most: int = SHOWN) -> list[tuple[Any, float, float, float]]:
        """The heaviest keys of this minute and the one before: name, units, bytes, refusals."""
        self._turn(minute)
        minutes = (self._now, self._before)
        keys = {key for part in minutes for sketch in part for key in sketch.top(most)}
        entries = []
        for key in keys:
            spent = [part.spent.uses[key] for part in minutes if key in part.spent.uses]
            refused = [part.refused.uses[key] for part in minutes if key in part.refused.uses]
            name = (spent or refused)[0][2]
            sums = (sum(use[0] for use in spent), sum(use[1] for use in spent), sum(use[0] for use in refused))
            entries.append((name, *sums))
        return nlargest(most, entries, key=lambda entry: (entry[1], entry[3]))

    def _turn(self, minute: int) -> None:
        if minute != self._minute:
            self._before = self._now if minute == self._minute + 1 else _start_minute()
            self._now = _start_minute()
            self._minute = minute


def merge_hot(boards: Iterable[Iterable[Hot]], most: int = SHOWN) -> list[Hot]:
    """What several workers found, as one list."""
    sums: dict[str, Hot] = {}
    for hot in (hot for board in boards for hot in board):
        old = sums.get(hot.key, Hot(hot.key, 0.0, 0.0, 0.0))
        sums[hot.key] = Hot(hot.key, old.units + hot.units, old.bytes + hot.bytes, old.refused + hot.refused)
    return nlargest(most, sums.values(), key=lambda hot: (hot.units, hot.refused))
