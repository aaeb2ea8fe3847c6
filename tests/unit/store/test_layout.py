"""The bytes of the store, one by one: what fails here would not read the data of an earlier version."""

from itertools import pairwise

from armillary.store import layout
from armillary.store.layout import Entry, Envelope, Logical


def test_keys() -> None:
    epk, key, name = b"\x11" * 16, b"\x30k\0\0", b"\x30i\0\0"
    assert layout.item_key(epk, key, name).hex() == "10" + "11" * 16 + "306b0000" + "30690000"
    assert layout.item_key(b"", b"", name).hex() == "10" + "00" * 16 + "30690000"
    assert layout.logical_key(epk, key).hex() == "20" + "11" * 16 + "306b0000"
    assert layout.unique_key(layout.logical_key(epk, key), 3, b"\xdd" * 16).hex() == (
        "30" + "11" * 16 + "306b0000" + "03" + "dd" * 16
    )
    assert layout.number_key(0x0102).hex() == "18" + "0000000000000102"
    assert layout.log_key(5, 6, 7).hex() == "28" + "0000000000000005" + "00000006" + "0007"
    assert layout.log_place(layout.log_key(5, 6, 7)) == (5, 6, 7)
    assert layout.moment_key(layout.DUE, 8, 9).hex() == "38" + "0000000000000008" + "0000000000000009"
    assert layout.read_moment(layout.moment_key(layout.AGE, 8, 9)) == (8, 9)
    assert layout.database_key(1).hex() == "5000000001"
    assert layout.container_key(1, 2).hex() == "520000000100000002"
    assert layout.name_key(1, b"n").hex() == "51000000016e"
    assert layout.offer_key(3).hex() == "5400000003"


def test_records() -> None:
    envelope = Envelope(1, 0, 4, 2, 3, 4, 5, 6, 7, b"e" * 16, -1)
    record = layout.pack_record(envelope, b"id", b"{}")
    assert record.hex() == (
        "01" "00" "04" "0002" "0000000000000003" "0000000000000004" "00000005" "0006" "0000000000000007"
        + "65" * 16 + "ffffffff" + "6964" + "7b7d"
    )  # fmt: skip
    assert layout.read_envelope(record) == envelope
    assert (layout.read_identity(record, envelope), layout.read_body(record, envelope)) == (b"id", b"{}")


def test_entries() -> None:
    entry = Entry(layout.REPLACED, 1, 2, b"item", b"image")
    raw = layout.pack_entry(entry)
    assert raw.hex() == "01000000000000000100000000000000020004" + b"itemimage".hex()
    assert layout.read_entry(raw) == entry


def test_logical_records() -> None:
    logical = Logical(layout.FENCED, 1, 2, 3, 4, b"key")
    raw = layout.pack_logical(logical)
    assert raw.hex() == "01" + "".join(f"{number:016x}" for number in (1, 2, 3, 4)) + b"key".hex()
    assert layout.read_logical(raw) == logical


def test_item_numbers_grow_from_parent_to_child() -> None:
    assert layout.item_number(1, 0) > layout.item_number(0, (1 << 36) - 1)
    assert layout.birth_of(layout.item_number(3, 4)) == (3, 4)


def test_families_are_apart() -> None:
    tags = sorted(layout.FAMILIES)
    assert all(len(tag) == 1 for tag in tags)
    assert all(layout.family_end(tag) <= after for tag, after in pairwise(tags))
