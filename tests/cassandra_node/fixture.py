"""The node and a link to it, once for a session of tests; skipped in plain words where no node can run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cassandra_node.node import ADDRESS, Node, NodeError, fetch, find_missing, run_node

from armillary.kv.cassandra_cql import Link
from armillary.kv.cassandra_engine import LinkedEngine

KEYSPACE = "tests"


REASON = pytest.StashKey[str | None]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fetch before the first test begins: its time limit is not made for downloads."""
    wanted = any(item.get_closest_marker("cassandra") for item in session.items)
    if wanted and not session.config.option.collectonly:
        session.config.stash[REASON] = prepare_node()


def prepare_node() -> str | None:
    """Why no node can run here; None when one can."""
    missing = find_missing()
    if missing is None:
        try:
            fetch()
        except NodeError as failure:
            return str(failure)
    return missing


@pytest.fixture(scope="session")
def cassandra_node(pytestconfig: pytest.Config) -> Iterator[Node]:
    """One node for the whole session; where it cannot run, tests are skipped, but never in CI."""
    reason = pytestconfig.stash[REASON] if REASON in pytestconfig.stash else prepare_node()
    if reason:
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(reason)
        pytest.skip(reason)
    with run_node() as node:
        yield node


@pytest.fixture(scope="session")
def cassandra_link(cassandra_node: Node) -> Iterator[Link]:
    from armillary.kv.cassandra import CassandraLink  # the driver: only where it is used, every test loads this module

    link = CassandraLink([ADDRESS], cassandra_node.port, KEYSPACE, patience=20)
    yield link
    link.close()


def open_engine(request: pytest.FixtureRequest, folder: Path) -> LinkedEngine:
    """An engine over the session's link: one folder is one space, so that opening it again shows the same data."""
    return LinkedEngine(request.getfixturevalue("cassandra_link"), str(folder))
