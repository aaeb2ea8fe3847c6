"""Outcomes that the driver did not tell, on a real node: lost requests, lost answers, requests that arrive late.

A member is applied once or not at all, is never reported as refused when it may be applied, and LSNs stay gapless.
"""

import os
import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import pytest
from cassandra import Unavailable, WriteFailure, WriteTimeout, WriteType
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionShutdown
from cassandra.protocol import ErrorMessage, ServerError
from tests.cassandra_node.faults import Fault, FaultySession, RandomSession, disturb, time_out

from armillary.errors import Kind, Refusal
from armillary.kv.cassandra import CassandraLink
from armillary.kv.cassandra_commits import mark_commit
from armillary.kv.cassandra_cql import Statement
from armillary.kv.cassandra_engine import LinkedEngine
from armillary.kv.engine import Applied, Changes, Outcome, Rejected, Term, TermChanges, Unknown, View, Work

pytestmark = pytest.mark.cassandra

SHORT = 0.4


class Rig(NamedTuple):
    """Two engines on one partition, as two servers would have them: one disturbed, one not."""

    session: FaultySession
    engine: LinkedEngine
    other: LinkedEngine
    partition: bytes

    def look(self) -> tuple[int, dict[bytes, bytes]]:
        with self.other.read(self.partition) as reader:
            reader.get(b"any")
            return reader.lsn, dict(row for page in reader.scan(b"\x01", b"\xff") for row in page.rows)


@pytest.fixture
def build(cassandra_link: CassandraLink) -> Iterator[Callable[..., Rig]]:
    made: list[Rig] = []

    def build(*script: Fault, patience: float = 10.0, error: Callable[[], Exception] = time_out) -> Rig:
        session = FaultySession(cassandra_link._session, list(script), error)
        engine = LinkedEngine(disturb(cassandra_link, session, patience=patience), "faults")
        rig = Rig(session, engine, LinkedEngine(cassandra_link, "faults"), os.urandom(16))
        rig.other.create(rig.partition, b"born")
        made.append(rig)
        return rig

    yield build
    for rig in made:
        rig.other.drop(rig.partition)


def count_up(view: View) -> Changes:
    """Adds one, and says with which LSN: a work that is applied twice shows."""
    return Changes({b"n": b"%d" % (int(view.get(b"n") or b"0") + 1)}, None, view.lsn)


def put(key: bytes, value: bytes) -> Work:
    return lambda _view: Changes({key: value}, None, "put")


def settle(rig: Rig, outcome: Outcome) -> Outcome:
    assert isinstance(outcome, Unknown)
    return rig.other.settle(rig.partition, outcome)


ERRORS: dict[str, Callable[[], Exception]] = {
    "timed out": time_out,
    "write timeout": lambda: WriteTimeout("", write_type=WriteType.CAS, consistency=9),
    "write failure": lambda: WriteFailure("", write_type=WriteType.CAS, consistency=9),
    "no host": lambda: NoHostAvailable("", {}),
    "connection": lambda: ConnectionShutdown("gone"),
    "unknown (0x1700)": lambda: ErrorMessage(0x1700, "CAS result unknown", None),
    "server error": lambda: ServerError(0x0000, "", None),
}


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.LOSE_REQUEST])
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_every_error_of_the_driver_is_a_doubt(
    build: Callable[..., Rig], fault: Fault, error: Callable[[], Exception]
) -> None:
    rig = build(fault, error=error)
    assert rig.engine.write(rig.partition, [count_up, count_up]) == [Applied(1, 1), Applied(2, 2)]
    assert rig.engine.write(rig.partition, [count_up]) == [Applied(3, 3)]
    assert rig.look() == (3, {b"n": b"3"})


def test_unavailable_means_nothing_was_done(build: Callable[..., Rig]) -> None:
    def away() -> Exception:
        error: Exception = Unavailable("", consistency=4, required_replicas=2, alive_replicas=1)
        return error

    rig = build(Fault.LOSE_REQUEST, Fault.LOSE_REQUEST, error=away)
    assert rig.engine.write(rig.partition, [count_up]) == [Applied(1, 1)]
    rig = build(*[Fault.LOSE_REQUEST] * 1000, error=away, patience=SHORT)
    (outcome,) = rig.engine.write(rig.partition, [count_up])
    assert isinstance(outcome, Rejected)
    assert rig.look() == (0, {})


