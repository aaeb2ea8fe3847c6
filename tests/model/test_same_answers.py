"""However many partitions a container has, a client is told the same: thousands of requests on 1, 2 and 7 partitions,
and on one whose partitions split at random while it is asked.

A difference is told with its seed and the number of the question.
"""

import os
import random
from collections.abc import Callable
from typing import Final, TypeAlias

import pytest
from tests.model.player import Player
from tests.model.questions import DEEP, PLAIN, ask_questions

from armillary.database import Database
from armillary.kv.steps import drive
from armillary.store.splitting import Phase, Splitting
from armillary.store.transaction import Moment

Hook: TypeAlias = Callable[[Player], None]

LONG: Final = "ARMILLARY_LONG" in os.environ
SEEDS: Final = range(20 if LONG else 2)
COUNT: Final = 5_000 if LONG else 1_200
THROUGHPUTS: Final = {400: 1, 12_000: 2, 42_000: 7}
HOOK_EVERY: Final = 3
MOST_RANGES: Final = 24
WHOLE: Final = 1 << 126


@pytest.mark.parametrize("seed", SEEDS)
def test_partitions_are_not_seen(seed: int) -> None:
    players = [Player(throughput) for throughput in THROUGHPUTS]
    for player, parts in zip(players, THROUGHPUTS.values(), strict=True):
        assert [player.count_ranges(name) for name in (PLAIN, DEEP)] == [parts, parts]
    compare(players, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_splits_are_not_seen(seed: int) -> None:
    players = [Player(400), Player(400)]
    splits = RandomSplits(seed)
    players[1].account.pause = lambda: splits(players[1])
    compare(players, seed, splits)
    assert min(players[1].count_ranges(name) for name in (PLAIN, DEEP)) > 4


class RandomSplits:
    """Cuts ranges anywhere, a step at a time between two requests; now and then whoever does it dies."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._running: Splitting | None = None

    def __call__(self, player: Player) -> None:
        database = Database(player.account.engine, player.account.clock)
        if self._running is not None:
            if self._running.step() is Phase.OVER or self._chance.random() < 0.02:
                self._running = None
            return
        container = database.container("d", self._chance.choice((PLAIN, DEEP)))
        row = container.row
        if row.splits:
            self._running = Splitting(database.engine, row, row.splits[0], container.rules, self._moment(database))
        elif len(row.ranges) < MOST_RANGES:
            place = self._chance.choice(row.ranges)
            low, high = int(place.low or "0", 16), WHOLE if place.high == "FF" else int(place.high, 16)
            point = f"{self._chance.randrange(low + 1, high):032X}"
            drive(database.engine, database.start_split(container, place, point, "test"))

    def _moment(self, database: Database) -> Callable[[], Moment]:
        return lambda: Moment(database.clock.ticks(), self._chance.randbytes(16))


def compare(players: list[Player], seed: int, hook: Hook | None = None) -> None:
    """Put the questions of a seed to all players; `hook` is called with the last of them every few questions."""
    for number, question in enumerate(ask_questions(seed, COUNT)):
        first, *others = [player.answer(question) for player in players]
        for player, other in zip(players[1:], others, strict=True):
            assert other == first, f"seed {seed}, question {number}, {player.count_ranges(PLAIN)} ranges: {question}"
        if hook is not None and number % HOOK_EVERY == 0:
            hook(players[-1])
    for player in players:
        assert player.account.database.check().complaints == [], f"seed {seed}"
