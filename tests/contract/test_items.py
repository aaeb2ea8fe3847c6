"""The contract of items: commits, order, what readers and works see, what is refused."""

import os
import threading
from collections.abc import Mapping

import pytest
from tests.contract.engines import Opener

from armillary.errors import Kind, Refusal
from armillary.kv.engine import Applied, Changes, Engine, Page, Rejected, Row, View, Work


def put(effects: Mapping[bytes, bytes | None], header: bytes | None = None, result: object = None) -> Work:
    return lambda _view: Changes(effects, header, result)


def refuse(_view: View) -> Changes:
    raise Refusal(Kind.ITEM_MISSING, id="x")


def kind_of(outcome: object) -> Kind:
    assert isinstance(outcome, Rejected)
    assert isinstance(outcome.error, Refusal), outcome
    return outcome.error.kind


def read_all(engine: Engine, partition: bytes, *, reverse: bool = False, page: int = 0) -> list[Row]:
    with engine.read(partition) as reader:
        pages = list(reader.scan(b"\x01", b"\xff\xff", reverse=reverse, page=page))
    assert all(part.rows for part in pages)
    return [row for part in pages for row in part.rows]


def fill(engine: Engine, partition: bytes, count: int) -> list[Row]:
    rows = [(b"k%04d" % at, b"v%d" % at) for at in range(count)]
    (outcome,) = engine.write(partition, [put(dict(rows))])
    assert isinstance(outcome, Applied)
    return rows


def test_new_partition_is_empty_at_zero(engine: Engine, partition: bytes) -> None:
    with engine.read(partition) as reader:
        assert reader.get(b"k") is None
        assert list(reader.scan(b"\x01", b"\xff")) == []
        assert (reader.lsn, reader.header) == (0, b"born")
        assert reader.unchanged()
    assert partition in engine.partitions()


def test_create_of_an_existing_id_is_an_error(engine: Engine, partition: bytes) -> None:
    engine.write(partition, [put({b"k": b"v"})])
    with pytest.raises(Refusal):
        engine.create(partition, b"again")
    assert read_all(engine, partition) == [(b"k", b"v")]


def test_missing_partition(engine: Engine) -> None:
    missing = os.urandom(16)
    with pytest.raises(Refusal) as found, engine.read(missing) as reader:
        reader.get(b"k")
    assert found.value.kind is Kind.PARTITION_MISSING
    assert [kind_of(outcome) for outcome in engine.write(missing, [put({}), put({})])] == [Kind.PARTITION_MISSING] * 2
    engine.drop(missing)


def test_drop_removes_everything(engine: Engine) -> None:
    partition = os.urandom(16)
    engine.create(partition, b"")
    engine.write(partition, [put({b"k": b"v"})])
    engine.drop(partition)
    assert partition not in engine.partitions()
    (outcome,) = engine.write(partition, [put({b"k": b"v"})])
    assert kind_of(outcome) is Kind.PARTITION_MISSING
    with pytest.raises(Refusal), engine.read(partition) as reader:
        reader.get(b"k")


def test_commit_of_members_takes_consecutive_lsns(engine: Engine, partition: bytes) -> None:
    outcomes = engine.write(partition, [put({b"a": b"1"}, result="x"), refuse, put({b"b": b"2"}, b"head", result="y")])
    assert outcomes[0] == Applied(1, "x")
    assert kind_of(outcomes[1]) is Kind.ITEM_MISSING
    assert outcomes[2] == Applied(2, "y")
    assert engine.write(partition, [put({})]) == [Applied(3, None)]
    with engine.read(partition) as reader:
        assert reader.get(b"a") == b"1"
        assert (reader.lsn, reader.header) == (3, b"head")


def test_commit_without_members_changes_nothing(engine: Engine, partition: bytes) -> None:
    assert engine.write(partition, []) == []
    assert kind_of(engine.write(partition, [refuse])[0]) is Kind.ITEM_MISSING
    with engine.read(partition) as reader:
        reader.get(b"a")
        assert reader.lsn == 0


def test_a_work_sees_the_members_before_it(engine: Engine, partition: bytes) -> None:
    fill(engine, partition, 6)

    def look(view: View) -> Changes:
        seen = (
            view.lsn,
            view.header,
            view.get(b"k0000"),
            view.get(b"k0001"),
            view.get(b"k0002"),
            view.scan(b"k", b"l", limit=3),
            view.scan(b"k", b"l", reverse=True, limit=2),
        )
        return Changes({b"seen": repr(seen).encode()}, None, seen)

    changing = put({b"k0000": None, b"k0001": b"new", b"k00015": b"between", b"k9": b"last"}, b"changed")
    outcomes = engine.write(partition, [changing, refuse, look])
    assert outcomes[2] == Applied(
        3,
        (
            3,
            b"changed",
            None,
            b"new",
            b"v2",
            [(b"k0001", b"new"), (b"k00015", b"between"), (b"k0002", b"v2")],
            [(b"k9", b"last"), (b"k0005", b"v5")],
        ),
    )


