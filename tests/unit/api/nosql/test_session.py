import pytest

from armillary.api.nosql.session import read_session
from armillary.errors import Kind, Refusal


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        (b"0:-1#7", 7),
        (b"0:7", 7),
        (b"0:12#7#3=5#4=-1", 7),
        (b"1:-1#9", 0),
        (b"1:-1#9,0:-1#4", 4),
        (b"0:-1#4, 0:-1#6", 6),
    ],
)
def test_what_a_token_asks(header: bytes, asked: int) -> None:
    assert read_session(header, ("0",)) == asked


@pytest.mark.parametrize("header", [b"x", b"0", b"0:", b"0:-1#", b"0:-1#x", b"0:-1#1#", b"0:1,", b"0:-1#1;", b"\xff:1"])
def test_what_is_no_token_is_refused(header: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        read_session(header, ("0",))
    assert caught.value.kind is Kind.BAD_SESSION
