"""Definitions: what they say without saying it, which are refused, and which values are a key of them."""

import pytest

from armillary.errors import Kind, Refusal
from armillary.keys import SYSTEM_KEY, KeyKind, define_key, read_definition
from armillary.values import UNDEFINED, KeyValue

HIERARCHY = define_key("/tenant", "/user", "/session")


@pytest.mark.parametrize(
    ("text", "kind", "version"),
    [
        ({"paths": ["/a"]}, "Hash", 1),
        ({"paths": ["/a"], "kind": "Hash"}, "Hash", 1),
        ({"paths": ["/a"], "kind": "Hash", "version": 2}, "Hash", 2),
        ({"paths": ["/a"], "version": 2.0}, "Hash", 2),
        ({"paths": ["/a"], "kind": "Range"}, "Range", 1),
        ({"paths": ["/a", "/b"], "kind": "MultiHash"}, "MultiHash", 2),
        ({"paths": ["/a", "/b", "/c"], "kind": "MultiHash", "version": 2}, "MultiHash", 2),
    ],
)
def test_defaults(text: dict[str, object], kind: str, version: int) -> None:
    definition = read_definition(text)
    assert definition.to_json() == {"paths": text["paths"], "kind": kind, "version": version}
    assert read_definition(definition.to_json()) == definition


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (None, "an object"),
        ([], "an object"),
        ({}, "list of texts"),
        ({"paths": []}, "list of texts"),
        ({"paths": "/a"}, "list of texts"),
        ({"paths": [1]}, "list of texts"),
        ({"paths": ["/a", "/b"]}, "Too many partition key paths"),
        ({"paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash"}, "Too many partition key paths"),
        ({"paths": ["/a", "/a"], "kind": "MultiHash"}, "twice"),
        ({"paths": ["/a", '/"a"'], "kind": "MultiHash"}, "twice"),
        ({"paths": ["/a/*"]}, "wildcard"),
        ({"paths": ["/a"], "kind": "hash"}, "'hash'"),
        ({"paths": ["/a"], "kind": None}, "None"),
        ({"paths": ["/a"], "version": 3}, "3"),
        ({"paths": ["/a"], "version": "2"}, "'2'"),
        ({"paths": ["/a"], "version": True}, "True"),
        ({"paths": ["/a"], "kind": "MultiHash", "version": 1}, "version 2"),
    ],
)
def test_what_is_no_definition_is_refused(text: object, fragment: str) -> None:
    with pytest.raises(Refusal, match=fragment) as refused:
        read_definition(text)
    assert refused.value.kind is Kind.BAD_DEFINITION


def test_values_of_items() -> None:
    item: dict[str, object] = {"tenant": "t", "user": 5, "session": {}}
    assert define_key("/tenant").values_of(item) == ("t",)
    assert HIERARCHY.values_of(item) == ("t", 5, UNDEFINED)
    assert define_key("/nothing").values_of(item) == (UNDEFINED,)


def test_the_key_of_a_container_that_was_made_without_one() -> None:
    assert SYSTEM_KEY.to_json() == {"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": True}
    assert read_definition(SYSTEM_KEY.to_json()) == SYSTEM_KEY
    assert SYSTEM_KEY.values_of({"id": "1"}) == ()
    assert SYSTEM_KEY.values_of({"_partitionKey": "a"}) == ("a",)
    assert SYSTEM_KEY.epk(()) == b""
    assert SYSTEM_KEY.check_values(()) == SYSTEM_KEY.check_values((UNDEFINED,)) == ()


@pytest.mark.parametrize("values", [(), ("a", "b")])
def test_a_hash_key_has_one_value(values: tuple[KeyValue, ...]) -> None:
    definition = define_key("/a")
    assert definition.check_values(("a",)) == ("a",)
    assert definition.check_values((UNDEFINED,)) == (UNDEFINED,)
    for whole in (True, False):
        with pytest.raises(Refusal, match="Partition key provided either doesn't correspond") as refused:
            definition.check_values(values, whole=whole)
        assert refused.value.kind is Kind.BAD_KEY


def test_a_hierarchical_key_may_be_a_prefix_where_one_is_allowed() -> None:
    assert HIERARCHY.check_values(("t", "u", "s")) == ("t", "u", "s")
    assert HIERARCHY.check_values(("t",), whole=False) == ("t",)
    assert HIERARCHY.is_complete(("t", "u", "s"))
    assert not HIERARCHY.is_complete(("t", "u"))
    for values in ((), ("t",), ("t", "u"), ("t", "u", "s", "x")):
        with pytest.raises(Refusal):
            HIERARCHY.check_values(values)
    with pytest.raises(Refusal):
        HIERARCHY.check_values((), whole=False)


def test_a_prefix_covers_the_keys_below_it() -> None:
    whole = HIERARCHY.epk(("t", "u", "s"))
    assert HIERARCHY.range_of(("t",)).contains(whole)
    assert HIERARCHY.range_of(("t", "u")).contains(whole)
    assert not HIERARCHY.range_of(("t", "v")).contains(whole)
    assert HIERARCHY.range_of(("t", "u", "s")).contains(whole)


def test_the_oldest_kind_hashes_like_hash() -> None:
    old = read_definition({"paths": ["/a"], "kind": "Range"})
    assert old.kind is KeyKind.RANGE
    assert old.epk(("redmond",)) == read_definition({"paths": ["/a"]}).epk(("redmond",))


@pytest.mark.parametrize("version", [1, 2])
def test_a_value_has_at_most_2048_bytes(version: int) -> None:
    definition = read_definition({"paths": ["/a"], "version": version})
    for fits in ("x" * 2048, "é" * 1024, "😀" * 512):
        assert definition.epk((fits,))
    for longer in ("x" * 2049, "é" * 1025, "😀" * 513):
        with pytest.raises(Refusal, match="2048") as refused:
            definition.epk((longer,))
        assert refused.value.kind is Kind.BAD_KEY
