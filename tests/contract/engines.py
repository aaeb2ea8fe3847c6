"""The engines that the contract suite and the state machine run on: one line for each."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cassandra_node.fixture import open_engine

from armillary.kv.engine import Engine
from armillary.kv.lmdb import LmdbEngine
from armillary.kv.memory import MemoryEngine

Opener = Callable[[], Engine]


class Kept(NamedTuple):
    """An engine to test: how to open it on a folder of its own, and whether opening again shows the same data."""

    open: Callable[[pytest.FixtureRequest, Path], Engine]
    durable: bool


ENGINES: dict[str, Kept] = {
    "memory": Kept(lambda _request, _folder: MemoryEngine(), durable=False),
    "lmdb": Kept(lambda _request, folder: LmdbEngine(folder), durable=True),
    "cassandra": Kept(open_engine, durable=True),
}
MARKED = {"cassandra": pytest.mark.cassandra}
PARAMS = [pytest.param(name, marks=MARKED.get(name, ())) for name in ENGINES]
DURABLE = [pytest.param(name, marks=MARKED.get(name, ())) for name, kept in ENGINES.items() if kept.durable]
