"""Fixtures that more than one folder of tests asks for."""

from tests.cassandra_node.fixture import cassandra_link, cassandra_node, pytest_collection_finish

__all__ = ["cassandra_link", "cassandra_node", "pytest_collection_finish"]
