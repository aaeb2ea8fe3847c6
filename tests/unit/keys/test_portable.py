"""Strategies as data: whatever text comes, it is a strategy that says the same again, or it is refused in words."""

import json
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.errors import Kind, Refusal
from armillary.keys.synthetic import Strategy, concat, rollup

PARTS: Final[dict[str, dict[str, object]]] = {
    "concat": {"parts": ["/a", "/b"]},
    "rollup": {"path": "/at", "unit": "day"},
    "randomSuffix": {"base": "/a", "count": 4},
    "hashSuffix": {"base": "/a", "by": "/b", "count": 4},
    "balancedSuffix": {"base": "/a", "by": "/b", "count": 4, "earlier": [2]},
}


def read(part: object) -> Strategy:
    return Strategy.from_json({"format": 1, "levels": [{"path": "/pk", "key": part}]})


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_read_and_written(name: str) -> None:
    part = {"strategy": name, **PARTS[name]}
    strategy = read(part)
    written = json.loads(json.dumps(strategy.to_json()))
    assert part.items() <= written["levels"][0]["key"].items(), "with its defaults written out"
    assert Strategy.from_json(written) == strategy


def test_what_is_not_said_is_what_the_functions_take() -> None:
    assert read({"strategy": "concat", "parts": ["/a", "/b"]}) == concat("/a", "/b", name="pk")
    long = concat("/a", rollup("/b", "day"), mode="length", missing="mark", mark="none", name="pk")
    parts = ["/a", {"strategy": "rollup", "path": "/b", "unit": "day"}]
    assert read({"strategy": "concat", "parts": parts, "mode": "length", "missing": "mark", "mark": "none"}) == long


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (None, "format 1"),
        ({"format": 2, "levels": []}, "format 1"),
        ({"format": 1, "levels": {}}, "with levels"),
        ({"format": 1, "levels": []}, "one level that is made"),
        ({"format": 1, "levels": [{"path": "/a"}]}, "one level that is made"),
        ({"format": 1, "levels": [{"path": f"/{name}"} for name in "abcd"]}, "two or 3"),
        ({"format": 1, "levels": [1]}, "a level is an object"),
        ({"format": 1, "levels": [{}]}, "a level is an object"),
        ({"format": 1, "levels": [{"path": "/a", "keys": "/b"}]}, "a level is an object"),
        ({"format": 1, "levels": [{"path": 1, "key": "/a"}]}, "valid characters"),
        ({"format": 1, "levels": [{"path": "/a/b", "key": "/c"}]}, "at the top"),
        ({"format": 1, "levels": [{"path": "/a", "key": "/a"}]}, "one of its sources"),
        ({"format": 1, "levels": [{"path": "/a", "key": "/a/b"}]}, "one of its sources"),
        ({"format": 1, "levels": [{"path": "/a/b"}, {"path": "/a", "key": "/c"}]}, "one of its sources"),
        ({"format": 1, "levels": [{"path": "/a"}, {"path": "/a"}]}, "one property"),
    ],
)
def test_levels_that_are_refused(text: object, fragment: str) -> None:
    refuses(text, fragment)


@pytest.mark.parametrize(
    ("part", "fragment"),
    [
        ({"strategy": "guess"}, "none of concat"),
        ({"strategy": []}, "none of concat"),
        ({"strategy": "concat"}, "needs parts"),
        ({"strategy": "concat", "parts": 1}, "are lists"),
        ({"strategy": "concat", "parts": []}, "nothing to join"),
        ({"strategy": "concat", "parts": [1]}, "a path or an object"),
        ({"strategy": "concat", "parts": ["/a"], "mode": "x"}, "none of readable"),
        ({"strategy": "concat", "parts": ["/a"], "mode": []}, "none of readable"),
        ({"strategy": "concat", "parts": ["/a"], "types": 1}, "none of unified"),
        ({"strategy": "concat", "parts": ["/a"], "missing": None}, "none of refuse"),
        ({"strategy": "concat", "parts": ["/a"], "mark": 5}, "no word"),
        ({"strategy": "concat", "parts": ["/a"], "name": "b"}, "may have mode, delimiter"),
        ({"strategy": "concat", "parts": ["/a"], "delimiter": ""}, "one printable character"),
        ({"strategy": "concat", "parts": ["/a"], "delimiter": "\ud800"}, "one printable character"),
        ({"strategy": "concat", "parts": ["/a"], "delimiter": 5}, "one printable character"),
        ({"strategy": "rollup", "path": "/a", "unit": "week"}, "none of hour"),
        ({"strategy": "rollup", "path": "/a", "unit": []}, "none of hour"),
        ({"strategy": "rollup", "path": "/a"}, "needs path, unit and may have nothing more"),
        ({"strategy": "randomSuffix", "base": "/a", "count": 4, "by": "/b"}, "may have earlier, delimiter"),
        ({"strategy": "randomSuffix", "base": "/a", "count": 4.0}, "whole number"),
        ({"strategy": "randomSuffix", "base": "/a", "count": True}, "whole number"),
        ({"strategy": "randomSuffix", "base": "/a", "count": 4, "earlier": 2}, "are lists"),
        ({"strategy": "randomSuffix", "base": "/a", "count": 4, "earlier": ["2"]}, "whole number"),
        ({"strategy": "hashSuffix", "base": "/a", "count": 4}, "needs base, by, count"),
        ({"strategy": "hashSuffix", "base": "/a", "by": 1, "count": 4}, "valid characters"),
    ],
)
def test_parts_that_are_refused(part: object, fragment: str) -> None:
    refuses({"format": 1, "levels": [{"path": "/pk", "key": part}]}, fragment)


def test_parts_are_not_nested_without_end() -> None:
    part: object = "/a"
    for depth in range(9):
        if depth == 8:
            assert read(part).for_point(a="x") == "x"
        part = {"strategy": "concat", "parts": [part]}
    refuses({"format": 1, "levels": [{"path": "/pk", "key": part}]}, "nested at most 8 deep")


JSON: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.floats()
    | st.sampled_from(["", "/a", "/b/c", ".", "-", "day"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["strategy", "parts", "base", "by", "count", "earlier", "path", "unit", "delimiter", "mode"]
            ),
            inner | st.sampled_from(list(PARTS)),
            max_size=5,
        )
    ),
    max_leaves=8,
)


@given(JSON, st.sampled_from(["/pk", "/pk/x", "", 1]))
def test_any_text_is_a_strategy_or_refused(part: object, path: object) -> None:
    kind = None
    try:
        strategy = Strategy.from_json({"format": 1, "levels": [{"path": path, "key": part}]})
        same = Strategy.from_json(json.loads(json.dumps(strategy.to_json()))) == strategy
    except Refusal as refusal:
        kind, same = refusal.kind, False
    assert same or kind is Kind.BAD_DEFINITION


def refuses(text: object, fragment: str) -> None:
    with pytest.raises(Refusal, match=fragment) as refused:
        Strategy.from_json(text)
    assert refused.value.kind is Kind.BAD_DEFINITION
