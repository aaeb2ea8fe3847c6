"""The contract of terms: an ordered set of (term, number) with its watermark."""

import os

import pytest
from tests.contract.engines import Opener

from armillary.errors import Kind, Refusal
from armillary.kv.engine import Changes, Engine, Term, TermChanges, TermReader

LAST = 2**60 - 1
SOME: list[Term] = [(b"a", 1), (b"a", 2), (b"a", 2**59), (b"ab", 0), (b"b", 7), (b"c", 1), (b"c", LAST)]


def apply(engine: Engine, partition: bytes, removes: list[Term], adds: list[Term], watermark: int) -> int:
    return engine.terms(partition).apply(lambda _: TermChanges(removes, adds, watermark))


def flatten(reader: TermReader, start: Term, stop: Term, *, reverse: bool = False, page: int = 0) -> list[Term]:
    pages = list(reader.scan(start, stop, reverse=reverse, page=page))
    assert all(pages)
    assert not page or all(len(part) <= page for part in pages)
    return [term for part in pages for term in part]


def read_all(engine: Engine, partition: bytes) -> list[Term]:
    with engine.terms(partition).read() as reader:
        return flatten(reader, (b"\x00", 0), (b"\xff\xff", 0))


def test_new_partition_has_no_terms(engine: Engine, partition: bytes) -> None:
    assert read_all(engine, partition) == []
    with engine.terms(partition).read() as reader:
        assert reader.seek((b"a", 0)) is None
        assert reader.count((b"a", 0), (b"z", 0)) == 0
        assert (reader.watermark, reader.synced) == (0, 0)


def test_apply_sets_terms_and_watermark(engine: Engine, partition: bytes) -> None:
    assert apply(engine, partition, [], SOME[::-1], 5) == 5
    assert read_all(engine, partition) == SOME
    with engine.terms(partition).read() as reader:
        assert reader.watermark == 5
        assert reader.synced <= 5


def test_removes_come_before_adds(engine: Engine, partition: bytes) -> None:
    apply(engine, partition, [], SOME, 1)
    apply(engine, partition, [(b"a", 1), (b"b", 7), (b"missing", 3), (b"a", 3)], [(b"a", 1), (b"d", 1), (b"ab", 0)], 2)
    assert read_all(engine, partition) == [*[term for term in SOME if term != (b"b", 7)], (b"d", 1)]


def test_step_sees_the_watermark_and_may_do_nothing(engine: Engine, partition: bytes) -> None:
    seen: list[int] = []

    def look(watermark: int) -> TermChanges | None:
        seen.append(watermark)
        return None

    terms = engine.terms(partition)
    assert terms.apply(look) == 0
    apply(engine, partition, [], SOME, 9)
    assert terms.apply(look) == 9
    assert set(seen) == {0, 9}
    assert seen[0] == 0
    assert read_all(engine, partition) == SOME


def test_a_failing_step_changes_nothing(engine: Engine, partition: bytes) -> None:
    apply(engine, partition, [], SOME, 3)

    def fail(_watermark: int) -> TermChanges:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        engine.terms(partition).apply(fail)
    assert apply(engine, partition, [], [], 4) == 4
    assert read_all(engine, partition) == SOME


def test_synced_follows_the_watermark(engine: Engine, partition: bytes) -> None:
    """`synced` never passes the watermark and gets there by steps that change nothing."""
    for watermark in range(1, 6):
        apply(engine, partition, [], [(b"t", watermark)], watermark)
        with engine.terms(partition).read() as reader:
            assert watermark - 1 <= reader.synced <= reader.watermark == watermark
    apply(engine, partition, [], [], 5)
    with engine.terms(partition).read() as reader:
        assert reader.synced == reader.watermark == 5


