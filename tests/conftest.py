"""Fixtures and options that more than one folder of tests asks for."""

import signal

import pytest
from tests.cassandra_node.fixture import cassandra_link, cassandra_node, pytest_collection_finish

__all__ = ["cassandra_link", "cassandra_node", "pytest_addoption", "pytest_collection_finish"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write golden files anew, to be read as a diff")


# Tests that run in the background may have been told to ignore this signal; what they start would ignore it, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
