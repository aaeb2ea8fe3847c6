"""Engines: partitions of ordered bytes, committed whole, in one order; `engine` is the contract."""
