"""Key paths: what they lead to, and which are refused."""

import pytest

from armillary.errors import Kind, Refusal
from armillary.keys.path import extract, parse_path
from armillary.values import UNDEFINED


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("/id", ("id",)),
        ("/a/b/c", ("a", "b", "c")),
        ("/_partitionKey", ("_partitionKey",)),
        ("/tenant-id", ("tenant-id",)),
        ("/größe", ("größe",)),
        ('/"a-b"/c', ("a-b", "c")),
        ('/"a/b"', ("a/b",)),
        ('/a/"*"', ("a", "*")),
        ('/"a b"', ("a b",)),
        (r'/"a\"b"', ('a"b',)),
        (r"/'it\'s'", ("it's",)),
        ("/'a\"b'/\"c'd\"", ('a"b', "c'd")),
        ('/"level\' 1*()"/"le/vel2"', ("level' 1*()", "le/vel2")),
    ],
)
def test_names_of_paths(text: str, names: tuple[str, ...]) -> None:
    assert parse_path(text) == (text, names)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "a",
        "a/b",
        "/a/",
        "//a",
        "/a//b",
        "/*",
        "/a/*",
        "/a/?",
        "/a?",
        "/a[]",
        "/[0]",
        '/"a',
        "/'a\"",
        '/a"b"',
        '/"a"b',
        '/""',
        "/a b",
        "/a\n",
        "/a\\b",
        " /a",
        "/\x00",
    ],
)
def test_what_is_no_path_is_refused_in_the_words_of_the_service(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_path(text)
    assert refused.value.kind is Kind.BAD_DEFINITION
    assert (
        "Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character"
    ) in str(refused.value)


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ({"a": {"b": "x"}}, "x"),
        ({"a": {"b": None}}, None),
        ({"a": {"b": False}}, False),
        ({"a": {"b": 1.5}}, 1.5),
        ({"a": {"b": ""}}, ""),
        ({"a": {"b": {}}}, UNDEFINED),
        ({"a": {"b": []}}, UNDEFINED),
        ({"a": {}}, UNDEFINED),
        ({"a": "b"}, UNDEFINED),
        ({"a": None}, UNDEFINED),
        ({"a": [{"b": 1}]}, UNDEFINED),
        ({}, UNDEFINED),
    ],
)
def test_values_at_a_path(item: dict[str, object], value: object) -> None:
    assert extract(item, parse_path("/a/b")) is value or extract(item, parse_path("/a/b")) == value
    assert type(extract(item, parse_path("/a/b"))) is type(value)
