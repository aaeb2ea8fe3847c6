"""Fixtures of the contract suite: every test runs on every engine, plain and with works run again at random."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.engines import DURABLE, ENGINES, PARAMS, Opener
from tests.contract.wrappers import RerunEngine

from armillary.kv.engine import Engine


@pytest.fixture(params=PARAMS)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["once", "rerun"])
def engine(request: pytest.FixtureRequest, engine_name: str, tmp_path: Path) -> Iterator[Engine]:
    inner = ENGINES[engine_name].open(request, tmp_path / "data")
    if request.param == "rerun":
        seed = int(os.environ.get("SEED", random.SystemRandom().randrange(2**32)))
        print(f"SEED={seed}")
        yield RerunEngine(inner, seed)
    else:
        yield inner
    inner.close()


@pytest.fixture
def partition(engine: Engine) -> Iterator[bytes]:
    """A fresh partition with the header `born`."""
    made = os.urandom(16)
    engine.create(made, b"born")
    yield made
    engine.drop(made)


@pytest.fixture(params=DURABLE)
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the same data again and again; the caller closes what it opened."""
    return lambda: ENGINES[request.param].open(request, tmp_path / "data")
