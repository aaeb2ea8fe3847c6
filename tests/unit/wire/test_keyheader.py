"""Partition keys in headers: five things that look alike are five keys."""

import pytest

from armillary.errors import Kind, Refusal
from armillary.values import UNDEFINED, KeyValue
from armillary.wire.keyheader import dump_key, parse_key


@pytest.mark.parametrize(
    ("header", "values"),
    [
        (b"[]", ()),
        (b"[{}]", (UNDEFINED,)),
        (b"[null]", (None,)),
        (b'[""]', ("",)),
        (b'["abc"]', ("abc",)),
        (b'["{}"]', ("{}",)),
        (b"[false]", (False,)),
        (b"[5]", (5,)),
        (b"[5.5]", (5.5,)),
        (b"[-0.0]", (-0.0,)),
        (b'["a",5,{},null]', ("a", 5, UNDEFINED, None)),
        (b'["\\u00e9\\ud83d\\ude00"]', ("é😀",)),
        ('["é"]'.encode(), ("é",)),
        (b'["a\\"]"]', ('a"]',)),
    ],
)
def test_headers(header: bytes, values: tuple[KeyValue, ...]) -> None:
    found = parse_key(header)
    assert repr(found) == repr(values)
    assert repr(parse_key(dump_key(values))) == repr(values)


@pytest.mark.parametrize(
    ("header", "values"),
    [(b' [ "a" ] ', ("a",)), (b"[5.0]", (5.0,)), (b"[-0]", (-0.0,)), (b"[9007199254740993]", (9007199254740992,))],
)
def test_other_spellings(header: bytes, values: tuple[KeyValue, ...]) -> None:
    assert repr(parse_key(header)) == repr(values)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"a",
        b'"a"',
        b"{}",
        b"null",
        b"[",
        b"[a]",
        b"[1.a]",
        b"[{]",
        b"[[]]",
        b'[{"a":1}]',
        b"[1e400]",
        b'["\\ud800"]',
        b'["\xff"]',
        b'["a\x01"]',
        b"[NaN]",
        b'["a"] x',
    ],
)
def test_what_is_no_key_is_refused(header: bytes) -> None:
    with pytest.raises(Refusal) as refused:
        parse_key(header)
    assert refused.value.kind is Kind.BAD_HEADER
    assert "x-ms-documentdb-partitionkey" in str(refused.value)
