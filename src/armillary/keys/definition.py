"""The partition key of a container: its paths and how values become an effective key.

    {"paths": ["/tenant"], "kind": "Hash", "version": 2}
    {"paths": ["/tenant", "/user", "/session"], "kind": "MultiHash", "version": 2}
    {"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": true}

A Hash has one path, a MultiHash (hierarchical) up to three and always version 2. Without a version a Hash is version 1:
every client reads it so. `Range`, a kind of old, keeps its name and is hashed like Hash. A system key belongs to a
container that was made without a key: an item without `_partitionKey` has no value at all there, `()`, and all such
items are one logical partition.

The laws: the number of values is the number of paths, or fewer for a prefix of a hierarchical key; what a header says
and what the item says must be the same values; every value is at most 2,048 bytes, and that is checked where it is
hashed, so nobody can forget it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from armillary.errors import Kind, Refusal
from armillary.keys.effective import hash_levels, hash_v1, hash_v2, size_v1
from armillary.keys.path import KeyPath, parse_path
from armillary.keys.ranges import EpkRange, prefix_range
from armillary.values import UNDEFINED, KeyValue, value_at

VALUE_BYTES: Final = 2048
MOST_LEVELS: Final = 3
WRONG_KEY: Final = (
    "Partition key provided either doesn't correspond to definition in the collection or doesn't match partition key "
    "field values specified in the document."
)
_WHAT: Final = "partition key definition"
_HASH_BYTES: Final = 16
# The longest text that is surely within the limit: a character has at most 4 bytes.
_SURELY_SHORT: Final = VALUE_BYTES // 4


class KeyKind(Enum):
    """How the values of the paths are hashed."""

    HASH = "Hash"
    MULTI_HASH = "MultiHash"
    RANGE = "Range"


@dataclass(frozen=True, slots=True)
class KeyDefinition:
    """The partition key of one container."""

    paths: tuple[KeyPath, ...]
    kind: KeyKind = KeyKind.HASH
    version: int = 2
    system_key: bool = False
    _hash: Callable[[Sequence[KeyValue]], bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        plain = hash_v1 if self.version == 1 else hash_v2
        object.__setattr__(self, "_hash", hash_levels if self.kind is KeyKind.MULTI_HASH else plain)

    def values_of(self, item: Mapping[str, object]) -> tuple[KeyValue, ...]:
        """The key of an item: one value for each path."""
        values = tuple([value_at(item, path.names) for path in self.paths])
        return () if self.system_key and values[0] is UNDEFINED else values

    def epk(self, values: Sequence[KeyValue]) -> bytes:
        """The effective key of values, or of a prefix of them when the key is hierarchical."""
        for value in values:
            if isinstance(value, str) and len(value) > _SURELY_SHORT:
                _check_size(value)
        return self._hash(values)

    def epk_size(self, code: bytes) -> int:
        """How many bytes of a longer code are the effective key of a whole key that it begins with."""
        return size_v1(code) if self.version == 1 else _HASH_BYTES * len(self.paths)

    def is_complete(self, values: Sequence[KeyValue]) -> bool:
        """Whether the values are a whole key, and not a prefix of one."""
        return len(values) == len(self.paths) or (self.system_key and not values)

    def check_values(self, values: tuple[KeyValue, ...], *, whole: bool = True) -> tuple[KeyValue, ...]:
        """The values as a key of this container: whole, or a prefix of a hierarchical one where that is allowed."""
        if self.system_key and values == (UNDEFINED,):
            return ()
        if self.is_complete(values):
            return values
        if whole or self.kind is not KeyKind.MULTI_HASH or not 0 < len(values) < len(self.paths):
            raise Refusal(Kind.BAD_KEY, reason=WRONG_KEY)
        return values

    def range_of(self, prefix: Sequence[KeyValue]) -> EpkRange:
        """The effective keys of all keys that begin with these values."""
        return prefix_range(self.epk(prefix))

    def to_json(self) -> dict[str, object]:
        """The definition as clients see it."""
        text: dict[str, object] = {"paths": [path.text for path in self.paths], "kind": self.kind.value}
        return text | ({"systemKey": True} if self.system_key else {"version": self.version})


def read_definition(text: object) -> KeyDefinition:
    """A definition from its JSON form; what is none is refused.

    >>> read_definition({"paths": ["/a"]}).version
    1
    """
    if not isinstance(text, Mapping):
        raise _bad("it must be an object")
    kind = _read_kind(text.get("kind", "Hash"))
    paths = _read_paths(text.get("paths"), MOST_LEVELS if kind is KeyKind.MULTI_HASH else 1)
    version = text.get("version", 2 if kind is KeyKind.MULTI_HASH else 1)
    if version not in (1, 2) or isinstance(version, bool):
        raise _bad(f"the version must be 1 or 2, not {version!r}")
    if kind is KeyKind.MULTI_HASH and version != 2:
        raise _bad("a MultiHash key has version 2")
    return KeyDefinition(paths, kind, int(version), text.get("systemKey") is True)


def define_key(*paths: str) -> KeyDefinition:
    """A key of the present kind over these paths: hierarchical when there are several.

    >>> define_key("/tenant").epk(("redmond",)).hex()
    '22e342f38a486a088463dff7838a5963'
    """
    kind = KeyKind.MULTI_HASH if len(paths) > 1 else KeyKind.HASH
    return KeyDefinition(_read_paths(paths, MOST_LEVELS), kind)


def _read_kind(kind: object) -> KeyKind:
    for known in KeyKind:
        if kind == known.value:
            return known
    raise _bad(f"the kind {kind!r} is not known")


def _read_paths(texts: object, most: int) -> tuple[KeyPath, ...]:
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(text, str) for text in texts):
        raise _bad("the paths must be a list of texts, one at least")
    if len(texts) > most:
        raise _bad(f"Too many partition key paths: {len(texts)} for at most {most}")
    paths = tuple(parse_path(text) for text in texts)
    if len({path.names for path in paths}) < len(paths):
        raise _bad("a path stands in it twice")
    return paths


def _check_size(value: str) -> None:
    size = len(value.encode())
    if size > VALUE_BYTES:
        raise Refusal(
            Kind.BAD_KEY, reason=f"A partition key value of {size} bytes is longer than the limit of {VALUE_BYTES}"
        )


def _bad(reason: str) -> Refusal:
    return Refusal(Kind.BAD_DEFINITION, what=_WHAT, reason=reason)


SYSTEM_KEY: Final = KeyDefinition((parse_path("/_partitionKey"),), KeyKind.HASH, 1, system_key=True)
