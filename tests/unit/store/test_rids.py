from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.store.rids import (
    Rid,
    RidKind,
    child_rid,
    container_rid,
    database_rid,
    document_rid,
    offer_rid,
    parse_rid,
)

NUMBER32 = st.integers(0, 2**32 - 1)
NUMBER31 = st.integers(0, 2**31 - 1)
NUMBER60 = st.integers(0, 2**60 - 1)
IN_CONTAINER = [kind for kind in RidKind if kind < RidKind.DATABASE]


def test_a_document_rid_of_the_real_service_is_read() -> None:
    """The sample of the official client's tests: bytes f4 42 24 00 | bb bd a1 44 with the top bit set | 01 00 ..."""
    sample = parse_rid("9EIkALu9oUQBAAAAAAAAAA==")
    assert sample is not None
    assert (sample.kind, sample.database, sample.number) == (RidKind.DOCUMENT, 0xF4422400, 1)
    assert document_rid(sample.database, sample.container, sample.number) == "9EIkALu9oUQBAAAAAAAAAA=="


def test_layout_byte_by_byte() -> None:
    assert database_rid(1) == b64encode(b"\0\0\0\1").decode()
    assert container_rid(1, 2) == b64encode(b"\0\0\0\1\x80\0\0\2").decode()
    assert document_rid(1, 2, 0x0102) == b64encode(b"\0\0\0\1\x80\0\0\2\2\1\0\0\0\0\0\0").decode()
    assert child_rid(1, 2, RidKind.RANGE, 3) == b64encode(b"\0\0\0\1\x80\0\0\2\3\0\0\0\0\0\0\x50").decode()
    assert offer_rid(5) == "AAAF"


def test_a_slash_is_written_as_a_hyphen() -> None:
    assert database_rid(0xFFFFFFFF) == "-----w=="


@given(NUMBER32, NUMBER31, NUMBER60, st.sampled_from(IN_CONTAINER))
def test_everything_written_is_read_back(database: int, container: int, number: int, kind: RidKind) -> None:
    assert parse_rid(database_rid(database)) == Rid(RidKind.DATABASE, database, 0, database)
    assert parse_rid(container_rid(database, container)) == Rid(RidKind.CONTAINER, database, container, container)
    assert parse_rid(child_rid(database, container, kind, number)) == Rid(kind, database, container, number)
    assert parse_rid(offer_rid(number & 0xFFFFFF)) == Rid(RidKind.OFFER, 0, 0, number & 0xFFFFFF)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "db",
        "AAAAAQ=",
        "AAAAAQ",
        "AAAAAR==",
        "AAAA/Q==",
        "AAAAAQ==\n",
        " AAAAAQ==",
        "ÄÄÄÄ",
        "AAAAAQAAAAE",
        "A" * 12,
    ],
)
def test_other_texts_are_names(text: str) -> None:
    assert parse_rid(text) is None


def test_a_kind_that_nobody_has_is_no_rid() -> None:
    assert parse_rid(b64encode(b"\0\0\0\1\x80\0\0\2" + b"\0" * 7 + b"\xf0").decode()) is None
