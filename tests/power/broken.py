"""A program on a disk that fails once, in the middle of a commit: what its writers are told, and that it goes on.

Run with the number of commits that succeed; the failing write is set by RECORD_FAIL.
"""

import os
import sys
from pathlib import Path

from armillary.kv.engine import Applied, Changes, Rejected, Unknown, View
from armillary.kv.lmdb import LmdbEngine

PARTITION = b"partition of 16b"


def count_up(view: View) -> Changes:
    return Changes({b"n": b"%d" % (int(view.get(b"n") or b"0") + 1)})


def run(folder: Path, succeeding: int) -> None:
    engine = LmdbEngine(folder)
    engine.create(PARTITION, b"")
    for at in range(succeeding):
        assert engine.write(PARTITION, [count_up]) == [Applied(at + 1, None)]
    outcomes = engine.write(PARTITION, [count_up, count_up])
    assert [type(outcome) for outcome in outcomes] == [Unknown, Unknown], outcomes
    for outcome in outcomes:
        assert isinstance(outcome, Unknown)
        assert isinstance(engine.settle(PARTITION, outcome), Rejected)
    assert engine.write(PARTITION, [count_up]) == [Applied(succeeding + 1, None)]
    with engine.read(PARTITION) as reader:
        assert reader.get(b"n") == b"%d" % (succeeding + 1)
    engine.close()


if __name__ == "__main__":
    run(Path(os.environ["RECORD_ROOT"]) / "data", int(sys.argv[1]))
