"""Synthetic keys: the published vectors, one key for one tuple, and reads that find whatever was written."""

import json
import os
import random
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from math import prod, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Final, get_args
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from armillary.errors import Kind, Refusal
from armillary.keys.parts import pick_slot
from armillary.keys.ranges import divide_space
from armillary.keys.sizing import suggest_count
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
        same = all(map(is_one, one, other)) or drop_missing(one) == drop_missing(other) != one
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


def test_a_key_that_sources_do_not_give_is_refused() -> None:
    strategy = concat("/a", "/b")
    assert strategy.apply({"a": "x", "b": "y", "partitionKey": "x-y"})["partitionKey"] == "x-y"
    with pytest.raises(Refusal, match="a source has changed"):
        strategy.for_item({"a": "x", "b": "z", "partitionKey": "x-y"})


def test_items_are_not_changed() -> None:
    item: dict[str, object] = {"a": "x", "b": "y"}
    assert concat("/a", "/b", name="pk").apply(item) == {"a": "x", "b": "y", "pk": "x-y"}
    assert item == {"a": "x", "b": "y"}


def test_levels() -> None:
    strategy = hierarchical("/tenant", rollup("/at", "month", name="month"), "/id")
    assert strategy.definition.to_json()["paths"] == ["/tenant", "/month", "/id"]
    item: dict[str, object] = {"id": "1", "tenant": 5, "at": "2018-08-09T00:00:00Z"}
    assert strategy.apply(item) == {**item, "month": "2018-08"}
    assert strategy.for_item(item) == (5, "2018-08", "1")
    assert strategy.for_read(tenant=5) == [(5,)]
    assert strategy.for_read(tenant=5, id="1") == [(5,)]
    assert strategy.for_read(tenant=5, at="2018-08-10") == [(5, "2018-08")]
    with pytest.raises(Refusal, match="tenant"):
        strategy.for_read(id="1")


@pytest.mark.parametrize(
    ("moment", "unit", "text"),
    [
        ("2018-08-09T14:30:00Z", "hour", "2018-08-09T14"),
        ("2018-08-09 14:30Z", "day", "2018-08-09"),
        ("2018-12-31T23:30:00.999-02:00", "month", "2019-01"),
        ("2019-01-01T00:30:00+0100", "month", "2018-12"),
        ("0999-01-01", "day", "0999-01-01"),
        (0, "hour", "1970-01-01T00"),
        (-1, "day", "1969-12-31"),
        (1533825000.75, "hour", "2018-08-09T14"),
    ],
)
def test_moments(moment: object, unit: str, text: str) -> None:
    strategy = Strategy.from_json({"format": 1, "levels": [{"path": "/pk", "key": as_rollup(unit)}]})
    assert strategy.for_point(at=moment) == text


@pytest.mark.parametrize(
    "moment", ["2018-08-09T14:30:00", "2018-8-9", "2018-02-30", "", "now", None, True, {}, 1533825000000]
)
def test_what_is_no_moment_is_refused(moment: object) -> None:
    with pytest.raises(Refusal, match="no moment"):
        rollup("/at", "day").for_point(at=moment)


@pytest.mark.parametrize("moment", ["2018-08-09", "2018-08-09T24:00:00Z"])
def test_an_hour_needs_a_time(moment: str) -> None:
    with pytest.raises(Refusal, match="no moment"):
        rollup("/at", "hour").for_point(at=moment)


@pytest.mark.parametrize(
    ("act", "fragment"),
    [
        (lambda: concat("/a", "/b").for_point(a="x", b="y-z"), "'escaped' or 'length'"),
        (lambda: concat("/a", "/b").for_point(a="x"), "'b' is needed"),
        (lambda: concat("/a", "/b").for_point(a="x", b="y", c="z"), "'c' is no source"),
        (lambda: concat("/a", "/b").for_item({"a": "x"}), "no value at '/b'"),
        (lambda: concat("/a", "/b").for_item({"a": "x", "b": 2**53 + 1}), "beyond 2\\^53"),
        (lambda: concat("/a", missing="drop").for_item({}), "every source is missing"),
        (lambda: concat("/a", "/b", missing="drop").for_item({"b": "x"}), "only sources at the end"),
        (lambda: concat("/a", missing="mark").for_item({"a": "undefined"}), "another mark"),
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
        (lambda: concat("/a", delimiter="--"), "one character"),
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
        (lambda: Strategy.from_json(None), "format 1"),
        (lambda: Strategy.from_json({"format": 2, "levels": []}), "format 1"),
        (lambda: Strategy.from_json({"format": 1, "levels": [1]}), "must be an object"),
        (lambda: from_part({"strategy": "guess"}), "none of concat"),
        (lambda: from_part({"strategy": "concat", "parts": 1}), "no list"),
        (lambda: from_part({"strategy": "concat", "parts": [1]}), "a path or an object"),
        (lambda: from_part({"strategy": "concat", "parts": ["/a"], "mode": "x"}), "none of readable"),
        (lambda: from_part({"strategy": "rollup", "path": "/a", "unit": "week"}), "none of hour"),
        (lambda: from_part({"strategy": "rollup", "path": "/a"}), "unit"),
        (lambda: from_part({"strategy": "randomSuffix", "base": "/a", "count": 4, "x": 1}), "x"),
    ],
)
def test_strategies_that_cannot_be(act: Callable[[], object], fragment: str) -> None:
    with pytest.raises(Refusal, match=fragment) as refused:
        act()
    assert refused.value.kind is Kind.BAD_DEFINITION


