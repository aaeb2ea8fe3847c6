"""The node and a link to it, once for a session of tests; skipped in plain words where no node can run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cassandra_node.node import ADDRESS, Node, find_missing, run_node

from armillary.kv.cassandra import CassandraLink
from armillary.kv.cassandra_engine import LinkedEngine

KEYSPACE = "tests"


@pytest.fixture(scope="session")
def cassandra_node() -> Iterator[Node]:
    """One node for the whole session; where it cannot run, tests are skipped, but never in CI."""
    missing = find_missing()
    if missing:
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(missing)
        pytest.skip(missing)
    with run_node() as node:
        yield node


@pytest.fixture(scope="session")
def cassandra_link(cassandra_node: Node) -> Iterator[CassandraLink]:
    link = CassandraLink([ADDRESS], cassandra_node.port, KEYSPACE, patience=20)
    yield link
    link.close()


def open_engine(request: pytest.FixtureRequest, folder: Path) -> LinkedEngine:
    """An engine over the session's link: one folder is one space, so that opening it again shows the same data."""
    return LinkedEngine(request.getfixturevalue("cassandra_link"), str(folder))
