"""Paths of indexing policies."""

import pytest

from armillary.api.nosql.indexpaths import ROOT, End, find_property, parse_index_path
from armillary.api.nosql.shapes import Part
from armillary.errors import Refusal


def part(text: object) -> Part:
    return Part("indexing policy", "path", text)


@pytest.mark.parametrize(
    ("text", "steps", "end"),
    [
        ("/*", (), End.EVERYTHING),
        ("/", (), End.EVERYTHING),
        ("/a/?", ("a",), End.SCALAR),
        ("/a/*", ("a",), End.EVERYTHING),
        ("/a/b_1/2/?", ("a", "b_1", "2"), End.SCALAR),
        ("/a/[]/?", ("a", None), End.SCALAR),
        ("/a/[]/b/*", ("a", None, "b"), End.EVERYTHING),
        ('/"_etag"/?', ("_etag",), End.SCALAR),
        ('/"a-b"/*', ("a-b",), End.EVERYTHING),
        ("/'a b'/?", ("a b",), End.SCALAR),
        (r'/"a\"b"/?', ('a"b',), End.SCALAR),
        ('/"[]"/?', ("[]",), End.SCALAR),
        ('/"?"/?', ("?",), End.SCALAR),
        ("/größe/?", ("größe",), End.SCALAR),
    ],
)
def test_paths(text: str, steps: tuple[str | None, ...], end: End) -> None:
    path = parse_index_path(part(text))
    assert (path.steps, path.end, path.members) == (steps, end, ())


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("/events/[]/{name, category}/?", (("name",), ("category",))),
        ("/events/[]/{name/first,name/last}/?", (("name", "first"), ("name", "last"))),
        ('/events/[]/{"a,b", c}/?', (("a,b",), ("c",))),
    ],
)
def test_tuples(text: str, members: tuple[tuple[str, ...], ...]) -> None:
    path = parse_index_path(part(text))
    assert (path.text, path.steps, path.members) == (text, ("events", None), members)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("/expiration", 11),  # a known answer of the service
        ("", 0),
        ("a/?", 0),
        ("/?", 0),
        ("//?", 0),
        ("/a/", 2),
        ("/a-b/?", 2),
        ("/a/*/b/?", 2),
        ("/a/?/b", 2),
        ("/a/[0]/?", 2),
        ('/"a/?', 0),
        ("/events/{name, category}/?", 7),
        ("/events/[]/{name, category}/*", 10),
        ("/events/[]/{name/[]/first, category}/?", 10),
        ("/events/[]/{name,}/?", 10),
        ("/events/[]/{}/?", 10),
        ("/[]", 3),
    ],
)
def test_what_is_no_path(text: str, at: int) -> None:
    with pytest.raises(Refusal) as caught:
        parse_index_path(part(text))
    assert f"The indexing path '{text}' could not be accepted, failed near position '{at}'." in str(caught.value)


@pytest.mark.parametrize("value", [None, 5, ["/a/?"]])
def test_a_path_is_a_text(value: object) -> None:
    with pytest.raises(Refusal):
        parse_index_path(part(value))


def test_quotes_make_no_difference() -> None:
    assert parse_index_path(part("/_etag/?")) == parse_index_path(part('/"_etag"/?'))
    assert parse_index_path(part("/a/?")) != parse_index_path(part("/a/*"))
    assert parse_index_path(part("/")) == ROOT


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("/a", ("a",)),
        ("/a/b", ("a", "b")),
        ('/"a-b"/c', ("a-b", "c")),
        ("a", None),
        ("/a/", None),
        ("/a/?", None),
        ("/a/*", None),
        ("/a/[]", None),
        ("/", None),
    ],
)
def test_paths_of_properties(text: str, names: tuple[str, ...] | None) -> None:
    path = find_property(part(text))
    assert (path and path.names) == names


def test_a_long_path_is_not_sent_back_whole() -> None:
    with pytest.raises(Refusal) as caught:
        parse_index_path(part("/" + "a" * 1_000_000))
    assert len(str(caught.value)) < 2000
