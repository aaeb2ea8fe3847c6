"""Whatever is acknowledged is there after kill -9; what is not, is wholly there or not at all."""

import os
import random
import sys
from pathlib import Path
from statistics import median

import pytest
from tests.crash.kills import Campaign, Tally
from tests.crash.results import describe_tally, write_result

pytestmark = [
    pytest.mark.crash,
    pytest.mark.skipif(sys.platform != "linux", reason="the server is a family of processes on Linux only"),
]
LONG = bool(os.environ.get("ARMILLARY_LONG"))
KILLS = 250 if LONG else 10  # with one worker, and again with three


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("workers", [1, 3])
def test_nothing_acknowledged_is_lost(tmp_path: Path, workers: int) -> None:
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(2**32)))
    print(f"SEED={seed}", flush=True)
    tally = Campaign(tmp_path, seed, workers).run(KILLS)
    print(describe_tally(tally))
    assert tally.complaints == []
    must_have_hit(tally)
    # Processor time, because the machine that runs the tests may do much else.
    assert median(tally.restart_cpu) < 1
    assert max(tally.restarts) < 20
    if LONG:
        write_result(tally)


def must_have_hit(tally: Tally) -> None:
    """Most kills interrupted a write, many between its commit and its answer."""
    assert tally.killed >= KILLS
    assert tally.in_flight >= (0.9 if LONG else 0.7) * KILLS
    assert tally.between >= (0.2 if LONG else 0.1) * KILLS
    assert tally.acknowledged > 10 * KILLS