def test_late_first_request_wins(build: Callable[..., Rig]) -> None:
    """The second attempt finds the first one done: it is known by its id, and not run again."""
    rig = build(Fault.HOLD, Fault.RELEASE_FIRST)
    assert rig.engine.write(rig.partition, [count_up, put(b"a", b"1")]) == [Applied(1, 1), Applied(2, "put")]
    assert rig.session.attempts == 2
    assert rig.look() == (2, {b"n": b"1", b"a": b"1"})


def test_late_first_request_wins_and_is_buried(build: Callable[..., Rig]) -> None:
    """It arrives late and somebody commits over it: the second attempt is refused by a head that is not ours."""
    rig = build(Fault.HOLD, Fault.RELEASE_FIRST)
    done: list[Outcome] = []
    rig.session.after_release = lambda: done.extend(rig.other.write(rig.partition, [count_up]))
    assert rig.engine.write(rig.partition, [count_up]) == [Applied(1, 1)]
    assert done == [Applied(2, 2)]
    assert rig.look() == (2, {b"n": b"2"})


def test_late_first_request_loses(build: Callable[..., Rig]) -> None:
    rig = build(Fault.HOLD)
    assert rig.engine.write(rig.partition, [count_up]) == [Applied(1, 1)]
    assert rig.session.release() == [False]
    assert rig.look() == (1, {b"n": b"1"})


def test_late_request_after_somebody_else(build: Callable[..., Rig]) -> None:
    """Somebody else took the LSN of a doubtful attempt: it is dead, and the work runs again over what they left."""
    rig = build(Fault.HOLD)
    done: list[Outcome] = []

    def error() -> Exception:
        """The other server commits between the first attempt and the second."""
        done.extend(rig.other.write(rig.partition, [count_up]))
        return time_out()

    rig.session.error = error
    assert rig.engine.write(rig.partition, [count_up]) == [Applied(2, 2)]
    assert done == [Applied(1, 1)]
    assert rig.session.release() == [False]
    assert rig.look() == (2, {b"n": b"2"})


def test_unknown_was_applied(build: Callable[..., Rig]) -> None:
    rig = build(Fault.GO_DARK, patience=SHORT)

    def refuse(_view: View) -> Changes:
        raise Refusal(Kind.ITEM_MISSING, id="x")

    first, refused, second = rig.engine.write(rig.partition, [count_up, refuse, put(b"a", b"1")])
    assert isinstance(refused, Rejected)
    assert [settle(rig, first), settle(rig, second)] == [Applied(1, 1), Applied(2, "put")]
    assert rig.other.write(rig.partition, [count_up]) == [Applied(3, 3)]
    assert [settle(rig, first), settle(rig, second)] == [Applied(1, 1), Applied(2, "put")]
    rig.session.dark = False
    assert rig.engine.write(rig.partition, [count_up]) == [Applied(4, 4)]
    assert rig.look() == (4, {b"n": b"3", b"a": b"1"})


def test_unknown_was_never_sent(build: Callable[..., Rig]) -> None:
    """`settle` shuts the attempt out and takes no LSN; what it answers stays true for its whole group."""
    rig = build(Fault.HOLD, Fault.GO_DARK_BEFORE, patience=SHORT)
    outcomes = rig.engine.write(rig.partition, [count_up, put(b"a", b"1")])
    assert all(isinstance(settle(rig, outcome), Rejected) for outcome in outcomes)
    assert rig.session.release() == [False]
    assert rig.look() == (0, {})
    rig.session.dark = False
    assert rig.engine.write(rig.partition, [count_up]) == [Applied(1, 1)]
    assert all(isinstance(settle(rig, outcome), Rejected) for outcome in outcomes)
    assert rig.look() == (1, {b"n": b"1"})


def test_unknown_arrives_before_it_is_settled(build: Callable[..., Rig]) -> None:
    rig = build(Fault.HOLD, Fault.GO_DARK_BEFORE, patience=SHORT)
    (outcome,) = rig.engine.write(rig.partition, [count_up])
    assert rig.session.release() == [True]
    assert settle(rig, outcome) == Applied(1, 1)


def test_unknown_stays_unknown_while_nothing_answers(build: Callable[..., Rig]) -> None:
    rig = build(Fault.GO_DARK, patience=SHORT)
    (outcome,) = rig.engine.write(rig.partition, [count_up])
    assert isinstance(outcome, Unknown)
    assert rig.engine.settle(rig.partition, outcome) == outcome


