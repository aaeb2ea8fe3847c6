"""The bare store: what the disk and LMDB cost in one process, without a server, a request or an item's rules."""

import os
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import lmdb

ITEMS: Final = 20_000
SIZE: Final = 1_024
GROUP: Final = 64


class Figures(NamedTuple):
    """Microseconds of the clock: one get; one put in a synced commit of its own, and in one of `GROUP`; one sync."""

    get: float
    put: float
    grouped: float
    sync: float


def measure_sync(folder: Path, times: int = 40) -> float:
    """Microseconds of the disk for one page appended and synced: the middle one of several."""
    taken = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(times):
            begun = time.perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e6


def measure_store(folder: Path, seed: int) -> Figures:
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    with lmdb.open(str(folder / "bare"), map_size=2**30) as environment:
        values = {b"%016x" % chance.getrandbits(64): chance.randbytes(SIZE) for _ in range(ITEMS)}
        with environment.begin(write=True) as transaction:
            for key, value in values.items():
                transaction.put(key, value)
        asked = chance.choices(list(values), k=ITEMS)

        def get_all() -> None:
            for key in asked:
                with environment.begin() as transaction:
                    transaction.get(key)

        def put_group(size: int) -> None:
            with environment.begin(write=True) as transaction:
                for _ in range(size):
                    transaction.put(b"%016x" % chance.getrandbits(64), chance.randbytes(SIZE))

        return Figures(
            get=_time(get_all, 3) / ITEMS,
            put=_time(lambda: put_group(1), 100),
            grouped=_time(lambda: put_group(GROUP), 40) / GROUP,
            sync=measure_sync(folder),
        )


def _time(call: Callable[[], None], times: int) -> float:
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e6
