"""Numbers and texts as the language has them, beside what JavaScript gives."""

import pytest

from armillary.query.numbers import narrow, spell, to_int32, to_uint32, whole
from armillary.query.ordering import digest
from armillary.query.semantics import canonical, order_key
from armillary.query.texts import count_units, cut, find_first, find_last
from armillary.values import UNDEFINED

# Written down from a JavaScript engine's String(number).
SPELLED = {
    0.0: "0", 1.0: "1", -1.5: "-1.5", 1e21: "1e+21", 1e20: "100000000000000000000", 1.5e300: "1.5e+300",
    0.1: "0.1", 1e-6: "0.000001", 1e-7: "1e-7", 123e-20: "1.23e-18", 5e-324: "5e-324", 2**53: "9007199254740992",
    123456.789: "123456.789", -1e-7: "-1e-7", 1.7976931348623157e308: "1.7976931348623157e+308",
}  # fmt: skip


@pytest.mark.parametrize("number", SPELLED)
def test_numbers_are_spelled_as_javascript_does(number: float) -> None:
    assert spell(number) == SPELLED[number]


def test_numbers_are_doubles() -> None:
    assert narrow(2**53 + 1) == 2**53
    assert narrow(6 / 2) == 3
    assert type(narrow(6 / 2)) is int
    assert narrow(10**400) is UNDEFINED
    assert narrow(float("nan")) is UNDEFINED
    assert narrow(float("-inf")) is UNDEFINED
    assert narrow(-0.0) == 0
    assert narrow(1e19) == 1e19
    assert whole(2.0) == 2
    assert whole(2.5) is None
    assert whole(True) is None
    assert [to_int32(number) for number in (2**31, 2**32, -(2**31) - 1, 1.9, -1.9, 1e20)] == [
        -(2**31), 0, 2**31 - 1, 1, -1, 1661992960,
    ]  # fmt: skip
    assert to_uint32(-1) == 2**32 - 1


def test_texts_are_counted_in_units() -> None:
    text = "a😀b😀"
    assert count_units(text) == 6
    assert cut(text, 1, 3) == "😀"
    assert cut(text, 0, 2) == "a\ufffd"
    assert find_first(text, "😀", 2) == 4
    assert find_last(text, "😀", 6) == 4
    assert find_last(text, "😀", 4) == 1


def test_order_canonical_form_and_digest_agree() -> None:
    values = [
        UNDEFINED,
        None,
        False,
        True,
        -1,
        0,
        0.5,
        1,
        "",
        "A",
        "a",
        "ａ",
        "😀",
        [],
        [1],
        [1, 2],
        {},
        {"a": 1},
        {"a": 2},
    ]
    keys = [order_key(value) for value in values]
    assert keys[:12] == sorted(keys[:12])
    for one in values:
        for other in values:
            same = one is other
            assert (order_key(one) == order_key(other)) is same
            assert (canonical(one) == canonical(other)) is same
            assert (digest(canonical(one)) == digest(canonical(other))) is same
    assert digest(canonical({"a": 1, "b": [1.0]})) == digest(canonical({"b": [1], "a": 1.0}))
    assert order_key("😀") < order_key("ﬀ")
