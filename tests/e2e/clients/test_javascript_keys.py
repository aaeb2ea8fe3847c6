"""The JavaScript sample of synthetic keys gives the keys of the published vectors, and of thousands made at random."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from armillary.errors import Kind, Refusal
from armillary.keys.strategy import Key, Strategy

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")]

ROOT: Final = Path(__file__).parents[3]
SAMPLE: Final = ROOT / "examples" / "javascript" / "synthetic-keys.js"
ASKING: Final = Path(__file__).parent / "javascript" / "keys.js"
VECTORS: Final = ROOT / "docs" / "support" / "synthetic-keys.json"
CASES: Final = 20_000 if os.environ.get("ARMILLARY_LONG") else 2_000

TEXTS: Final = (
    *(
        "",
        "a",
        "abc-123",
        "a.b",
        "-",
        ".",
        "\\",
        '"',
        "true",
        "true\n",
        "null",
        "undefined",
        "none",
        "2018",
        "-1",
        "1e-7",
    ),
    *("größe", "日本", "\U0001f94a-x", "e\u0301", "\ud83d", "x" * 2050, "0" * 17, "1HGCM82633A004352", "１", "3:x"),
)
MOMENTS: Final = (
    *("2018-08-09", "2018-08-09T14:30:00Z", "2018-08-09 23:59:59.9999-02:00", "0001-01-01", "0000-12-31"),
    *("2018-02-29", "2020-02-29", "0099-12-31T23:59:00-00:01", "2018-08-09T24:00:00Z", "9999-12-31T23:59:59-00:01"),
)
NAMES: Final = ("a", "b", "c")


def ask_javascript(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    done = subprocess.run(
        ["node", ASKING, SAMPLE], input=json.dumps(cases), capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def test_the_published_vectors() -> None:
    published = json.loads(VECTORS.read_text(encoding="utf-8"))
    cases = published["writes"] + published["reads"]
    assert len(cases) > 150
    wanted = [{name: case[name] for name in ("key", "keys", "refused") if name in case} for case in cases]
    assert ask_javascript(cases) == wanted


def test_keys_made_at_random() -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = random.Random(seed)
    cases: list[dict[str, Any]] = []
    while len(cases) < CASES:
        strategy = make_strategy(source)
        if strategy:
            cases += [make_case(source, strategy) for _ in range(4)]
    wanted = [make_answer(case) for case in cases]
    found = ask_javascript(cases)
    wrong = [(case, one, other) for case, one, other in zip(cases, wanted, found, strict=True) if one != other]
    assert not wrong, f"{len(wrong)}, the first: {wrong[0]}"
    assert 0.2 < sum("refused" in answer for answer in found) / len(found) < 0.8


def make_strategy(source: random.Random) -> Strategy | None:
    made = [{"path": "/pk", "key": make_part(source, 2)}]
    if source.random() < 0.2:
        made.insert(source.randrange(2), {"path": "/own"})
    try:
        return Strategy.from_json({"format": 1, "levels": made})
    except Refusal as refusal:
        assert refusal.kind is Kind.BAD_DEFINITION  # noqa: PT017 - what is made at random may be refused, in words
        return None


def make_part(source: random.Random, depth: int) -> Any:
    path = f"/{source.choice(NAMES)}"
    kind = source.choice(("", "concat", "concat", "rollup", "randomSuffix", "hashSuffix", "balancedSuffix"))
    if not depth or not kind:
        return path
    if kind == "rollup":
        return {"strategy": kind, "path": path, "unit": source.choice(("hour", "day", "month"))}
    if kind == "concat":
        more = {
            "mode": source.choice(("readable", "escaped", "length")),
            "types": source.choice(("unified", "apart")),
            "missing": source.choice(("refuse", "drop", "mark")),
            "mark": source.choice(("undefined", "none")),
            "delimiter": source.choice("-.|_"),
        }
        kept = {name: value for name, value in more.items() if source.random() < 0.7}
        parts = [make_part(source, depth - 1) for _ in range(source.randint(1, 3))]
        return {"strategy": kind, "parts": parts, **kept}
    count = source.choice((2, 3, 8, 400, 9_999)) if kind != "balancedSuffix" else source.choice((2, 3, 8, 32))
    by = {} if kind == "randomSuffix" else {"by": f"/{source.choice(NAMES)}"}
    earlier = {"earlier": [2]} if count > 2 and source.random() < 0.3 else {}
    return {"strategy": kind, "base": make_part(source, depth - 1), "count": count, **by, **earlier}


def make_value(source: random.Random) -> Any:
    return source.choice(
        (
            source.choice(TEXTS),
            source.choice(MOMENTS),
            source.choice((0, -0.0, 1, 2018, 2018.0, 0.5, 1e-6, 1e-7, 123456.789, 2**53 - 1, 2**53, 2**63, 1e300)),
            source.choice((True, False, None, {}, [], {"a": 1})),
            source.uniform(-1, 1) * 10 ** source.randint(-12, 15),
            source.randint(-70_000_000_000, 260_000_000_000),
        )
    )


def make_case(source: random.Random, strategy: Strategy) -> dict[str, Any]:
    """A write or a read; a key that stands in the item already is a right one, mostly."""
    own: object = source.choice([*TEXTS, True, None, 5, 0.5, {}])
    sources = {name: make_value(source) for name in NAMES if source.random() < 0.9} | {"own": own}
    text = strategy.to_json()
    if source.random() < 0.3:
        known = {path.text[1:] for level in strategy.levels for path in level.sources}
        return {"strategy": text, "sources": {name: value for name, value in sources.items() if name in known}}
    item = dict(sources)
    try:
        key = source.choice(strategy.keys_of(item))
        item["pk"] = strategy.stamp({}, key)["pk"] if source.random() < 0.9 else "another"
    except Refusal:
        item["pk"] = "another"
    if source.random() < 0.5 and '"randomSuffix"' not in json.dumps(text):
        del item["pk"]
    return {"strategy": text, "item": item}


def make_answer(case: dict[str, Any]) -> dict[str, Any]:
    strategy = Strategy.from_json(case["strategy"])
    try:
        if "item" in case:
            return {"key": spread(strategy.for_item(case["item"]))}
        return {"keys": [spread(key) for key in strategy.for_read(**case["sources"])]}
    except Refusal as refusal:
        assert refusal.kind is Kind.BAD_KEY  # noqa: PT017 - a refusal of the key, in words
        return {"refused": True}


def spread(key: Key) -> Any:
    return list(key) if isinstance(key, tuple) else key