def test_a_scan_in_a_work_is_right_at_every_limit(engine: Engine, partition: bytes) -> None:
    rows = dict(fill(engine, partition, 12))
    change: dict[bytes, bytes | None] = {b"k%04d" % at: None for at in range(0, 12, 3)} | {
        b"k0004x": b"n",
        b"k0011x": b"n",
    }
    for key, value in change.items():
        rows.pop(key, None)
        if value is not None:
            rows[key] = value
    expected = sorted(rows.items())

    def look(view: View) -> Changes:
        forward = [view.scan(b"\x01", b"\xff", limit=limit) for limit in range(1, 14)]
        backward = [view.scan(b"\x01", b"\xff", reverse=True, limit=limit) for limit in range(1, 14)]
        return Changes({}, None, (forward, backward))

    outcome = engine.write(partition, [put(change), look])[1]
    assert isinstance(outcome, Applied)
    assert outcome.result == (
        [expected[:limit] for limit in range(1, 14)],
        [expected[::-1][:limit] for limit in range(1, 14)],
    )


def test_a_work_that_fails_leaves_no_trace(engine: Engine, partition: bytes) -> None:
    def broken(view: View) -> Changes:
        assert view.get(b"a") == b"1"
        raise ZeroDivisionError

    outcomes = engine.write(partition, [put({b"a": b"1"}), broken, put({b"b": b"2"})])
    assert outcomes[0] == Applied(1, None)
    assert isinstance(outcomes[1], Rejected)
    assert isinstance(outcomes[1].error, ZeroDivisionError)
    assert outcomes[2] == Applied(2, None)
    assert read_all(engine, partition) == [(b"a", b"1"), (b"b", b"2")]


def test_delete_of_a_missing_key_is_no_error(engine: Engine, partition: bytes) -> None:
    assert engine.write(partition, [put({b"none": None, b"a": b""})]) == [Applied(1, None)]
    assert read_all(engine, partition) == [(b"a", b"")]


@pytest.mark.parametrize("page", [0, 1, 2, 7, 1000])
def test_scan_in_pages(engine: Engine, partition: bytes, page: int) -> None:
    rows = fill(engine, partition, 23)
    assert read_all(engine, partition, page=page) == rows
    assert read_all(engine, partition, reverse=True, page=page) == rows[::-1]
    with engine.read(partition) as reader:
        pages = list(reader.scan(b"\x01", b"\xff", page=page))
    assert all(part.lsn == 1 for part in pages)
    if page:
        assert all(len(part.rows) <= page for part in pages)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (b"k0001", b"k0003", [1, 2]),
        (b"k0001", b"k0001", []),
        (b"k0003", b"k0001", []),
        (b"k00015", b"k00031", [2, 3]),
        (b"", b"k0002", [0, 1]),
        (b"k0004", b"\xff" * 600, [4]),
        (b"k0001" + b"x" * 600, b"k0003" + b"x" * 600, [2, 3]),
        (b"z", b"zz", []),
        (b"a", b"b", []),
        (b"a", b"", []),
    ],
)
def test_scan_bounds(
    engine: Engine, partition: bytes, start: bytes, stop: bytes, expected: list[int], reverse: bool
) -> None:
    rows = fill(engine, partition, 5)
    with engine.read(partition) as reader:
        found = [row for part in reader.scan(start, stop, reverse=reverse) for row in part.rows]
    assert found == [rows[at] for at in (reversed(expected) if reverse else expected)]


def test_empty_scans_give_no_page(engine: Engine, partition: bytes) -> None:
    with engine.read(partition) as reader:
        assert list(reader.scan(b"a", b"z", page=1)) == []
        assert list(reader.scan(b"a", b"z", reverse=True)) == []


def test_reader_says_when_it_is_overtaken(engine: Engine, partition: bytes) -> None:
    """Either a reader shows one moment, or it tells that it does not."""
    fill(engine, partition, 4)
    with engine.read(partition) as reader:
        scan = reader.scan(b"k", b"l", page=1)
        first = next(scan)
        engine.write(partition, [put({b"k0003": b"later"})])
        rest = list(scan)
        seen = [row for part in [first, *rest] for row in part.rows]
        assert [part.lsn for part in [first, *rest]] == sorted(part.lsn for part in [first, *rest])
        if reader.unchanged():
            assert {part.lsn for part in [first, *rest]} == {1}
            assert seen[3] == (b"k0003", b"v3")
    with engine.read(partition) as reader:
        assert reader.get(b"k0003") == b"later"
        assert reader.lsn == 2
        assert next(reader.scan(b"k0003", b"l")) == Page(2, [(b"k0003", b"later")])


