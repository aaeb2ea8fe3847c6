"""The normal form of JSON: 350 bodies, the laws of the writer, and a second parser as a witness."""

import json
import math
import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases.loader import JsonBody, load_json_bodies

from armillary.errors import Kind, Refusal
from armillary.json import dump, load, parse, parse_object

BODIES: Final = load_json_bodies()
ACCEPTED: Final = [body for body in BODIES if body.normal is not None]

NUMBER: Final = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALAR: Final = st.none() | st.booleans() | NUMBER | st.text(st.characters(codec="utf-8"))
VALUE: Final = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case.place)
def test_bodies(case: JsonBody) -> None:
    if case.normal is None:
        with pytest.raises(Refusal) as refused:
            parse_object(case.body)
        assert refused.value.kind is Kind.BAD_JSON
        assert str(refused.value)
    else:
        assert dump(parse_object(case.body)) == case.normal


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.place)
def test_the_normal_form_is_its_own_normal_form(case: JsonBody) -> None:
    assert case.normal is not None
    assert dump(parse(case.normal)) == case.normal
    assert dump(load(case.normal)) == case.normal


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.place)
def test_another_parser_reads_the_same_doubles(case: JsonBody) -> None:
    """The parser of the standard library, told that all numbers are doubles, sees no difference."""
    assert case.normal is not None
    assert repr(read_doubles(case.body)) == repr(read_doubles(case.normal))
    outside = re.sub(rb'"(?:[^"\\]|\\.)*"', b"", case.normal)
    assert not re.search(rb"\s", outside)


def test_there_are_enough_odd_bodies() -> None:
    assert len(BODIES) >= 200
    assert len({case.body for case in BODIES}) == len(BODIES)


@given(VALUE)
def test_whatever_another_writer_sends_keeps_its_doubles(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        sent = text.encode()
        try:
            normal = dump(parse(sent))
        except Refusal:
            assert re.search(r"\d{309}", text), "only a number beyond all doubles may be refused"
            return
        assert repr(read_doubles(normal)) == repr(read_doubles(sent))
        assert dump(parse(normal)) == normal


@given(st.binary(max_size=40) | st.text(st.sampled_from('[]{}:,"\\u0129dDe.E+- \n')).map(str.encode))
def test_what_one_parser_refuses_the_other_does_not_accept(body: bytes) -> None:
    try:
        value = parse(body)
    except Refusal:
        return
    assert repr(read_doubles(dump(value))) == repr(read_doubles(body))


@pytest.mark.parametrize(("levels", "fits"), [(128, True), (129, False)])
def test_depth_counts_objects_and_arrays_that_are_open(levels: int, fits: bool) -> None:
    for start, end in ((b"[", b"]"), (b'{"a":', b"}")):
        body = start * levels + b"1" + end * levels
        if fits:
            assert dump(parse(body)) == body
        else:
            with pytest.raises(Refusal, match="128"):
                parse(body)


def test_an_object_is_expected_where_one_is_needed() -> None:
    assert parse(b"[1]") == [1]
    with pytest.raises(Refusal, match="object") as refused:
        parse_object(b"[1]")
    assert refused.value.kind is Kind.BAD_JSON


def read_doubles(text: bytes) -> object:
    value: object = json.loads(text.decode(), parse_int=float, parse_constant=refuse_constant)
    return value


def refuse_constant(name: str) -> float:
    raise AssertionError(f"{name} is no JSON")


def test_the_witness_knows_its_business() -> None:
    assert read_doubles(b"[9007199254740993]") == [9007199254740992.0]
    assert math.copysign(1, float(str(read_doubles(b"-0")))) == -1
