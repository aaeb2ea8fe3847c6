"""The bytes of a header: what fails here would not read the data of an earlier version."""

from armillary.store.header import SEALED, Header, header_glance, header_lsn, header_seal, header_state, new_header


def test_headers() -> None:
    header = Header(new_header(5, 6, 2))
    header.state, header.items, header.seal, header.base = SEALED, 7, b"s" * 16, -3
    raw = header.pack()
    assert raw[:24].hex() == "0101020000000005" + f"{0:016x}" + f"{6:016x}"
    assert len(raw) == 8 + 11 * 8 + 16 + 16
    assert header_state(raw) == (SEALED, 6)
    assert header_glance(raw) == (SEALED, 6, -3)
    assert header_lsn(raw, 10) == 7
    assert header_seal(raw) == b"s" * 16
    assert Header(raw).items == 7
