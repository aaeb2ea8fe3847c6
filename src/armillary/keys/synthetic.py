"""Synthetic partition keys: made from properties of an item, the same in every process and in every language.

    concat("/deviceId", "/year")                          abc-123-2018
    rollup("/at", "day")                                  2018-08-09
    random_suffix("/date", 400)                           2018-08-09.1 to 2018-08-09.400
    hash_suffix("/date", by="/vin", count=400)            the same, and a reader who knows the VIN knows the suffix
    balanced_suffix("/date", by="/vin", count=8)          suffixes that fall on different partitions
    hierarchical("/tenant", rollup("/at", "month"))       several levels, some of them made

    >>> k = hash_suffix(rollup("/at", "day"), by="/vin", count=4)
    >>> k.apply({"id": "1", "vin": "1HGCM82633A004352", "at": "2018-08-09T14:30:00Z"})["partitionKey"]
    '2018-08-09.4'
    >>> k.for_read(at="2018-08-09")
    ['2018-08-09.1', '2018-08-09.2', '2018-08-09.3', '2018-08-09.4']

The laws: distinct sources give distinct keys, or the key is refused (`texts`); a key that was written is found by
`for_read` with any of its sources that are not needed left out, also after the count has grown.
"""

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from armillary.keys.definition import MOST_LEVELS
from armillary.keys.moments import Unit
from armillary.keys.parts import Concat, Part, Plain, Rollup, Suffix
from armillary.keys.portable import pick_delimiter, read_path
from armillary.keys.strategy import Key, Level, Strategy
from armillary.keys.texts import Missing, Mode, Rules, Types, refuse_definition

__all__ = [
    "PROPERTY",
    "Key",
    "Strategy",
    "balanced_suffix",
    "concat",
    "hash_suffix",
    "hierarchical",
    "random_suffix",
    "rollup",
]

PROPERTY: Final = "partitionKey"

_UNIFIED: Final = Rules()
_PLAIN_NAME: Final = re.compile(r"\w+")

Source: TypeAlias = str | Strategy


def concat(
    *parts: Source,
    mode: Mode = "readable",
    delimiter: str = "",
    types: Types = "unified",
    missing: Missing = "refuse",
    mark: str = "undefined",
    name: str = PROPERTY,
) -> Strategy:
    """Several sources as one text; see `texts` for modes, types and what is missing.

    >>> concat("/deviceId", "/year").for_item({"deviceId": "abc-123", "year": 2018})
    'abc-123-2018'
    """
    rules = Rules(types, missing, mark)
    taken = tuple(_take_part(part, rules) for part in parts)
    return _define(Concat(taken, mode, delimiter or pick_delimiter(mode), rules), name)


def rollup(path: str, unit: Unit, name: str = PROPERTY) -> Strategy:
    """The hour, day or month of a moment, in UTC.

    >>> rollup("/at", "month").for_item({"at": "2018-08-09T14:30:00Z"})
    '2018-08'
    """
    return _define(Rollup(read_path(path), unit), name)


def random_suffix(
    base: Source, count: int, *, earlier: Sequence[int] = (), delimiter: str = ".", name: str = PROPERTY
) -> Strategy:
    """A base and a random number from 1 to `count`: writes spread, every read goes to all of them.

    >>> random_suffix("/date", 400).for_item({"date": "2018-08-09"}, lambda count: count - 1)
    '2018-08-09.400'
    """
    return _define(Suffix(_take_part(base), None, count, False, tuple(earlier), delimiter), name)


def hash_suffix(
    base: Source, *, by: str, count: int, earlier: Sequence[int] = (), delimiter: str = ".", name: str = PROPERTY
) -> Strategy:
    """A base and a number from 1 to `count` that follows from a source: who knows it reads one key.

    >>> hash_suffix("/date", by="/vin", count=400).for_point(date="2018-08-09", vin="1HGCM82633A004352")
    '2018-08-09.356'
    """
    return _define(Suffix(_take_part(base), Plain(read_path(by)), count, False, tuple(earlier), delimiter), name)


def balanced_suffix(
    base: Source, *, by: str, count: int, earlier: Sequence[int] = (), delimiter: str = ".", name: str = PROPERTY
) -> Strategy:
    """The same with numbers chosen so that each suffix lies in its own slice of the space of effective keys.

    >>> balanced_suffix("/date", by="/vin", count=4).for_read(date="2018-08-09")
    ['2018-08-09.2', '2018-08-09.8', '2018-08-09.4', '2018-08-09.0']
    """
    return _define(Suffix(_take_part(base), Plain(read_path(by)), count, True, tuple(earlier), delimiter), name)


def hierarchical(*levels: Source) -> Strategy:
    """Up to three levels: a path is a property that the item has; a strategy makes the value of its own property.

    >>> hierarchical("/tenant", rollup("/at", "month")).for_point(tenant="contoso", at="2018-08-09")
    ('contoso', '2018-08')
    """
    if not 1 < len(levels) <= MOST_LEVELS:
        raise refuse_definition(f"it has two or {MOST_LEVELS} levels")
    if any(isinstance(level, Strategy) and len(level.levels) > 1 for level in levels):
        raise refuse_definition("a level cannot have levels itself")
    return Strategy(
        tuple(level.levels[0] if isinstance(level, Strategy) else Level(read_path(level), None) for level in levels)
    )


def _define(part: Part, name: str) -> Strategy:
    text = f"/{name}" if _PLAIN_NAME.fullmatch(name) else f'/"{name}"'
    return Strategy((Level(read_path(text), part),))


def _take_part(source: Source, rules: Rules = _UNIFIED) -> Part:
    if not isinstance(source, Strategy):
        return Plain(read_path(source), rules)
    part = source.levels[0].part
    if part is None or len(source.levels) > 1:
        raise refuse_definition("a hierarchical key cannot be part of another")
    return part
