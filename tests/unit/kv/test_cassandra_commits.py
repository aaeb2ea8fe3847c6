"""Drafts of commits, without anybody to send them to."""

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.errors import Kind, Refusal
from armillary.kv.cassandra_commits import (
    Draft,
    Head,
    MovedError,
    build_batch,
    doubt_outcomes,
    draft_commit,
    mark_commit,
    overlay,
    read_ticket,
)
from armillary.kv.cassandra_cql import Statement
from armillary.kv.engine import Applied, Changes, Limits, Rejected, Row, Unknown, View, Work

LIMITS = Limits(key_bytes=511, value_bytes=1000, commit_bytes=3000, commit_works=4, term_bytes=511)
WALL = 4000
HEAD = Head(7, b"fence", b"header")


class Rows:
    """A source of fixed rows."""

    def __init__(self, rows: Mapping[bytes, bytes], error: Exception | None = None) -> None:
        self._rows = rows
        self._error = error

    def get(self, key: bytes) -> bytes | None:
        if self._error:
            raise self._error
        return self._rows.get(key)

    def iter_rows(self, start: bytes, stop: bytes, *, reverse: bool, size: int) -> Iterator[Row]:
        for row in sorted(self._rows.items(), reverse=reverse):
            if start <= row[0] < stop:
                yield row


def put(effects: Mapping[bytes, bytes | None], header: bytes | None = None) -> Work:
    return lambda _view: Changes(effects, header, "done")


def draft(*works: Work) -> Draft:
    return draft_commit(HEAD, Rows({}), works, LIMITS, WALL)


KEYS = st.binary(min_size=1, max_size=2)


@given(
    below=st.dictionaries(KEYS, st.just(b"old")),
    over=st.dictionaries(KEYS, st.none() | st.just(b"new")),
    reverse=st.booleans(),
)
def test_overlay_is_an_update(below: dict[bytes, bytes], over: dict[bytes, bytes | None], reverse: bool) -> None:
    expected = {key: value for key, value in {**below, **over}.items() if value is not None}
    rows = overlay(iter(sorted(below.items(), reverse=reverse)), sorted(over.items(), reverse=reverse), reverse=reverse)
    assert list(rows) == sorted(expected.items(), reverse=reverse)


def test_batch_names_its_commit_and_folds_its_effects() -> None:
    made = draft(put({b"a": b"1", b"b": b"2"}), put({b"a": None, b"c": b"3"}, b"new"), put({b"b": b"4"}))
    assert made.outcomes == [Applied(8, "done"), Applied(9, "done"), Applied(10, "done")]
    fence, mark, header, *effects = build_batch(b"p", made, b"id")
    advance = {"partition": b"p", "next": 10, "fence": b"id", "lsn": 7, "found": b"fence"}
    assert fence == (Statement.ADVANCE, advance)
    assert mark == (Statement.PUT, {"partition": b"p", "key": b"\x00" + bytes(7) + b"\x08", "value": b"id"})
    assert header == (Statement.PUT, {"partition": b"p", "key": b"", "value": b"new"})
    assert [(statement, values["key"], values.get("value")) for statement, values in effects] == [
        (Statement.DELETE, b"a", None),
        (Statement.PUT, b"b", b"4"),
        (Statement.PUT, b"c", b"3"),
    ]


def test_an_unchanged_header_is_not_written() -> None:
    keys = [values.get("key") for _, values in build_batch(b"p", draft(put({b"a": b"1"}, b"header")), b"id")]
    assert keys == [None, mark_commit(8), b"a"]


def test_members_that_do_not_fit_begin_another_commit() -> None:
    big = put({b"k": bytes(900)})
    assert len(draft(big, big, big, big).outcomes) == 3
    assert len(draft(*[put({})] * 9).outcomes) == LIMITS.commit_works
    (outcome,) = draft(put({b"k%d" % at: bytes(900) for at in range(4)})).outcomes
    assert isinstance(outcome, Rejected)
    assert isinstance(outcome.error, Refusal)
    assert outcome.error.kind is Kind.COMMIT_TOO_LARGE


def test_many_small_effects_are_weighed_as_what_they_become() -> None:
    (outcome,) = draft(put({b"k%d" % at: b"" for at in range(60)})).outcomes
    assert isinstance(outcome, Rejected)


@pytest.mark.parametrize("swallow", [True, False])
def test_what_a_work_says_after_a_broken_read_does_not_count(swallow: bool) -> None:
    def work(view: View) -> Changes:
        try:
            view.get(b"k")
        except MovedError:
            if not swallow:
                raise
        with pytest.raises(MovedError):
            view.scan(b"a", b"z")
        return Changes({})

    with pytest.raises(MovedError):
        draft_commit(HEAD, Rows({}, MovedError()), [work], LIMITS, WALL)


def test_rows_of_commits_are_trimmed_far_behind() -> None:
    def trims(lsn: int) -> list[object]:
        made = draft_commit(Head(lsn, b"f", b""), Rows({}), [put({})], LIMITS, WALL)
        batch = build_batch(b"p", made, b"id")
        return [values["stop"] for statement, values in batch if statement is Statement.FORGET]

    assert trims(99_999) == []
    assert trims(109_998) == []
    assert trims(109_999) == [mark_commit(10_000)]
    assert trims(110_000) == []
    assert trims(119_999) == [mark_commit(20_000)]


def test_doubts_can_be_asked_again() -> None:
    def refuse(_view: View) -> Changes:
        raise ZeroDivisionError

    first, refused, second = doubt_outcomes(draft(put({}), refuse, put({})), b"0123456789abcdef")
    assert isinstance(refused, Rejected)
    assert isinstance(first, Unknown)
    assert isinstance(second, Unknown)
    assert (first.lsn, second.lsn) == (8, 9)
    assert read_ticket(first) == read_ticket(second) == (b"0123456789abcdef", 8)


def test_marks_are_ordered_and_below_all_keys() -> None:
    marks = [mark_commit(lsn) for lsn in (0, 1, 255, 256, 2**40)]
    assert marks == sorted(marks)
    assert marks[0] > b""
    assert marks[-1] < b"\x01"
