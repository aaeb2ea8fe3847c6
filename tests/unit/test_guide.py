"""The examples on pages and in docstrings do what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


@pytest.mark.parametrize("page", ["1-values.md", "2-keys.md", "synthetic-keys.md"])
def test_examples_on_pages(page: str) -> None:
    found = doctest.testfile(str(GUIDE / page), module_relative=False, encoding="utf-8")
    assert found.attempted > 4
    assert found.failed == 0


@pytest.mark.parametrize(
    "name",
    ["values", "keycode", "keys.path", "keys.effective", "keys.ranges", "keys.definition", "wire.keyheader"]
    + [f"keys.{name}" for name in ("texts", "moments", "parts", "synthetic", "sizing")],
)
def test_examples_in_docstrings(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"armillary.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
