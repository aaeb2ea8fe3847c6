"""Patterns take time linear in the text, whatever they are."""

import time

import pytest

from armillary.query.patterns import compile_expression, compile_like

HOSTILE_EXPRESSIONS = ["(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*a){12}$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a*)*b"]
HOSTILE_LIKES = ["%a%a%a%a%a%a%a%b", "%" * 50 + "b", "a%" * 30 + "b", "%_a%_a%_a%_a%b", "%[a-c]%[a-c]%[a-c]%b"]


def measure(matches: object, text: str) -> float:
    assert callable(matches)
    best = 1e9
    for _ in range(3):
        start = time.process_time()
        matches(text)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("pattern", HOSTILE_EXPRESSIONS)
def test_hostile_expressions_are_quick(pattern: str) -> None:
    matches = compile_expression(pattern)
    assert matches is not None
    assert matches("a" * 50_000 + "!") in (True, False)
    assert measure(matches, "a" * 50_000 + "!") < 0.5


@pytest.mark.parametrize("pattern", HOSTILE_LIKES)
def test_hostile_likes_are_quick(pattern: str) -> None:
    matches = compile_like(pattern)
    assert matches is not None
    assert not matches("a" * 50_000)
    assert measure(matches, "a" * 50_000) < 0.5


def test_what_is_no_pattern() -> None:
    assert compile_expression("(") is None
    assert compile_expression("a", "q") is None
    assert compile_like("a", "ab") is None
    assert compile_like("a", "") is None


@pytest.mark.parametrize(
    ("pattern", "escape", "text", "expected"),
    [
        ("[]", None, "[]", False),
        ("a[", None, "a[", True),
        ("[^]", None, "x", True),
        ("[z-a]", None, "m", False),
        ("[a-]", None, "-", True),
        ("[-a]", None, "-", True),
        ("!", "!", "!", True),
        ("a!", "!", "a!", True),
        ("![%!]", "!", "[abc]", True),
        ("[.]", None, ".", True),
        ("[\\d]", None, "d", True),
        ("(a)", None, "(a)", True),
        ("_", None, "\n", True),
        ("_", None, "😀", True),
        ("%", None, "a\nb", True),
        ("a%b%c", None, "abc", True),
        ("a%b%c", None, "acb", False),
    ],
)
def test_like(pattern: str, escape: str | None, text: str, expected: bool) -> None:
    matches = compile_like(pattern, escape)
    assert matches is not None
    assert matches(text) is expected
