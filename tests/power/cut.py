"""A writer that is killed when its commit is on the disk, before it could tell the processes that share the file.

RECORD_KILL=2 kills the writer behind the last page of its second commit. Another process has the partition open all the
while, so that the file keeps its readers' table; whoever opens it afterwards must see that commit at once.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from armillary.kv.engine import Applied, Changes, View
from armillary.kv.lmdb import LmdbEngine

PARTITION = b"partition of 16b"


def count_up(view: View) -> Changes:
    return Changes({b"n": b"%d" % (int(view.get(b"n") or b"0") + 1)})


def fork(run: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        run()
        os._exit(0)
    finally:
        os._exit(1)


def join(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run(folder: Path) -> None:
    engine = LmdbEngine(folder)
    opened, done = os.pipe(), os.pipe()

    def hold() -> None:
        with engine.read(PARTITION):
            os.write(opened[1], b"x")
            os.read(done[0], 1)

    def write() -> None:
        for at in (1, 2):
            assert engine.write(PARTITION, [count_up]) == [Applied(at, None)]

    def read() -> None:
        with engine.read(PARTITION) as reader:
            assert (reader.lsn, reader.get(b"n")) == (2, b"2")

    assert join(fork(lambda: engine.create(PARTITION, b""))) == 0
    holder = fork(hold)
    os.read(opened[0], 1)
    assert join(fork(write)) == -signal.SIGKILL
    seen = join(fork(read))
    os.write(done[1], b"x")
    assert (join(holder), seen) == (0, 0)
    engine.close()


if __name__ == "__main__":
    run(Path(os.environ["RECORD_ROOT"]) / "data")
