"""One server for all tests of this folder that ask for it; after each of them everything it keeps is checked.

A module whose tests are about several requests in a row says `pytestmark = [..., pytest.mark.workers(1, 3)]`: they run
against a server with one worker and again with three, where each request may meet another process. The others gain
nothing from that, and run with one.
"""

import uuid
from collections.abc import Iterator

import pytest
from tests.e2e.live import KEY_OPTIONS, Caller, Live, run_live


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "house" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("workers")
        counts = mark.args if mark is not None else (1,)
        metafunc.parametrize("house", counts, indirect=True, scope="session", ids=lambda count: f"{count}-workers")


@pytest.fixture(scope="session")
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with run_live(tmp_path_factory.mktemp("house") / "data", *KEY_OPTIONS, workers=request.param) as live:
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
