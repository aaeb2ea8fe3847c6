"""What the settings of a cluster mean."""

import pytest

from armillary.errors import Kind, Refusal
from armillary.kv.cassandra_cql import Statement, Traits, derive_limits, merge_traits, parse_size, read_traits

SETTINGS = {
    "paxos_variant": "v2",
    "commitlog_sync": "periodic",
    "commitlog_sync_period": "10s",
    "batch_size_fail_threshold": "50KiB",
    "max_mutation_size": "8192KiB",
    "native_transport_max_message_size": "6488064B",
}


def test_the_lowest_wall_counts() -> None:
    assert read_traits(SETTINGS) == Traits("v2", "periodic, every 10s", 44_800)
    assert read_traits({**SETTINGS, "batch_size_fail_threshold": "None"}).wall == 5_677_056
    assert read_traits({**SETTINGS, "batch_size_fail_threshold": "7MiB"}).wall == 5_677_056
    assert read_traits({"commitlog_sync": "batch"}) == Traits("None", "batch", 7 << 20)


@pytest.mark.parametrize(("text", "size"), [("12B", 12), ("50KiB", 51_200), ("16MiB", 16 << 20), ("1GiB", 1 << 30)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "10", "10 parsecs", "KiB", "1.5MiB", "-1B"])
def test_sizes_that_are_not_understood_are_refused(text: str) -> None:
    with pytest.raises(Refusal) as found:
        parse_size(text)
    assert found.value.kind is Kind.STORE_BROKEN


def test_a_cluster_is_as_good_as_its_worst_node() -> None:
    nodes = {"a": Traits("v2", "batch", 900), "b": Traits("v2", "periodic, every 10s", 700)}
    assert merge_traits(nodes) == Traits("v2", "batch or periodic, every 10s", 700)


@pytest.mark.parametrize("paxos", ["v1", "v1_without_linearizable_reads", "None"])
def test_other_paxos_is_refused_in_words(paxos: str) -> None:
    with pytest.raises(Refusal) as found:
        merge_traits({"good": Traits("v2", "batch", 1), "bad:9042": Traits(paxos, "batch", 1)})
    assert "bad:9042" in str(found.value)
    assert paxos in str(found.value)
    assert "paxos_variant: v2" in str(found.value)


def test_limits_leave_room() -> None:
    limits = derive_limits(44_800)
    assert limits.value_bytes + limits.key_bytes < limits.commit_bytes < 44_800


def test_no_table_is_written_both_ways() -> None:
    """Plain writes carry their own timestamp or belong to a commit; conditional ones only ever touch `items`."""
    for statement in Statement:
        text = statement.value
        if " IF " in text:
            assert "@items" in text
        elif not text.startswith("SELECT") and "@items" not in text:
            assert "USING TIMESTAMP" in text
