"""Partition keys: from an item to its key values, from values to the effective key, from effective keys to ranges.

Usable alone: it imports nothing but `values`, `errors` and the murmur3 extension.
"""

from armillary.keys.definition import SYSTEM_KEY, KeyDefinition, KeyKind, define_key, read_definition
from armillary.keys.path import KeyPath, extract, parse_path
from armillary.keys.ranges import EVERYTHING, EpkRange, divide_space, prefix_range, read_range

__all__ = [
    "EVERYTHING",
    "SYSTEM_KEY",
    "EpkRange",
    "KeyDefinition",
    "KeyKind",
    "KeyPath",
    "define_key",
    "divide_space",
    "extract",
    "parse_path",
    "prefix_range",
    "read_definition",
    "read_range",
]
