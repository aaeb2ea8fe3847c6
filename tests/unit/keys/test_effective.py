"""Effective keys against published vectors and against the code of the official Python client."""

from typing import Final

import pytest
from azure.cosmos.partition_key import NonePartitionKeyValue, PartitionKey
from hypothesis import given
from hypothesis import strategies as st
from tests.cases.loader import Case, expand, load_cases

from armillary.keys.effective import binary_number, hash_levels, hash_v1, hash_v2
from armillary.values import UNDEFINED, KeyValue
from armillary.wire.keyheader import parse_key

HASHES: Final = {"v1": hash_v1, "v2": hash_v2, "multihash": hash_levels}
VECTORS: Final = [
    pytest.param(name, case, id=case.place) for name in HASHES for case in load_cases(f"keys/{name}")
]  # fmt: skip

TEXT: Final = st.text(st.characters(codec="utf-8"), max_size=60)
NUMBER: Final = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUE: Final = st.one_of(st.just(UNDEFINED), st.none(), st.booleans(), NUMBER, TEXT)


@pytest.mark.parametrize(("name", "case"), VECTORS)
def test_vectors(name: str, case: Case) -> None:
    found = HASHES[name](parse_key(expand(case.input))).hex().upper()
    assert found == case.output.replace("\n", "")


@given(VALUE)
def test_a_hash_key_is_the_one_of_the_python_client(value: KeyValue) -> None:
    assert hash_v2((value,)).hex().upper() == ask_client(PartitionKey("/a"), [value])


@given(st.lists(VALUE, min_size=1, max_size=3))
def test_a_hierarchical_key_is_the_one_of_the_python_client(values: list[KeyValue]) -> None:
    client = PartitionKey(["/a", "/b", "/c"])
    assert hash_levels(values).hex().upper() == ask_client(client, values)


# The client is known to be wrong in version 1 on null and on whole numbers outside 32 bits.
IN_V1: Final = st.one_of(
    st.just(UNDEFINED),
    st.booleans(),
    st.integers(0, 2**32 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", max_codepoint=0xFFFF), max_size=140),
)


@given(IN_V1)
def test_a_v1_key_is_the_one_of_the_python_client_where_it_is_right(value: KeyValue) -> None:
    assert hash_v1((value,)).hex().upper() == ask_client(PartitionKey("/a", version=1), [value])


def test_characters_of_a_v1_key_are_utf_16_units() -> None:
    assert hash_v1(("a" * 98 + "😀",)) != hash_v1(("a" * 98,))
    assert hash_v1(("a" * 98 + "😀x",)) == hash_v1(("a" * 98 + "😀y",))
    assert hash_v1(("a" * 99 + "😀",)) == hash_v1(("a" * 99 + "😅",)), "half a pair is left of each"


@given(NUMBER, NUMBER)
def test_v1_numbers_keep_their_order(one: float, other: float) -> None:
    assert (float(one) < float(other)) <= (binary_number(one) < binary_number(other))


@given(st.lists(VALUE, max_size=3))
def test_every_v2_key_is_below_two_to_the_126(values: list[KeyValue]) -> None:
    assert hash_v2(values) < b"\x40"


def test_spellings_of_one_number_are_one_key_and_the_zeros_are_two() -> None:
    for hashed in HASHES.values():
        assert hashed((5,)) == hashed((5.0,))
        assert hashed((1,)) != hashed((True,))
        assert hashed((0.0,)) != hashed((-0.0,))


def ask_client(key: PartitionKey, values: list[KeyValue]) -> str:
    """The client's own answer, which has no public name."""
    named = [NonePartitionKeyValue if value is UNDEFINED else value for value in values]
    return str(key._get_effective_partition_key_string(named)).upper()
