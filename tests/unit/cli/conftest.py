"""Golden files of what the commands draw."""

from collections.abc import Callable

import pytest
from tests.unit.cli.scripted import CASES


@pytest.fixture
def must_match(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of this name; `pytest --rewrite` writes the file instead."""

    def compare(name: str, text: str) -> None:
        file = CASES / name
        if request.config.getoption("rewrite"):
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8"), f"{name} differs: pytest --rewrite, and read the diff"

    return compare
