"""What the head and the row of a commit say about it."""

import pytest

from armillary.kv.cassandra_writer import Verdict, judge

MARK = b"\x00mark"


def head(lsn: int, fence: bytes) -> tuple[bytes, bytes, int, bytes]:
    return b"", b"header", lsn, fence


def row(owner: bytes, lsn: int) -> tuple[bytes, bytes, int, bytes]:
    return MARK, owner, lsn, b"any"


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([], Verdict.UNKNOWN),
        ([head(7, b"before")], Verdict.OPEN),
        ([head(7, b"shut out")], Verdict.LOST),
        ([head(8, b"mine"), row(b"mine", 8)], Verdict.OURS),
        ([head(30, b"other"), row(b"mine", 30)], Verdict.OURS),
        ([head(8, b"other"), row(b"other", 8)], Verdict.LOST),
        ([head(300_000, b"other")], Verdict.UNKNOWN),
    ],
)
def test_judge(found: list[tuple[object, ...]], verdict: Verdict) -> None:
    assert judge(found, b"mine", 8, b"before") is verdict
