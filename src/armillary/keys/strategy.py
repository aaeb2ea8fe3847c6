"""A strategy: how the key of a container is made from the properties of its items, level by level.

    concat("/deviceId", "/year")                       one level, made
    hierarchical("/tenant", rollup("/at", "month"))    two: the first is a property of the item, the second is made

It says what the key of an item is (`for_item`, `apply`), where an item with given sources is written (`for_point`), and
where such items may be (`for_read`, `keys_of`). Sources are named by their paths: `/address/zip` is `address_zip`.

The laws: the key of an item is one of those that its sources may give, or the item is refused; what was written is
found by `for_read`; an item is never changed here, and no answer depends on a process. An item whose sources change
has another key: whoever writes it refuses or moves it (`armillary.clients`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from secrets import randbelow
from typing import Final, NamedTuple, TypeAlias

from armillary.keys.definition import MOST_LEVELS, VALUE_BYTES, KeyDefinition, define_key
from armillary.keys.parts import UNSAID, Choose, Find, Part, Suffix, Unsaid, find_said, grow_part, name_source
from armillary.keys.path import KeyPath
from armillary.keys.portable import read_part, read_path
from armillary.keys.texts import refuse, refuse_definition
from armillary.values import UNDEFINED, KeyValue, is_same, key_value, value_at

MOST_KEYS: Final = 20_000

Key: TypeAlias = KeyValue | tuple[KeyValue, ...]

_FORMAT: Final = 1


class Level(NamedTuple):
    """One level of a key: where its value stands in the item, and what makes it (None: the client itself)."""

    path: KeyPath
    part: Part | None

    @property
    def sources(self) -> tuple[KeyPath, ...]:
        return self.part.sources if self.part else (self.path,)

    @property
    def needed(self) -> tuple[KeyPath, ...]:
        return self.part.needed if self.part else (self.path,)


@dataclass(frozen=True, slots=True)
class Strategy:
    """How the key of a container is made: one level, or several of a hierarchical key."""

    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        _check_levels(self.levels)

    @property
    def definition(self) -> KeyDefinition:
        """The partition key that the container must have."""
        return define_key(*[level.path.text for level in self.levels])

    @property
    def is_balanced(self) -> bool:
        """Whether its suffixes are spread over partitions on purpose; that needs a key of version 2."""
        return any(isinstance(level.part, Suffix) and level.part.balanced for level in self.levels)

    def for_item(self, item: Mapping[str, object], choose: Choose = randbelow) -> Key:
        """The key of an item. One that it has already is kept when its sources can give it, else refused."""
        return self._shape([_find_value(level, item, choose) for level in self.levels])

    def apply(self, item: Mapping[str, object], choose: Choose = randbelow) -> dict[str, object]:
        """A copy of the item with its key in it."""
        values = [_find_value(level, item, choose) for level in self.levels]
        return {**item, **self._name_made(values)}

    def stamp(self, item: Mapping[str, object], key: Key) -> dict[str, object]:
        """A copy of the item with this key in it, whatever it had."""
        return {**item, **self._name_made(_split(key))}

    def strip(self, item: Mapping[str, object]) -> dict[str, object]:
        """A copy of the item without the properties that are made here."""
        made = {level.path.names[0] for level in self.levels if level.part}
        return {name: value for name, value in item.items() if name not in made}

    def find_key(self, item: Mapping[str, object]) -> Key | None:
        """The key that stands in an item, whether its sources give it or not; None for an item that has none."""
        values = self.definition.values_of(item)
        return None if UNDEFINED in values else self._shape(values)

    def keys_of(self, item: Mapping[str, object]) -> list[Key]:
        """Every key that an item with the sources of this one may have, that of a new item first."""

        def find(path: KeyPath) -> KeyValue:
            return value_at(item, path.names)

        return [self._shape(values) for values in product(*[_read_level(level, find) for level in self.levels])]

    def may_have(self, item: Mapping[str, object], key: Key) -> bool:
        """Whether this is one of the keys that an item with the sources of this one may have."""
        return any(all(map(is_same, _split(key), _split(possible))) for possible in self.keys_of(item))

    def for_point(self, **sources: object) -> Key:
        """The key that a new item with these sources gets; all of them are needed."""
        find = self._find_among(sources)
        return self._shape([_write_level(level, find) for level in self.levels])

    def for_read(self, **sources: object) -> list[Key]:
        """All keys, or beginnings of hierarchical keys, under which items with these sources may be."""
        find = self._find_among(sources)
        found: list[Sequence[KeyValue]] = []
        for level in self.levels:
            if any(find(path) is UNSAID for path in level.needed):
                break
            found.append(_read_level(level, find))
        if not found:
            raise refuse(f"reading needs {', '.join(map(name_source, self.levels[0].needed))}")
        return [self._shape(values) for values in product(*found)]

    def is_whole(self, key: Key) -> bool:
        """Whether a key has all its levels, and is not only the beginning of one."""
        return len(_split(key)) == len(self.levels)

    def grow(self, count: int) -> "Strategy":
        """The same strategy with more suffixes; what was written with fewer is still found."""
        grown = Strategy(
            tuple(level._replace(part=level.part and grow_part(level.part, count)) for level in self.levels)
        )
        if grown == self:
            raise refuse_definition("it has no suffixes to grow")
        return grown

    def to_json(self) -> dict[str, object]:
        """The strategy as data, for other processes and languages."""
        return {"format": _FORMAT, "levels": [_write_json(level) for level in self.levels]}

    @classmethod
    def from_json(cls, text: object) -> "Strategy":
        """A strategy from its data; what is none is refused."""
        if not isinstance(text, Mapping) or text.get("format") != _FORMAT or not isinstance(text.get("levels"), list):
            raise refuse_definition(f"it must be an object of format {_FORMAT} with levels")
        return cls(tuple(_read_json(level) for level in text["levels"]))

    def _find_among(self, sources: Mapping[str, object]) -> Find:
        known = {name_source(path) for level in self.levels for path in level.sources}
        for name in sources:
            if name not in known:
                raise refuse(f"{name!r} is no source of this key: they are {', '.join(sorted(known))}")

        def find(path: KeyPath) -> KeyValue | Unsaid:
            value = sources.get(name_source(path), UNSAID)
            return UNSAID if value is UNSAID else key_value(value)

        return find

    def _name_made(self, values: Sequence[KeyValue]) -> dict[str, KeyValue]:
        pairs = zip(self.levels, values, strict=True)
        return {level.path.names[0]: value for level, value in pairs if level.part}

    def _shape(self, values: Sequence[KeyValue]) -> Key:
        return values[0] if len(self.levels) == 1 else tuple(values)


def _split(key: Key) -> tuple[KeyValue, ...]:
    return key if isinstance(key, tuple) else (key,)


def _check_levels(levels: tuple[Level, ...]) -> None:
    if not 1 <= len(levels) <= MOST_LEVELS or (len(levels) == 1 and levels[0].part is None):
        raise refuse_definition(f"it has one level that is made, or two or {MOST_LEVELS}")
    if len({level.path.names for level in levels}) < len(levels):
        raise refuse_definition("two levels have one property: give those that are made a `name` of their own")
    if prod(level.part.spread for level in levels if level.part) > MOST_KEYS:
        raise refuse_definition(f"one base value would have more than {MOST_KEYS} keys, earlier counts included")
    made = {level.path.names for level in levels if level.part}
    if any(len(names) > 1 for names in made):
        raise refuse_definition("a key that is made stands at the top of the item")
    read = {path for level in levels for path in level.sources}
    if made & {path.names[:1] for path in read}:
        raise refuse_definition("its own property is one of its sources")
    if len({name_source(path) for path in read}) < len({path.names for path in read}):
        raise refuse_definition("two sources have one name")


def _find_value(level: Level, item: Mapping[str, object], choose: Choose) -> KeyValue:
    def find(path: KeyPath) -> KeyValue:
        return value_at(item, path.names)

    if level.part is None or level.path.names[0] not in item:
        return _write_level(level, find, choose)
    kept = find(level.path)
    if not any(is_same(kept, text) for text in level.part.read(find)):
        raise refuse(
            f"the item has {item[level.path.names[0]]!r} at {level.path.text!r}, which its sources do not give: it was "
            "made otherwise, or a source has changed; an item moves to another key by a create there and a delete here"
        )
    return kept


def _write_level(level: Level, find: Find, choose: Choose | None = None) -> KeyValue:
    return (
        _take_own(level, find) if level.part is None else _check_size(level.part.write(find, choose or _refuse_choice))
    )


def _read_level(level: Level, find: Find) -> Sequence[KeyValue]:
    return [_take_own(level, find)] if level.part is None else [_check_size(text) for text in level.part.read(find)]


def _take_own(level: Level, find: Find) -> KeyValue:
    value = find_said(find, level.path)
    if value is UNDEFINED:
        raise refuse(f"the item has no value at {level.path.text!r}, a level of its key")
    return value


def _refuse_choice(count: int) -> int:
    raise refuse(f"one of {count} random suffixes was chosen when the item was written: use for_read")


def _check_size(text: str | None) -> str:
    size = len((text or "").encode())
    if not text or size > VALUE_BYTES:
        raise refuse(f"it would have {size} bytes, and 1 to {VALUE_BYTES} are allowed")
    return text


def _write_json(level: Level) -> dict[str, object]:
    text: dict[str, object] = {"path": level.path.text}
    return text | ({"key": level.part.to_json()} if level.part else {})


def _read_json(text: object) -> Level:
    if not isinstance(text, Mapping) or not {"path"} <= set(text) <= {"path", "key"}:
        raise refuse_definition("a level is an object with a path, and a key where that is made")
    return Level(read_path(text["path"]), read_part(text["key"]) if "key" in text else None)
