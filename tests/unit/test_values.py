"""Key values: what is one, and when two are the same."""

import copy
import pickle

import pytest

from armillary.values import UNDEFINED, KeyValue, is_number, is_same, key_value


def test_undefined_is_one_thing_and_false() -> None:
    assert repr(UNDEFINED) == "undefined"
    assert not UNDEFINED
    assert copy.deepcopy(UNDEFINED) is UNDEFINED
    assert pickle.loads(pickle.dumps(UNDEFINED)) is UNDEFINED
    assert UNDEFINED not in (None, False, 0, "")


def test_no_two_of_these_are_the_same() -> None:
    different: list[KeyValue] = [UNDEFINED, None, False, True, 0, 1, -0.0, "", "0", "null", "undefined"]
    for at, one in enumerate(different):
        assert [is_same(one, other) for other in different] == [at == place for place in range(len(different))]


@pytest.mark.parametrize(("one", "other"), [(5, 5.0), (2**53 + 1, 2.0**53), (0, 0.0), (-0.0, -0.0)])
def test_a_number_is_its_double(one: KeyValue, other: KeyValue) -> None:
    assert is_same(one, other)


def test_numbers_and_key_values() -> None:
    assert [is_number(value) for value in (1, 1.5, True, "1", None)] == [True, True, False, False, False]
    assert [key_value(found) for found in ("a", 1, None, UNDEFINED)] == ["a", 1, None, UNDEFINED]
    assert [key_value(found) for found in ({}, [], {"a": 1}, b"a", object())] == [UNDEFINED] * 5
