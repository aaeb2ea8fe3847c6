"""What all power failures need: a seed, the recorder, and a place for images."""

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.power.recording import compile_shim


@pytest.fixture(scope="module")
def seed() -> int:
    drawn = int(os.environ.get("SEED", random.SystemRandom().randrange(2**32)))
    print(f"SEED={drawn}")
    return drawn


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """Where images are built: in memory if there is a place, because opening one syncs."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)
