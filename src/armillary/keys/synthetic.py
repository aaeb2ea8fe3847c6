"""Synthetic partition keys: made from properties of an item, the same in every process and in every language.

    concat("/deviceId", "/year")                          abc-123-2018
    rollup("/at", "day")                                  2018-08-09
    random_suffix("/date", 400)                           2018-08-09.1 to 2018-08-09.400
    hash_suffix("/date", by="/vin", count=400)            the same, and a reader who knows the VIN knows the suffix
    balanced_suffix("/date", by="/vin", count=8)          suffixes that fall on different partitions
    hierarchical("/tenant", rollup("/at", "month"))       several levels, some of them computed

A strategy says four things: `for_item`, the key of an item; `apply`, the item with its key; `for_point`, the key where
an item with these sources is written; `for_read`, all keys where such items may be. Sources are named by their paths,
`/address/zip` is `address_zip`.

    >>> k = hash_suffix(rollup("/at", "day"), by="/vin", count=4)
    >>> k.apply({"id": "1", "vin": "1HGCM82633A004352", "at": "2018-08-09T14:30:00Z"})["partitionKey"]
    '2018-08-09.4'
    >>> k.for_read(at="2018-08-09")
    ['2018-08-09.1', '2018-08-09.2', '2018-08-09.3', '2018-08-09.4']

The laws: distinct sources give distinct keys, or the key is refused (`texts`); a key that was written is found by
`for_read` with any of its sources that are not needed left out, also after the count has grown; nothing here changes an
item or depends on a process. An item whose sources change has another key: its adapter refuses or moves it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from secrets import randbelow
from typing import Final, NamedTuple, TypeAlias

from armillary.errors import Kind, Refusal
from armillary.keys.definition import MOST_LEVELS, VALUE_BYTES, KeyDefinition, define_key
from armillary.keys.moments import Unit
from armillary.keys.parts import (
    UNSAID,
    Choose,
    Concat,
    Find,
    Part,
    Plain,
    Rollup,
    Suffix,
    Unsaid,
    find_said,
    name_source,
)
from armillary.keys.path import KeyPath, parse_path
from armillary.keys.texts import MISSING, MODES, TYPES, Missing, Mode, Rules, Types, refuse
from armillary.values import UNDEFINED, KeyValue, key_value, value_at

Key: TypeAlias = KeyValue | tuple[KeyValue, ...]

PROPERTY: Final = "partitionKey"
MOST_SUFFIXES: Final = 10_000

_FORMAT: Final = 1
_UNITS: Final = ("hour", "day", "month")
_WHAT: Final = "synthetic key"
_PLAIN_NAME: Final = re.compile(r"\w+")


class Level(NamedTuple):
    """One level of a key: where its value stands in the item, and what makes it (None: the client itself)."""

    path: KeyPath
    part: Part | None


@dataclass(frozen=True, slots=True)
class Strategy:
    """How the key of a container is made: one level, or several of a hierarchical key."""

    levels: tuple[Level, ...]

    @property
    def definition(self) -> KeyDefinition:
        """The partition key that the container must have."""
        return define_key(*[level.path.text for level in self.levels])

    def for_item(self, item: Mapping[str, object], choose: Choose = randbelow) -> Key:
        """The key of an item. One that it has already is kept when its sources can give it, else refused."""
        return self._shape([_find_value(level, item, choose) for level in self.levels])

    def apply(self, item: Mapping[str, object], choose: Choose = randbelow) -> dict[str, object]:
        """A copy of the item with its key in it."""
        made = {level.path.names[0]: _find_value(level, item, choose) for level in self.levels if level.part}
        return {**item, **made}

    def for_point(self, **sources: object) -> Key:
        """The key that a new item with these sources gets; all of them are needed."""
        find = self._find_among(sources)
        return self._shape([_write_level(level, find) for level in self.levels])

    def for_read(self, **sources: object) -> list[Key]:
        """All keys, or beginnings of hierarchical keys, under which items with these sources may be."""
        find = self._find_among(sources)
        found: list[Sequence[KeyValue]] = []
        for level in self.levels:
            if any(find(path) is UNSAID for path in _list_needed(level)):
                break
            found.append(_read_level(level, find))
        if not found:
            raise refuse(f"reading needs {', '.join(map(name_source, _list_needed(self.levels[0])))}")
        return [self._shape(values) for values in product(*found)]

    def grow(self, count: int) -> "Strategy":
        """The same strategy with more suffixes; what was written with fewer is still found."""
        grown = Strategy(
            tuple(level._replace(part=level.part and _grow_part(level.part, count)) for level in self.levels)
        )
        if grown == self:
            raise _bad("it has no suffixes to grow")
        return grown

    def to_json(self) -> dict[str, object]:
        """The strategy as data, for other processes and languages."""
        return {"format": _FORMAT, "levels": [_write_json_level(level) for level in self.levels]}

    @classmethod
    def from_json(cls, text: object) -> "Strategy":
        """A strategy from its data; what is none is refused."""
        if not isinstance(text, Mapping) or text.get("format") != _FORMAT or not isinstance(text.get("levels"), list):
            raise _bad(f"it must be an object of format {_FORMAT} with levels")
        return cls(tuple(_read_json_level(level) for level in text["levels"]))

    def _find_among(self, sources: Mapping[str, object]) -> Find:
        known = {name_source(path) for level in self.levels for path in _list_sources(level)}
        for name in sources:
            if name not in known:
                raise refuse(f"{name!r} is no source of this key: they are {', '.join(sorted(known))}")

        def find(path: KeyPath) -> KeyValue | Unsaid:
            value = sources.get(name_source(path), UNSAID)
            return UNSAID if value is UNSAID else key_value(value)

        return find

    def _shape(self, values: Sequence[KeyValue]) -> Key:
        return values[0] if len(self.levels) == 1 else tuple(values)


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
    for given, known in ((mode, MODES), (types, TYPES), (missing, MISSING)):
        if given not in known:
            raise _bad(f"{given!r} is none of {', '.join(known)}")
    delimiter = _check_delimiter(delimiter or ("|" if mode == "length" else "-"), "\\")
    if not parts:
        raise _bad("there is nothing to join")
    rules = Rules(types, missing, mark)
    return _define(Concat(tuple(_take_part(part, rules) for part in parts), mode, delimiter, rules), name)


def rollup(path: str, unit: Unit, name: str = PROPERTY) -> Strategy:
    """The hour, day or month of a moment, in UTC.

    >>> rollup("/at", "month").for_item({"at": "2018-08-09T14:30:00Z"})
    '2018-08'
    """
    if unit not in _UNITS:
        raise _bad(f"{unit!r} is none of {', '.join(_UNITS)}")
    return _define(Rollup(_read_path(path), unit), name)


def random_suffix(
    base: Source, count: int, *, earlier: Sequence[int] = (), delimiter: str = ".", name: str = PROPERTY
) -> Strategy:
    """A base and a random number from 1 to `count`: writes spread, every read goes to all of them.

    >>> random_suffix("/date", 400).for_item({"date": "2018-08-09"}, lambda count: count - 1)
    '2018-08-09.400'
    """
    return _define(_make_suffix(base, None, count, False, earlier, delimiter), name)


def hash_suffix(
    base: Source, *, by: str, count: int, earlier: Sequence[int] = (), delimiter: str = ".", name: str = PROPERTY
) -> Strategy:
    """A base and a number from 1 to `count` that follows from a source: who knows it reads one key.

    >>> hash_suffix("/date", by="/vin", count=400).for_point(date="2018-08-09", vin="1HGCM82633A004352")
    '2018-08-09.356'
    """
    return _define(_make_suffix(base, by, count, False, earlier, delimiter), name)


def balanced_suffix(
    base: Source, *, by: str, count: int, earlier: Sequence[int] = (), delimiter: str = ".", name: str = PROPERTY
) -> Strategy:
    """The same with numbers chosen so that each suffix lies in its own slice of the space of effective keys.

    >>> balanced_suffix("/date", by="/vin", count=4).for_read(date="2018-08-09")
    ['2018-08-09.2', '2018-08-09.8', '2018-08-09.4', '2018-08-09.0']
    """
    return _define(_make_suffix(base, by, count, True, earlier, delimiter), name)


def hierarchical(*levels: Source) -> Strategy:
    """Up to three levels: a path is a property that the item has; a strategy makes the value of its own property.

    >>> hierarchical("/tenant", rollup("/at", "month")).for_point(tenant="contoso", at="2018-08-09")
    ('contoso', '2018-08')
    """
    if not 1 < len(levels) <= MOST_LEVELS:
        raise _bad(f"it has two or {MOST_LEVELS} levels")
    made = [Level(_read_path(level), None) if isinstance(level, str) else level.levels[0] for level in levels]
    if any(isinstance(level, Strategy) and len(level.levels) > 1 for level in levels):
        raise _bad("a level cannot have levels itself")
    if len({level.path.names for level in made}) < len(made):
        raise _bad("two levels have one property: give computed ones a `name` of their own")
    return _check_names(Strategy(tuple(made)))


def _define(part: Part, name: str) -> Strategy:
    text = f"/{name}" if _PLAIN_NAME.fullmatch(name) else f'/"{name}"'
    return _check_names(Strategy((Level(_read_path(text), part),)))


def _check_names(strategy: Strategy) -> Strategy:
    paths = {path for level in strategy.levels for path in _list_sources(level)}
    if len({name_source(path) for path in paths}) < len({path.names for path in paths}):
        raise _bad("two sources have one name")
    computed = {level.path.names for level in strategy.levels if level.part}
    if computed & {path.names for path in paths}:
        raise _bad("its own property is one of its sources")
    return strategy


def _list_sources(level: Level) -> tuple[KeyPath, ...]:
    return level.part.sources if level.part else (level.path,)


def _list_needed(level: Level) -> tuple[KeyPath, ...]:
    return level.part.needed if level.part else (level.path,)


def _take_part(source: Source, rules: Rules = Rules()) -> Part:  # noqa: B008 - a tuple that never changes
    if isinstance(source, str):
        return Plain(_read_path(source), rules)
    part = source.levels[0].part
    if part is None or len(source.levels) > 1:
        raise _bad("a hierarchical key cannot be part of another")
    return part


def _make_suffix(
    base: Source, by: str | None, count: int, balanced: bool, earlier: Sequence[int], delimiter: str
) -> Suffix:
    for number in (count, *earlier):
        if type(number) is not int or not 1 < number <= MOST_SUFFIXES:
            raise _bad(f"a count of suffixes is a whole number from 2 to {MOST_SUFFIXES}, not {number!r}")
    if list(earlier) != sorted({number for number in earlier if number < count}, reverse=True):
        raise _bad("earlier counts are smaller, the latest first")
    _check_delimiter(delimiter, "0123456789")
    hashed = None if by is None else Plain(_read_path(by))
    return Suffix(_take_part(base), hashed, count, balanced, tuple(earlier), delimiter)


def _grow_part(part: Part, count: int) -> Part:
    if isinstance(part, Concat):
        return replace(part, parts=tuple(_grow_part(inner, count) for inner in part.parts))
    if not isinstance(part, Suffix):
        return part
    if count <= part.count:
        raise _bad(f"{count} suffixes are not more than {part.count}")
    return replace(part, count=count, earlier=(part.count, *part.earlier))


def _find_value(level: Level, item: Mapping[str, object], choose: Choose) -> KeyValue:
    kept = value_at(item, level.path.names)
    if level.part is None:
        return kept

    def find(path: KeyPath) -> KeyValue:
        return value_at(item, path.names)

    if kept is UNDEFINED:
        return _check_size(level.part.write(find, choose))
    if kept not in level.part.read(find):
        raise refuse(
            f"the item has {kept!r} at {level.path.text!r}, which its sources do not give: it was made otherwise, or a "
            "source has changed; an item moves to another key by a create there and a delete here"
        )
    return kept


def _write_level(level: Level, find: Find) -> KeyValue:
    if level.part is None:
        return find_said(find, level.path)
    return _check_size(level.part.write(find, _refuse_choice))


def _read_level(level: Level, find: Find) -> Sequence[KeyValue]:
    if level.part is None:
        return [find_said(find, level.path)]
    return [_check_size(text) for text in level.part.read(find)]


def _refuse_choice(count: int) -> int:
    raise refuse(f"one of {count} random suffixes was chosen when the item was written: use for_read")


def _check_size(text: str | None) -> str:
    size = len((text or "").encode())
    if not text or size > VALUE_BYTES:
        raise refuse(f"it would have {size} bytes, and 1 to {VALUE_BYTES} are allowed")
    return text


def _check_delimiter(delimiter: str, banned: str) -> str:
    if len(delimiter) != 1 or delimiter in banned:
        raise _bad(f"the delimiter is one character and none of {banned}, not {delimiter!r}")
    return delimiter


def _read_path(text: object) -> KeyPath:
    return parse_path(text if isinstance(text, str) else "", _WHAT)


def _write_json_level(level: Level) -> dict[str, object]:
    text: dict[str, object] = {"path": level.path.text}
    return text | ({"key": level.part.to_json()} if level.part else {})


def _read_json_level(text: object) -> Level:
    if not isinstance(text, Mapping):
        raise _bad("a level must be an object")
    path = _read_path(text.get("path"))
    return Level(path, _take_part(_read_source(text["key"])) if "key" in text else None)


def _read_source(text: object) -> Source:
    if isinstance(text, str):
        return text
    if not isinstance(text, Mapping):
        raise _bad("a source must be a path or an object")
    make, parts = _MAKERS.get(text.get("strategy")), text.get("parts", [])
    if make is None or not isinstance(parts, list):
        raise _bad(f"the strategy is none of {', '.join(map(str, _MAKERS))}, or its parts are no list")
    fields = {str(name): value for name, value in text.items() if name not in ("strategy", "parts")}
    parts = [_read_source(part) for part in parts]
    if "base" in fields:
        fields["base"] = _read_source(fields["base"])
    try:
        return make(*parts, **fields)
    except TypeError as error:
        raise _bad(str(error)) from None


def _bad(reason: str) -> Refusal:
    return Refusal(Kind.BAD_DEFINITION, what=_WHAT, reason=reason)


_MAKERS: Final[dict[object, Callable[..., Strategy]]] = {
    "concat": concat,
    "rollup": rollup,
    "randomSuffix": random_suffix,
    "hashSuffix": hash_suffix,
    "balancedSuffix": balanced_suffix,
}
