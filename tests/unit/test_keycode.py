"""Key codes: order, no code the beginning of another, round trips, and what shortening keeps."""

from functools import cmp_to_key
from typing import Final, TypeGuard

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.errors import Refusal
from armillary.keycode import (
    ID_LIMIT,
    VALUE_LIMIT,
    Part,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    is_shortened,
    prefix_end,
    split_key,
)
from armillary.keys.effective import hash_levels, hash_v1
from armillary.values import UNDEFINED, KeyValue

NO_LIMIT: Final = 1 << 20

# Few characters, so that examples share beginnings, hold zeros and marks, and differ late.
TEXT: Final = st.text(st.sampled_from("\x00\x01a\x7f\x80ÿ￿😀"), max_size=8) | st.text(st.characters(codec="utf-8"))
BYTES: Final = st.binary(max_size=8) | st.lists(st.sampled_from([b"\x00", b"\x80", b"\xff"])).map(b"".join)
NUMBER: Final = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False)
PART: Final = st.one_of(st.just(UNDEFINED), st.none(), st.booleans(), NUMBER, TEXT, BYTES)
LONG: Final = st.builds(
    lambda head, middle, tail: head + middle * 40 + tail, TEXT, st.sampled_from(["a", "\x00", "é"]), TEXT
)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (UNDEFINED, "08"),
        (None, "10"),
        (False, "18"),
        (True, "20"),
        (0, "28 80 00 00 00 00 00 00 00"),
        (-0.0, "28 7f ff ff ff ff ff ff ff"),
        (1, "28 bf f0 00 00 00 00 00 00"),
        (1.0, "28 bf f0 00 00 00 00 00 00"),
        (-1, "28 40 0f ff ff ff ff ff ff"),
        ("", "30 00 00"),
        ("a", "30 61 00 00"),
        ("a\x00b", "30 61 00 ff 62 00 00"),
        ("é", "30 c3 a9 00 00"),
        (b"", "38 00 00"),
        (b"\x00\xff", "38 00 ff ff 00 00"),
    ],
)
def test_the_bytes_are_fixed_for_ever(value: Part, code: str) -> None:
    assert encode_value(value).hex(" ") == code


def test_the_bytes_of_shortened_codes_are_fixed_for_ever() -> None:
    assert encode_value("x" * 93).hex() == "30" + "78" * 93 + "0000"
    assert encode_value("x" * 94).hex() == "30" + "78" * 77 + "0080" + "14c83b2628557c59e58d80c3c98494ee"
    assert len(encode_value("x" * 94)) == VALUE_LIMIT


@given(PART)
def test_codes_are_read_back(value: Part) -> None:
    found = decode_value(encode_value(value, NO_LIMIT))
    assert repr(found) == repr(float(value) if is_plain_number(value) else value)


@given(st.lists(PART, max_size=5))
def test_joined_codes_are_read_back(values: list[Part]) -> None:
    code, shortened = encode_key(values, NO_LIMIT)
    assert not shortened
    assert decode_key(b"head" + code, 4) == values
    assert split_key(code) == [encode_value(value, NO_LIMIT) for value in values]


@given(st.lists(PART, min_size=1, max_size=3), st.lists(PART, min_size=1, max_size=3))
def test_codes_keep_the_order(one: list[Part], other: list[Part]) -> None:
    codes = encode_key(one, NO_LIMIT)[0], encode_key(other, NO_LIMIT)[0]
    assert compare_bytes(*codes) == compare_tuples(one, other)


@given(PART | LONG, PART | LONG, st.sampled_from([24, 25, 40, VALUE_LIMIT]))
def test_no_code_is_the_beginning_of_another(one: Part, other: Part, limit: int) -> None:
    codes = encode_value(one, limit), encode_value(other, limit)
    same = is_plain_number(one) and is_plain_number(other) and repr(float(one)) == repr(float(other))
    if same or (type(one) is type(other) and repr(one) == repr(other)):
        assert codes[0] == codes[1]
    else:
        assert not codes[0].startswith(codes[1])


@given(TEXT | BYTES | LONG, st.integers(24, 60))
def test_shortened_codes_keep_their_limit_and_their_beginning(value: str | bytes, limit: int) -> None:
    whole, code = encode_value(value, NO_LIMIT), encode_value(value, limit)
    assert len(code) <= limit
    assert is_shortened(code) == (len(whole) > limit)
    assert not is_shortened(whole)
    assert split_key(code + whole) == [code, whole]
    if is_shortened(code):
        assert whole.startswith(code[:-18])
        assert len(code) >= limit - 1
        with pytest.raises(Refusal):
            decode_value(code)


def test_a_code_that_looks_like_a_shortened_one_is_told_apart() -> None:
    shortened = encode_value("x" * 200)
    assert encode_value(shortened[1:].decode("latin-1"), NO_LIMIT) != shortened
    assert not is_shortened(encode_value(shortened, NO_LIMIT))
    assert encode_value(b"x" * 200) != shortened


@given(LONG, LONG)
def test_long_values_that_differ_have_different_codes(one: str, other: str) -> None:
    assert (encode_value(one) == encode_value(other)) == (one == other)


def test_a_key_of_the_store_always_fits() -> None:
    worst = "\x00" * 1023
    levels: tuple[KeyValue, ...] = (worst, worst, worst)
    for epk, values in ((hash_levels(levels), levels), (hash_v1((worst,)), (worst,)), (hash_v1(("é" * 99,)), (worst,))):
        key = b"\x10" + epk + encode_key(values)[0] + encode_value(worst, ID_LIMIT)
        assert len(key) <= 511


@pytest.mark.parametrize("broken", ["00", "ff", "30 61", "30 61 00", "30 61 00 01", "31 00 00", "2c"])
def test_bytes_that_are_no_code_are_refused(broken: str) -> None:
    with pytest.raises(Refusal, match="no key code"):
        split_key(bytes.fromhex(broken))


@given(st.binary(min_size=1, max_size=4), st.binary(max_size=4))
def test_the_end_of_a_prefix(prefix: bytes, rest: bytes) -> None:
    if prefix.strip(b"\xff"):
        end = prefix_end(prefix)
        assert prefix + rest < end
        assert not end.startswith(prefix)
        assert prefix + b"\xff" * 9 < end <= end.rstrip(b"\x00")
    else:
        with pytest.raises(ValueError, match="no key"):
            prefix_end(prefix)


def is_plain_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def compare_bytes(one: bytes, other: bytes) -> int:
    return (one > other) - (one < other)


RANKS: Final[dict[type, int]] = {type(UNDEFINED): 0, type(None): 1, bool: 2, int: 3, float: 3, str: 4, bytes: 5}


def compare_values(one: Part, other: Part) -> int:
    """The order of the module's table, said in another way."""
    ranks = RANKS[type(one)], RANKS[type(other)]
    if ranks[0] != ranks[1]:
        return ranks[0] - ranks[1]
    if is_plain_number(one):
        pair = sign_zero(one), sign_zero(other)
        return (pair[0] > pair[1]) - (pair[0] < pair[1])
    if isinstance(one, str | bytes | bool):
        return (one > other) - (one < other)  # type: ignore[operator] # of one type: their ranks are equal
    return 0


def sign_zero(number: object) -> tuple[float, bool]:
    found = float(str(number))
    return found, not str(found).startswith("-")


def compare_tuples(one: list[Part], other: list[Part]) -> int:
    order = cmp_to_key(compare_values)
    pair = [order(value) for value in one], [order(value) for value in other]
    return (pair[0] > pair[1]) - (pair[0] < pair[1])