def test_reads_show_every_acknowledged_write(engine: Engine, partition: bytes) -> None:
    for at in range(1, 30):
        engine.write(partition, [put({b"n": b"%d" % at})])
        with engine.read(partition) as reader:
            assert reader.get(b"n") == b"%d" % at
            assert reader.lsn == at


def test_limits_are_refused_before_anything_is_written(engine: Engine, partition: bytes) -> None:
    limits = engine.limits
    outcomes = engine.write(
        partition,
        [
            put({b"k" * limits.key_bytes: b"fits"}),
            put({b"a": b"1", b"k" * (limits.key_bytes + 1): b"too long"}),
            put({b"b": bytes(limits.value_bytes + 1)}),
            put({b"c": b"3"}),
        ],
    )
    assert outcomes[0] == Applied(1, None)
    assert kind_of(outcomes[1]) is Kind.KEY_TOO_LONG
    assert kind_of(outcomes[2]) is Kind.COMMIT_TOO_LARGE
    assert outcomes[3] == Applied(2, None)
    assert read_all(engine, partition) == [(b"c", b"3"), (b"k" * limits.key_bytes, b"fits")]
    with engine.read(partition) as reader:
        assert reader.get(b"k" * (limits.key_bytes + 1)) is None


@pytest.mark.parametrize("key", [b"", b"\x00", b"\x00anything"])
def test_keys_below_one_belong_to_the_engine(engine: Engine, partition: bytes, key: bytes) -> None:
    (outcome,) = engine.write(partition, [put({b"a": b"1", key: b"mine"})])
    assert isinstance(outcome, Rejected)
    assert isinstance(outcome.error, ValueError)
    assert read_all(engine, partition) == []
    with engine.read(partition) as reader:
        assert reader.get(key) is None
        assert list(reader.scan(b"", b"\xff")) == []


def test_many_works_in_one_call(engine: Engine, partition: bytes) -> None:
    count = engine.limits.commit_works + 10

    def count_up(view: View) -> Changes:
        found = int(view.get(b"n") or b"0")
        return Changes({b"n": b"%d" % (found + 1), b"m%05d" % found: b"x" * 10})

    assert engine.write(partition, [count_up] * count) == [Applied(at, None) for at in range(1, count + 1)]
    assert len(read_all(engine, partition)) == count + 1


def test_large_values(engine: Engine, partition: bytes) -> None:
    value = os.urandom(min(engine.limits.value_bytes, 2**21 + 7))
    assert engine.write(partition, [put({b"big": value, b"small": b"s"})]) == [Applied(1, None)]
    assert read_all(engine, partition, page=1) == [(b"big", value), (b"small", b"s")]


def test_partitions_are_independent(engine: Engine, partition: bytes) -> None:
    other = os.urandom(16)
    engine.create(other, b"other")
    engine.write(partition, [put({b"k": b"1"})])
    engine.write(other, [put({b"k": b"2"}), put({b"l": b"2"})])
    assert read_all(engine, partition) == [(b"k", b"1")]
    assert read_all(engine, other) == [(b"k", b"2"), (b"l", b"2")]
    assert {partition, other} <= set(engine.partitions())
    engine.drop(other)
    assert read_all(engine, partition) == [(b"k", b"1")]


def test_writers_in_threads_lose_nothing(engine: Engine, partition: bytes) -> None:
    """Three threads count one number up: every acknowledged step is in it, and LSNs are gapless."""
    taken: list[int] = []

    def count_up(view: View) -> Changes:
        return Changes({b"n": b"%d" % (int(view.get(b"n") or b"0") + 1)})

    def run() -> None:
        for _ in range(10):
            taken.extend(out.lsn for out in engine.write(partition, [count_up] * 2) if isinstance(out, Applied))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 61))
    assert read_all(engine, partition) == [(b"n", b"60")]


def test_reopened_data_is_the_same(reopen: Opener) -> None:
    first = reopen()
    partition = os.urandom(16)
    first.create(partition, b"born")
    rows = fill(first, partition, 50)
    first.write(partition, [put({}, b"second")])
    first.close()
    second = reopen()
    assert second.partitions() == [partition]
    assert read_all(second, partition) == rows
    with second.read(partition) as reader:
        reader.get(b"k0000")
        assert (reader.lsn, reader.header) == (2, b"second")
    second.drop(partition)
    second.close()
    third = reopen()
    assert third.partitions() == []
    third.close()
