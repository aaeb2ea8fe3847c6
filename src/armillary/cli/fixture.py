"""The pytest plugin: a server for the test session, found by name.

    def test_orders(armillary, armillary_database):
        client = CosmosClient(armillary.http, armillary.key)
        container = client.get_database_client(armillary_database)...

`armillary` is one server in memory for the whole session: the one `armillary run -- pytest` has started, else one of
its own. `armillary_database` is the name of a database that no other test uses; the test creates and leaves it as it
likes.
It loads in every pytest run of a machine that has the package, so it imports nothing that pytest has not imported.
"""

import os
import uuid
from collections.abc import Iterator

import pytest

from armillary.cli.child import Server, start_server

__all__ = ["armillary", "armillary_database"]


@pytest.fixture(scope="session")
def armillary() -> Iterator[Server]:
    """A server in memory: `endpoint` (HTTPS), `http`, `key` and `connection_string`."""
    running = os.environ.get("ARMILLARY_ENDPOINT")
    if running:
        yield Server(running, os.environ.get("ARMILLARY_HTTP_ENDPOINT", running), os.environ["ARMILLARY_KEY"])
        return
    with start_server(["--memory", "--port", "0", "--log-level", "warning"]) as server:
        yield server


@pytest.fixture
def armillary_database() -> str:
    """A name for a database that belongs to this test alone."""
    return f"test-{uuid.uuid4().hex}"
