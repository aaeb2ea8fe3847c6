"""Odd JSON over HTTP: what comes back is the normal form, or the body was refused; nothing else."""

from collections.abc import Iterator
from typing import Final

import pytest
from tests.cases.loader import JsonBody, load_json_bodies
from tests.e2e.live import UPSERT, Caller, key_header

pytestmark = pytest.mark.e2e

BODIES: Final = load_json_bodies()
SYSTEM: Final = b',"_rid":"'
NONE: Final = key_header({})


@pytest.fixture
def place(caller: Caller, name: str) -> str:
    caller.create(name)
    return caller.create(name, "box")


def differ(caller: Caller, place: str, bodies: list[JsonBody]) -> Iterator[str]:
    """The cases that are kept or refused otherwise than they should be."""
    for case in bodies:
        answer = caller.ask("POST", f"{place}/docs", case.body or b" ", {**NONE, **UPSERT})
        if case.normal is None:
            if answer.status != 400 or "JSON" not in answer.json["message"]:
                yield f"{case.place}: not refused but {answer.status} {answer.body[:200]!r}"
            continue
        kept = caller.ask("GET", f"{place}/docs/i", headers=NONE)
        expected = drop_system(case.normal)
        if answer.status not in (200, 201) or kept.body != answer.body:
            yield f"{case.place}: {answer.status} {answer.body[:200]!r}"
        elif kept.body[: kept.body.rindex(SYSTEM)] != expected:
            yield f"{case.place}: {kept.body[:200]!r} is not {expected[:200]!r}"


def drop_system(normal: bytes) -> bytes:
    """The normal form up to where the service's own properties begin; a sender's own are not kept."""
    at = normal.find(SYSTEM)
    return normal[:at] if at >= 0 else normal[:-1]


def test_whole_bodies(caller: Caller, place: str) -> None:
    bodies = [case for case in BODIES if case.place.startswith("json/bodies")]
    assert len(bodies) > 30
    wrong = list(differ(caller, place, bodies))
    assert not wrong, "\n".join(wrong)


def test_values_of_a_property(caller: Caller, place: str) -> None:
    bodies = [case for case in BODIES if case.place.startswith("json/values")]
    assert len(bodies) >= 200
    wrong = list(differ(caller, place, bodies))
    assert not wrong, "\n".join(wrong)


def test_the_feed_shows_the_same_bytes(caller: Caller, place: str) -> None:
    """Items are bytes: what a feed shows of them is what a point read shows."""
    shown = []
    for number, case in enumerate(case for case in BODIES if case.normal and case.place.startswith("json/values")):
        body = case.body.replace(b'{"id":"i"', b'{"id":"%03d"' % number, 1)
        shown.append(caller.must("POST", f"{place}/docs", body, NONE).body)
    rows = caller.must("GET", f"{place}/docs", headers={"x-ms-max-item-count": "1000"})
    assert rows.body.startswith(b'{"_rid":"')
    assert b'"Documents":[' + b",".join(shown) + b'],"_count":%d}' % len(shown) in rows.body


def test_a_partition_key_is_the_value_of_its_normal_form(caller: Caller, name: str) -> None:
    caller.create(name)
    place = caller.create(name, "box", "/v")
    for sent, found in (("1.0", "1"), ("1e2", "100"), ("9007199254740993", "9007199254740992"), ('"\\u0041"', '"A"')):
        key = {"x-ms-documentdb-partitionkey": f"[{found}]"}
        caller.must("POST", f"{place}/docs", b'{"id":"i","v":%b}' % sent.encode(), {**key, **UPSERT})
        assert caller.ask("GET", f"{place}/docs/i", headers={"x-ms-documentdb-partitionkey": f"[{sent}]"}).status == 200
    minus = {"x-ms-documentdb-partitionkey": "[-0.0]"}
    caller.must("POST", f"{place}/docs", b'{"id":"zero","v":-0}', minus)
    plus = {"x-ms-documentdb-partitionkey": "[0]"}
    assert caller.ask("GET", f"{place}/docs/zero", headers=plus).status == 404
    caller.must("POST", f"{place}/docs", b'{"id":"zero","v":0}', plus)