def test_settling_through_a_lost_answer(build: Callable[..., Rig]) -> None:
    rig = build(Fault.GO_DARK_BEFORE, patience=SHORT)
    (outcome,) = rig.engine.write(rig.partition, [count_up])
    assert isinstance(outcome, Unknown)
    rig.session.dark = False
    rig.session.script = [Fault.LOSE_ANSWER, Fault.LOSE_REQUEST]
    assert isinstance(rig.engine.settle(rig.partition, outcome), Rejected)
    assert rig.look() == (0, {})


def test_a_trimmed_row_is_never_called_refused(build: Callable[..., Rig], cassandra_link: CassandraLink) -> None:
    rig = build(Fault.GO_DARK, patience=SHORT)
    (outcome,) = rig.engine.write(rig.partition, [count_up])
    span = {"partition": rig.partition, "start": mark_commit(0), "stop": mark_commit(100)}
    cassandra_link.write([[(Statement.FORGET, span)]])
    assert settle(rig, outcome) == outcome


def test_unknown_of_a_dropped_partition_stays_unknown(build: Callable[..., Rig]) -> None:
    rig = build(Fault.GO_DARK, patience=SHORT)
    (outcome,) = rig.engine.write(rig.partition, [count_up])
    rig.other.drop(rig.partition)
    assert settle(rig, outcome) == outcome


def test_late_request_to_a_dropped_partition_leaves_nothing(build: Callable[..., Rig]) -> None:
    rig = build(Fault.HOLD, Fault.GO_DARK_BEFORE, patience=SHORT)
    rig.engine.write(rig.partition, [count_up])
    rig.other.drop(rig.partition)
    assert rig.session.release() == [False]
    with pytest.raises(Refusal), rig.other.read(rig.partition) as reader:
        reader.get(b"n")
    with pytest.raises(Refusal) as found:
        rig.other.create(rig.partition, b"again")
    assert found.value.kind is Kind.PARTITION_EXISTS


@pytest.mark.parametrize("script", [[Fault.LOSE_ANSWER], [Fault.LOSE_REQUEST], [Fault.HOLD, Fault.RELEASE_FIRST]])
def test_create_through_faults(build: Callable[..., Rig], script: list[Fault]) -> None:
    rig = build()
    rig.session.script = script
    made = os.urandom(16)
    rig.engine.create(made, b"mine")
    with rig.engine.read(made) as reader:
        assert reader.header == b"mine"
    rig.session.script = [Fault.LOSE_ANSWER]
    with pytest.raises(Refusal) as found:
        rig.engine.create(made, b"again")
    assert found.value.kind is Kind.PARTITION_EXISTS
    rig.engine.drop(made)


def test_refusals_are_judged_on_what_is_there(build: Callable[..., Rig]) -> None:
    """A server that knows an old head does not refuse because of it."""
    rig = build()
    rig.engine.write(rig.partition, [count_up])
    rig.other.write(rig.partition, [lambda _view: Changes({}, b"opened")])

    def need_opened(view: View) -> Changes:
        if view.header != b"opened":
            raise Refusal(Kind.PARTITION_CLOSED, partition="x", state="closed")
        return Changes({})

    assert rig.engine.write(rig.partition, [need_opened]) == [Applied(3, None)]
    rig.other.write(rig.partition, [lambda _view: Changes({}, b"closed")])
    (outcome,) = rig.engine.write(rig.partition, [need_opened])
    assert isinstance(outcome, Rejected)


