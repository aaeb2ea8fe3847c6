"""One server for all tests of this folder that ask for it; after each of them everything it keeps is checked."""

import uuid
from collections.abc import Iterator

import pytest
from tests.e2e.live import KEY_OPTIONS, Caller, Live, run_live


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with run_live(tmp_path_factory.mktemp("house") / "data", *KEY_OPTIONS) as live:
        yield live


@pytest.fixture
def live(house: Live) -> Iterator[Live]:
    """The server, checked when the test is over."""
    yield house
    house.must_be_sound()


@pytest.fixture
def caller(live: Live) -> Iterator[Caller]:
    """Raw requests."""
    with live.caller() as caller:
        yield caller


@pytest.fixture
def name() -> str:
    """The name of a database that no other test uses."""
    return f"test-{uuid.uuid4().hex[:12]}"