@pytest.mark.parametrize("page", [0, 1, 2, 1000])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("start", "stop"),
    [
        ((b"a", 0), (b"a", LAST)),
        ((b"a", 2), (b"ab", 0)),
        ((b"a", 3), (b"c", 1)),
        ((b"a", 3), (b"c", 2)),
        ((b"aa", 5), (b"ab", 1)),
        ((b"ab", 1), (b"ac", 0)),
        ((b"\x00", 0), (b"z", 0)),
        ((b"c", LAST), (b"d", 0)),
        ((b"c", 1), (b"a", 1)),
        ((b"b", 7), (b"b", 7)),
        ((b"x", 0), (b"y", 0)),
    ],
)
def test_scan_and_count(engine: Engine, partition: bytes, start: Term, stop: Term, reverse: bool, page: int) -> None:
    apply(engine, partition, [], SOME, 1)
    expected = [term for term in SOME if start <= term < stop]
    with engine.terms(partition).read() as reader:
        found = flatten(reader, start, stop, reverse=reverse, page=page)
        assert found == (expected[::-1] if reverse else expected)
        assert reader.count(start, stop) == len(expected)


@pytest.mark.parametrize("at", [(b"\x00", 0), (b"a", 2), (b"a", 3), (b"aa", 0), (b"ab", 1), (b"c", LAST), (b"d", 0)])
def test_seek(engine: Engine, partition: bytes, at: Term) -> None:
    apply(engine, partition, [], SOME, 1)
    with engine.terms(partition).read() as reader:
        assert reader.seek(at) == next((term for term in SOME if term >= at), None)


def test_reader_is_one_set_with_its_watermark(engine: Engine, partition: bytes) -> None:
    apply(engine, partition, [], [(b"a", 1)], 1)
    with engine.terms(partition).read() as reader:
        before = reader.watermark, flatten(reader, (b"a", 0), (b"b", 0))
    apply(engine, partition, [(b"a", 1)], [(b"a", 2)], 2)
    with engine.terms(partition).read() as reader:
        after = reader.watermark, flatten(reader, (b"a", 0), (b"b", 0))
    assert before == (1, [(b"a", 1)])
    assert after == (2, [(b"a", 2)])


def test_clear_forgets_terms_and_watermark(engine: Engine, partition: bytes) -> None:
    engine.terms(partition).clear()
    apply(engine, partition, [], SOME, 8)
    engine.terms(partition).clear()
    assert read_all(engine, partition) == []
    with engine.terms(partition).read() as reader:
        assert (reader.watermark, reader.synced) == (0, 0)
    apply(engine, partition, [], SOME[:2], 3)
    assert read_all(engine, partition) == SOME[:2]


def test_limits_are_refused_before_anything_is_written(engine: Engine, partition: bytes) -> None:
    longest = b"t" * engine.limits.term_bytes
    apply(engine, partition, [], [(longest, 1)], 1)
    with pytest.raises(Refusal) as found:
        apply(engine, partition, [], [(b"a", 1), (longest + b"t", 1)], 2)
    assert found.value.kind is Kind.KEY_TOO_LONG
    assert read_all(engine, partition) == [(longest, 1)]


def test_terms_of_a_missing_partition(engine: Engine) -> None:
    terms = engine.terms(os.urandom(16))
    with pytest.raises(Refusal) as found:
        terms.apply(lambda _: TermChanges([], [(b"a", 1)], 1))
    assert found.value.kind is Kind.PARTITION_MISSING


def test_terms_and_items_do_not_meet(engine: Engine, partition: bytes) -> None:
    engine.write(partition, [lambda _: Changes({b"a": b"item"})])
    apply(engine, partition, [], [(b"a", 1)], 1)
    engine.terms(partition).clear()
    with engine.read(partition) as reader:
        assert reader.get(b"a") == b"item"
        assert reader.lsn == 1


def test_many_terms(engine: Engine, partition: bytes) -> None:
    terms = sorted({(b"t%d" % (at % 7), at * 7919 % 3001) for at in range(3000)})
    apply(engine, partition, [], terms[::-1], 1)
    assert read_all(engine, partition) == terms
    with engine.terms(partition).read() as reader:
        assert flatten(reader, (b"t0", 0), (b"t9", 0), reverse=True, page=10) == terms[::-1]
        assert reader.count((b"t1", 0), (b"t5", 1500)) == sum((b"t1", 0) <= term < (b"t5", 1500) for term in terms)


def test_reopened_terms_are_the_same(reopen: Opener) -> None:
    first = reopen()
    partition = os.urandom(16)
    first.create(partition, b"")
    apply(first, partition, [], SOME, 4)
    first.close()
    second = reopen()
    assert read_all(second, partition) == SOME
    with second.terms(partition).read() as reader:
        assert reader.watermark == 4
    second.drop(partition)
    second.close()