def test_counts_that_are_suggested() -> None:
    assert suggest_count(1).count == 1
    assert suggest_count(10, excess=0.5).spread == 185
    assert suggest_count(10, peak_ru=36_000, excess=2).throughput == 5
    assert suggest_count(1, peak_bytes=100 * 2**30).count == 7
    assert suggest_count(5, balanced=True).count == 8
    assert suggest_count(2, peak_ru=36_000, balanced=True).count == 8


VIN_LETTERS: Final = "".join(sorted(set(string.ascii_uppercase + string.digits) - set("IOQ")))


def list_samples(amount: int) -> dict[str, list[str]]:
    """What people hash: identification numbers, UUIDs, order numbers, timestamps."""
    source = random.Random(20180809)
    return {
        "vin": ["".join(source.choices(VIN_LETTERS, k=17)) for _ in range(amount)],
        "uuid": [str(UUID(int=source.getrandbits(128))) for _ in range(amount)],
        "order": [f"order-{number}" for number in range(amount)],
        "time": [str(1_533_772_800 + number) for number in range(amount)],
    }


@pytest.mark.parametrize("kind", ["vin", "uuid", "order", "time"])
def test_suffixes_of_few_are_even(kind: str) -> None:
    samples = list_samples(6_000)[kind]
    for count in (2, 7, 16, 100):
        check_evenness(samples, [count])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["vin", "uuid", "order", "time"])
def test_suffixes_of_a_million_are_even_for_every_count(kind: str) -> None:
    check_evenness(list_samples(1_000_000)[kind], range(2, 401))


@pytest.mark.parametrize("pick", [lambda text: prod(map(ord, text)), lambda text: pick_slot(text, 1 << 48) // 3 * 3])
def test_suffixes_that_are_uneven_are_caught(pick: Callable[[str], int]) -> None:
    """The product of the code points, as in published samples, and a hash that loses two slots of three."""
    with pytest.raises(AssertionError, match="suffixes"):
        check_evenness(list_samples(6_000)["vin"], [3, 16, 100], pick)


def pick_widely(text: str) -> int:
    return pick_slot(text, 1 << 48)


def check_evenness(samples: list[str], counts: "range | list[int]", pick: Callable[[str], int] = pick_widely) -> None:
    """Chi-square of the suffixes of every count, with the Wilson-Hilferty form of the bound.

    The chance that an even hash fails at ANY of the counts is at most 0.001: each look has 0.001 / looks. With 0.001
    for each look, bytes of the system's random source failed at some count in 2 samples of 4, and these in 7 of 16, at
    another count each time.
    """
    limit = NormalDist().inv_cdf(1 - 0.001 / len(counts))
    places = [pick(sample) for sample in samples]
    for count in counts:
        found = Counter(map(count.__rmod__, places))
        expected = len(samples) / count
        square = sum((found[slot] - expected) ** 2 for slot in range(count)) / expected
        freedom = count - 1
        bound = freedom * (1 - 2 / (9 * freedom) + limit * sqrt(2 / (9 * freedom))) ** 3
        assert square < bound, f"{count} suffixes"


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


def drop_missing(values: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(value for value in values if value is not MISSING)


def unify(value: object) -> str:
    """What `unified` makes one, said in another way."""
    if value is None or value is MISSING:
        return "\x00missing"
    if isinstance(value, str):
        return value
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value).replace("e-0", "e-")


def list_paths(strategy: Strategy) -> list[str]:
    return [path.text for level in strategy.levels if level.part for path in level.part.sources]


def as_rollup(unit: str) -> dict[str, object]:
    return {"strategy": "rollup", "path": "/at", "unit": unit}


def from_part(part: dict[str, object]) -> Strategy:
    return Strategy.from_json({"format": 1, "levels": [{"path": "/pk", "key": part}]})
