"""Synthetic keys: the published vectors, one key for one tuple, and reads that find whatever was written."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Final, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from armillary.errors import Kind, Refusal
from armillary.keys.ranges import divide_space
from armillary.keys.synthetic import (
    Strategy,
    balanced_suffix,
    concat,
    hash_suffix,
    hierarchical,
    random_suffix,
    rollup,
)
from armillary.keys.texts import Missing, Mode, Types
from armillary.values import is_same

VECTORS: Final = Path(__file__).parents[3] / "docs" / "support" / "synthetic-keys.json"
PUBLISHED: Final = json.loads(VECTORS.read_text(encoding="utf-8"))

TEXT: Final = st.text(st.sampled_from('ab-.|\\:"12') | st.characters(codec="utf-8"), max_size=6)
NUMBER: Final = st.integers(-(2**53), 2**53) | st.floats(-(2.0**53), 2.0**53)
WORD: Final = st.sampled_from(["true", "null", "undefined", "1", "-1", "1.5", '"', "2018"])
MISSING: Final = object()
VALUE: Final = st.one_of(TEXT, WORD, NUMBER, st.booleans(), st.none(), st.just(MISSING))
TUPLE: Final = st.tuples(VALUE, VALUE, VALUE)


@pytest.mark.parametrize("vector", PUBLISHED["writes"])
def test_published_keys(vector: dict[str, object]) -> None:
    strategy = Strategy.from_json(vector["strategy"])
    assert isinstance(vector["item"], dict)
    if "refused" in vector:
        with pytest.raises(Refusal) as refused:
            strategy.for_item(vector["item"])
        assert refused.value.kind is Kind.BAD_KEY
    else:
        found = strategy.for_item(vector["item"])
        assert (list(found) if isinstance(found, tuple) else found) == vector["key"]


@pytest.mark.parametrize("vector", PUBLISHED["reads"])
def test_published_reads(vector: dict[str, object]) -> None:
    strategy = Strategy.from_json(vector["strategy"])
    assert isinstance(vector["sources"], dict)
    assert [list(key) if isinstance(key, tuple) else key for key in strategy.for_read(**vector["sources"])] == vector[
        "keys"
    ]


def test_the_documents_own_keys() -> None:
    assert concat("/deviceId", "/year").for_point(deviceId="abc-123", year=2018) == "abc-123-2018"
    keys = random_suffix("/date", 400).for_read(date="2018-08-09")
    assert keys == [f"2018-08-09.{number}" for number in range(1, 401)]
    by_vin = hash_suffix("/date", by="/vin", count=400)
    point = by_vin.for_point(date="2018-08-09", vin="1HGCM82633A004352")
    assert by_vin.for_read(date="2018-08-09", vin="1HGCM82633A004352") == [point]
    assert point in keys


@given(
    TUPLE, TUPLE, st.sampled_from(get_args(Mode)), st.sampled_from(get_args(Types)), st.sampled_from(get_args(Missing))
)
def test_distinct_tuples_have_distinct_keys(
    one: tuple[object, ...], other: tuple[object, ...], mode: Mode, types: Types, missing: Missing
) -> None:
    strategy = concat("/a", "/b", "/c", mode=mode, types=types, missing=missing)
    keys = [make_key(strategy, values) for values in (one, other)]
    assume(None not in keys)
    if types == "apart":
        same = all(map(is_one, one, other))
    else:
        same = [unify(value) for value in one] == [unify(value) for value in other]
    assert (keys[0] == keys[1]) == same, keys


@given(st.sampled_from(["2018-08-09", "2019-01-01"]), TEXT, TEXT, TEXT, TEXT)
def test_a_fixed_width_may_hold_the_delimiter(day: str, a: str, b: str, c: str, d: str) -> None:
    strategy = concat("/a", rollup("/at", "day"), "/b")
    one: dict[str, object] = {"a": a, "at": day, "b": b}
    other: dict[str, object] = {"a": c, "at": "2018-08-09", "b": d}
    keys = [make_key(strategy, (), item) for item in (one, other)]
    assume(None not in keys)
    assert (keys[0] == keys[1]) == (one == other)


STRATEGIES: Final[list[Callable[[int, tuple[int, ...]], Strategy]]] = [
    lambda count, earlier: random_suffix("/base", count, earlier=earlier),
    lambda count, earlier: hash_suffix("/base", by="/by", count=count, earlier=earlier),
    lambda count, earlier: balanced_suffix("/base", by="/by", count=count, earlier=earlier),
    lambda count, earlier: concat("/first", hash_suffix("/base", by="/by", count=count, earlier=earlier)),
]


@pytest.mark.parametrize("make", STRATEGIES)
@given(base=TEXT, by=TEXT, count=st.integers(2, 20), more=st.lists(st.integers(1, 20), max_size=2), seed=st.integers(0))
def test_what_was_written_is_found_after_growing(
    make: Callable[[int, tuple[int, ...]], Strategy], base: str, by: str, count: int, more: list[int], seed: int
) -> None:
    strategy = make(count, ())
    item: dict[str, object] = {"first": "x", "base": base.replace("-", ""), "by": by}
    written = strategy.apply(item, random.Random(seed).randrange)
    for step in more:
        count += step
        strategy = strategy.grow(count)
    assert strategy == Strategy.from_json(json.loads(json.dumps(strategy.to_json())))
    known = {name: value for name, value in item.items() if f"/{name}" in list_paths(strategy)}
    for sources in (known, {name: value for name, value in known.items() if name != "by"}):
        assert written["partitionKey"] in strategy.for_read(**sources)
    assert strategy.apply(written) == written, "an item keeps the key it has"


@pytest.mark.parametrize("count", [2, 3, 8, 32, 128])
def test_balanced_suffixes_lie_in_their_own_slices(count: int) -> None:
    strategy = balanced_suffix("/base", by="/by", count=count)
    for base in ("2018-08-09", "contoso", "", "日本"):
        keys = strategy.for_read(base=base)
        epks = [strategy.definition.epk((key,)) for key in keys if isinstance(key, str)]
        found = [[part.contains(epk) for part in divide_space(count)].index(True) for epk in epks]
        assert found == list(range(count))


def test_a_key_is_the_same_in_every_process() -> None:
    program = (
        "from armillary.keys.synthetic import balanced_suffix as b;"
        "print(b('/day', by='/vin', count=16).for_point(day='2018-08-09', vin='WVW'))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert found == {balanced_suffix("/day", by="/vin", count=16).for_point(day="2018-08-09", vin="WVW")}


@pytest.mark.parametrize(
    ("act", "fragment"),
    [
        (lambda: concat("/a", "/b").for_point(a="x", b="y-z"), "'escaped' or 'length'"),
        (lambda: concat("/a", "/b").for_point(a="x"), "'b' is needed"),
        (lambda: concat("/a", "/b").for_point(a="x", b="y", c="z"), "'c' is no source"),
        (lambda: concat("/a", "/b").for_item({"a": "x"}), "no value at '/b'"),
        (lambda: concat("/a", "/b").for_item({"a": "x", "b": 2**53 + 1}), "2\\^53 or beyond"),
        (lambda: concat("/a", missing="drop").for_item({}), "every source is missing"),
        (lambda: concat("/a", "/b", missing="drop").for_item({"b": "x"}), "only sources at the end"),
        (lambda: concat("/a", missing="mark").for_item({"a": "undefined"}), "another mark"),
        (lambda: concat("/a", "/b").for_item({"a": "x", "b": float("nan")}), "not finite"),
        (lambda: concat("/a", "/b").for_item({"a": "x", "b": float("-inf")}), "2\\^53 or beyond"),
        (lambda: concat("/a", "/b").for_item({"a": "x", "b": "\ud83d"}), "half a pair"),
        (lambda: hash_suffix("/a", by="/b", count=4).for_item({"a": "x", "b": "\ude00x"}), "half a pair"),
        (lambda: concat("/a").for_point(a="x" * 2049), "2049 bytes"),
        (lambda: concat("/a").for_point(a=""), "0 bytes"),
        (lambda: random_suffix("/a", 4).for_point(a="x"), "for_read"),
        (lambda: hash_suffix("/a", by="/b", count=4).for_read(b="x"), "reading needs a"),
    ],
)
def test_keys_that_cannot_be_made(act: Callable[[], object], fragment: str) -> None:
    with pytest.raises(Refusal, match=fragment) as refused:
        act()
    assert refused.value.kind is Kind.BAD_KEY


@pytest.mark.parametrize(
    ("act", "fragment"),
    [
        (lambda: concat(), "nothing to join"),
        (lambda: concat("/a", delimiter="--"), "one printable character"),
        (lambda: concat("/a", delimiter="\\"), "delimiter"),
        (lambda: concat("/a/*"), "wildcard"),
        (lambda: concat("/a", name="a"), "its own property"),
        (lambda: concat("/a/b", "/a_b"), "one name"),
        (lambda: random_suffix("/a", 1), "from 2"),
        (lambda: random_suffix("/a", 8, earlier=(4, 6)), "latest first"),
        (lambda: random_suffix("/a", 8, earlier=(16,)), "smaller"),
        (lambda: random_suffix("/a", 8, delimiter="1"), "delimiter"),
        (lambda: random_suffix("/a", 8).grow(8), "not more"),
        (lambda: concat("/a").grow(8), "no suffixes"),
        (lambda: hierarchical("/a"), "two or 3"),
        (lambda: hierarchical("/a", "/a"), "one property"),
        (lambda: hierarchical(concat("/a"), rollup("/b", "day")), "`name`"),
        (lambda: hierarchical("/a", hierarchical("/b", "/c")), "levels itself"),
        (lambda: concat(hierarchical("/b", "/c")), "part of another"),
        (lambda: concat("/a/b", name="a"), "one of its sources"),
        (lambda: concat("/a", mode="guess"), "none of readable"),  # type: ignore[arg-type] # what is tested
        (lambda: random_suffix(hash_suffix("/a", by="/b", count=200), 101), "more than 20000 keys"),
        (lambda: random_suffix("/a", 9_999, earlier=(9_998, 9_997)), "more than 20000 keys"),
        (
            lambda: hierarchical(random_suffix("/a", 200, name="x"), concat("/b", random_suffix("/c", 101), name="y")),
            "more than 20000 keys",
        ),
        (lambda: concat("/a", missing="mark", mark="0"), "no word"),
        (lambda: concat("/a", missing="mark", mark="-1"), "no word"),
        (lambda: concat("/a", missing="mark", mark="true"), "no word"),
        (lambda: concat("/a", missing="mark", mark=""), "no word"),
        (lambda: concat("/a", missing="mark", mark="not-there"), "holds the delimiter"),
        (lambda: concat("/c", balanced_suffix("/a", by="/b", count=4)), "comes last"),
        (lambda: random_suffix(balanced_suffix("/a", by="/b", count=4), 4), "comes last"),
    ],
)
def test_strategies_that_cannot_be(act: Callable[[], object], fragment: str) -> None:
    with pytest.raises(Refusal, match=fragment) as refused:
        act()
    assert refused.value.kind is Kind.BAD_DEFINITION


def make_key(strategy: Strategy, values: tuple[object, ...], item: dict[str, object] | None = None) -> object:
    """The key, or None when the tuple is refused."""
    made = item or {name: value for name, value in zip("abc", values, strict=False) if value is not MISSING}
    try:
        return strategy.for_item(made)
    except Refusal:
        return None


def is_one(one: object, other: object) -> bool:
    if one is MISSING or other is MISSING:
        return one is other
    return is_same(one, other)  # type: ignore[arg-type] # not MISSING, which the line above tells


def unify(value: object) -> str:
    """What `unified` makes one, said in another way: a number is the digits that Python has for it, put in places."""
    if value is None or value is MISSING:
        return "\x00missing"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return json.dumps(value)
    assert isinstance(value, int | float)
    if 0 < abs(value) < 1e-6:
        return repr(value).replace("e-0", "e-")
    return "0" if value == 0 else f"{Decimal(repr(value)):f}".removesuffix(".0")


def list_paths(strategy: Strategy) -> list[str]:
    return [path.text for level in strategy.levels if level.part for path in level.part.sources]
