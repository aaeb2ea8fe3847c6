"""What the driver's side learns from a real node: its limits, and whether it can be trusted with commits at all."""

import os
from collections.abc import Iterator

import pytest
from tests.cassandra_node.node import ADDRESS, Node, find_ports, run_node

from armillary.errors import Kind, Refusal
from armillary.kv.cassandra import CassandraEngine, CassandraLink
from armillary.kv.cassandra_engine import LinkedEngine
from armillary.kv.engine import Applied, Changes, Rejected, TermChanges, View

pytestmark = pytest.mark.cassandra


@pytest.fixture
def partition(cassandra_link: CassandraLink) -> Iterator[bytes]:
    engine = LinkedEngine(cassandra_link, "driver")
    made = os.urandom(16)
    engine.create(made, b"")
    yield made
    engine.drop(made)


def test_engine_states_what_it_promises(cassandra_node: Node) -> None:
    engine = CassandraEngine(hosts=[ADDRESS], port=cassandra_node.port, keyspace="promises")
    try:
        assert not engine.local
        assert "majority" in engine.durable
        assert "periodic" in engine.durable
        assert engine.limits.value_bytes > 2 * 2**20
        assert engine.partitions() == []
    finally:
        engine.close()


def test_the_largest_commits_fit(cassandra_link: CassandraLink, partition: bytes) -> None:
    """One value of the largest size, and as many small effects as the limits let through, in one commit each."""
    engine = LinkedEngine(cassandra_link, "driver")
    limits = engine.limits
    largest = os.urandom(limits.value_bytes)
    assert engine.write(partition, [lambda _view: Changes({b"k" * limits.key_bytes: largest})]) == [Applied(1, None)]
    with engine.read(partition) as reader:
        assert reader.get(b"k" * limits.key_bytes) == largest
    few = cassandra_link.wall // 300
    many: dict[bytes, bytes | None] = {b"m%06d" % at: bytes(200) for at in range(few)}
    assert engine.write(partition, [lambda _view: Changes(many)]) == [Applied(2, None)]
    with engine.read(partition) as reader:
        assert sum(len(page.rows) for page in reader.scan(b"m", b"n")) == few
    too_many: dict[bytes, bytes | None] = {b"d%06d" % at: None for at in range(cassandra_link.wall // 80)}
    (outcome,) = engine.write(partition, [lambda _view: Changes(too_many)])
    assert isinstance(outcome, Rejected)
    assert isinstance(outcome.error, Refusal)
    assert outcome.error.kind is Kind.COMMIT_TOO_LARGE


@pytest.mark.usefixtures("cassandra_node")
def test_a_cluster_that_takes_little() -> None:
    """Batches of 50 KiB, the default: works that do not fit together are commits of their own, in order."""
    with run_node({"batch_size_fail_threshold": "50KiB"}) as node:
        engine = CassandraEngine(hosts=[ADDRESS], port=node.port, keyspace="little")
        try:
            assert 30_000 < engine.limits.commit_bytes < 50 * 1024
            partition = os.urandom(16)
            engine.create(partition, b"")

            def work(view: View) -> Changes:
                seen = len(view.scan(b"\x01", b"\xff", limit=1000))
                return Changes({b"k%03d" % view.lsn: bytes(6000)}, None, seen)

            expected = [Applied(at, at - 1) for at in range(1, 31)]
            assert engine.write(partition, [work] * 30) == expected
            fits = bytes(engine.limits.value_bytes)
            assert engine.write(partition, [lambda _view: Changes({b"big": fits})]) == [Applied(31, None)]
            (outcome,) = engine.write(partition, [lambda _view: Changes({b"big": fits + b"!"})])
            assert isinstance(outcome, Rejected)
            terms = [(b"t" * engine.limits.term_bytes, at) for at in range(500)]
            engine.terms(partition).apply(lambda _: TermChanges([], terms, 31))
            with engine.terms(partition).read() as reader:
                assert reader.count((b"t", 0), (b"u", 0)) == 500
        finally:
            engine.close()


@pytest.mark.slow
@pytest.mark.usefixtures("cassandra_node")
def test_the_first_version_of_paxos_is_refused() -> None:
    with run_node({"paxos_variant": "v1"}) as node, pytest.raises(Refusal, match="paxos_variant v1") as found:
        CassandraEngine(hosts=[ADDRESS], port=node.port, keyspace="old")
    assert found.value.kind is Kind.STORE_BROKEN


def test_nobody_there() -> None:
    (port,) = find_ports(1)
    with pytest.raises(Refusal) as found:
        CassandraEngine(hosts=[ADDRESS], port=port)
    assert found.value.kind is Kind.STORE_BROKEN


def test_a_keyspace_is_a_word() -> None:
    with pytest.raises(Refusal) as found:
        CassandraEngine(hosts=[ADDRESS], keyspace="x; DROP KEYSPACE y")
    assert found.value.kind is Kind.BAD_NAME
