"""What decides why a test of the client's own suite failed, and the page that says so."""

import pytest
from tests.compat.page import draw_page, find_unexplained
from tests.compat.reasons import NOT_THE_SERVER, find_reason
from tests.compat.witness import Ending

QUERY = "400/0 The operation 'query items' is not built yet"
USERS = "400/0 users is not built yet"
OTHER = "404/0 The item '1' does not exist"
UNKNOWN = "400/0 The operation 'fly' is not built yet"


def failed(raised: list[str], refused: list[str], name: str = "test_x", message: str = "Error: x") -> Ending:
    return Ending(f"file.py::Tests::{name}", "failed", message, raised, refused)


@pytest.mark.parametrize(
    ("raised", "refused", "reason"),
    [
        ([QUERY], [QUERY], "queries over items"),
        ([], [QUERY, OTHER], "queries over items"),
        ([], [QUERY, USERS], "users"),
        ([OTHER], [QUERY, OTHER], ""),
        ([UNKNOWN], [UNKNOWN], ""),
        ([], [OTHER], ""),
        ([], [], ""),
    ],
)
def test_what_the_server_refused_decides(raised: list[str], refused: list[str], reason: str) -> None:
    assert find_reason(failed(raised, refused)) == reason


def test_what_is_not_the_server_is_known_by_name_and_words() -> None:
    for name, words, reason in NOT_THE_SERVER:
        assert find_reason(failed([OTHER], [], name, f"Some{words} 2")) == reason
        assert find_reason(failed([OTHER], [], name, "Another: error")) == ""
        assert find_reason(failed([OTHER], [], "test_x", words)) == ""


def test_the_page_counts_and_names() -> None:
    passed = Ending("file.py::a", "passed", "", [], [])
    skipped = Ending("file.py::b", "skipped", "Skipped: not | here", [], [])
    results = {"items": {"file.py": [passed, failed([QUERY], []), failed([], [], "test_y"), skipped]}, "none": {}}
    page = draw_page(results)
    assert "| items | `file.py` | 1 | 2 | 1 |" in page
    assert "| `file.py::Tests::test_x` | queries over items |" in page
    assert "| `file.py::Tests::test_y` | unexplained: Error: x |" in page
    assert "| `file.py::b` | not \\| here |" in page
    assert [ending.test for ending in find_unexplained(results)] == ["file.py::Tests::test_y"]