def test_storm(cassandra_link: CassandraLink) -> None:
    """Two servers, four writers, half of the attempts go wrong: every answer is true, and nothing happens twice."""
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(2**32)))
    print(f"SEED={seed}")
    sessions = [RandomSession(cassandra_link._session, seed + at) for at in range(2)]
    engines = [LinkedEngine(disturb(cassandra_link, session, patience=30), "faults") for session in sessions]
    clean = LinkedEngine(cassandra_link, "faults")
    partition = os.urandom(16)
    clean.create(partition, b"")
    told: dict[bytes, Outcome] = {}

    def make_work(key: bytes) -> Work:
        def work(view: View) -> Changes:
            counted = int(view.get(b"n") or b"0") + 1
            return Changes({b"n": b"%d" % counted, key: b"%d" % view.lsn}, None, view.lsn)

        return work

    def run(writer: int) -> None:
        for at in range(12):
            keys = [b"w%d-%d-%d" % (writer, at, member) for member in range(1 + at % 3)]
            outcomes = engines[writer % 2].write(partition, [make_work(key) for key in keys])
            told.update(zip(keys, outcomes, strict=True))

    threads = [threading.Thread(target=run, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for session in sessions:
        session.release()
    final = {key: clean.settle(partition, out) if isinstance(out, Unknown) else out for key, out in told.items()}
    with clean.read(partition) as reader:
        rows = dict(row for page in reader.scan(b"\x01", b"\xff", page=7) for row in page.rows)
        lsn = reader.lsn
    applied = {key: out for key, out in final.items() if isinstance(out, Applied)}
    assert len(final) == 96
    assert {key: b"%d" % out.lsn for key, out in applied.items()} == {key: rows[key] for key in rows if key != b"n"}
    assert all(out.result == out.lsn for out in applied.values())
    assert sorted(out.lsn for out in applied.values()) == list(range(1, lsn + 1))
    assert rows[b"n"] == b"%d" % lsn
    clean.drop(partition)


def read_terms(engine: LinkedEngine, partition: bytes) -> tuple[int, list[Term]]:
    with engine.terms(partition).read() as reader:
        return reader.watermark, [term for page in reader.scan((b"", 0), (b"\xff", 0)) for term in page]


def test_a_step_that_died_half_way(build: Callable[..., Rig]) -> None:
    """Its terms are there, its watermark is not: the next step at that watermark wins whatever it says."""
    rig = build(patience=SHORT)
    a, b, c = (b"a", 1), (b"b", 1), (b"c", 1)
    rig.other.terms(rig.partition).apply(lambda _: TermChanges([], [b, c], 4))
    rig.session.dark_after = 2  # the stamp and the terms arrive, the watermark does not
    with pytest.raises(Refusal):
        rig.engine.terms(rig.partition).apply(lambda _: TermChanges([b], [a], 5))
    assert read_terms(rig.other, rig.partition) == (4, [a, c])
    rig.other.terms(rig.partition).apply(lambda _: TermChanges([a], [b], 5))
    assert read_terms(rig.other, rig.partition) == (5, [b, c])


def answer(changes: TermChanges, _watermark: int) -> TermChanges:
    return changes


def test_steps_at_one_watermark(build: Callable[..., Rig]) -> None:
    rig = build()
    terms = rig.engine.terms(rig.partition)
    term = (b"a", 1)
    for adds in (True, False, True, True, False, False, True):
        changes = TermChanges([], [term], 3) if adds else TermChanges([term], [], 3)
        terms.apply(partial(answer, changes))
        assert read_terms(rig.other, rig.partition) == (3, [term] if adds else [])


def test_an_indexer_that_is_late_changes_nothing(build: Callable[..., Rig]) -> None:
    """It read the watermark before somebody else went further; what it writes afterwards is older news."""
    rig = build()
    old, new = (b"old", 1), (b"new", 1)
    rig.engine.terms(rig.partition).apply(lambda _: TermChanges([], [old], 1))

    def overtaken(watermark: int) -> TermChanges:
        assert watermark == 1
        rig.other.terms(rig.partition).apply(lambda _: TermChanges([old, (b"mid", 1)], [new], 3))
        return TermChanges([old, new], [(b"mid", 1)], 2)

    rig.engine.terms(rig.partition).apply(overtaken)
    assert read_terms(rig.other, rig.partition) == (3, [new])


def test_an_indexer_that_missed_a_clear(build: Callable[..., Rig]) -> None:
    rig = build()
    terms = rig.engine.terms(rig.partition)
    terms.apply(lambda _: TermChanges([], [(b"a", 1)], 7))

    def overtaken(_watermark: int) -> TermChanges:
        rig.other.terms(rig.partition).clear()
        return TermChanges([], [(b"b", 1)], 8)

    terms.apply(overtaken)
    assert read_terms(rig.other, rig.partition) == (0, [])
    assert read_terms(rig.engine, rig.partition) == (0, [])
    assert terms.apply(lambda watermark: TermChanges([], [(b"a", 1)], watermark + 1)) == 1
    assert read_terms(rig.other, rig.partition) == (1, [(b"a", 1)])
