"""Synthetic keys as data: the JSON by which a strategy goes to other processes and languages, read and refused.

    source    = "/path" | part
    part      = {"strategy": "concat", "parts": [source, ...], "mode", "delimiter", "types", "missing", "mark"}
              | {"strategy": "rollup", "path": "/at", "unit": "hour" | "day" | "month"}
              | {"strategy": "randomSuffix", "base": source, "count": 8, "earlier": [4, 2], "delimiter": "."}
              | {"strategy": "hashSuffix", "base": source, "by": "/vin", "count": 8, ...}
              | {"strategy": "balancedSuffix", the same}

What a part does not say has its default; a name that it does not know is refused, so that a key made by a newer version
is never made differently by an older one. The parts themselves check what they are given.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from armillary.keys.parts import Concat, Part, Plain, Rollup, Suffix
from armillary.keys.path import KeyPath, parse_path
from armillary.keys.texts import Rules, refuse_definition

MOST_NESTED: Final = 8

_UNIFIED: Final = Rules()

Fields: TypeAlias = Mapping[str, Any]


def read_part(text: object, rules: Rules = _UNIFIED, depth: int = 0) -> Part:
    """A part from its data; `rules` are those of the part around it, which a path alone follows."""
    if isinstance(text, str):
        return Plain(read_path(text), rules)
    if depth == MOST_NESTED:
        raise refuse_definition(f"parts are nested at most {MOST_NESTED} deep")
    if not isinstance(text, Mapping):
        raise refuse_definition("a source must be a path or an object")
    strategy = text.get("strategy")
    if not isinstance(strategy, str) or strategy not in _READERS:
        raise refuse_definition(f"the strategy is none of {', '.join(_READERS)}")
    needed, more, read = _READERS[strategy]
    fields = {name: value for name, value in text.items() if name != "strategy"}
    if not set(needed) <= set(fields) <= {*needed, *more}:
        rest = ", ".join(more) or "nothing more"
        raise refuse_definition(f"{strategy} needs {', '.join(needed)} and may have {rest}")
    return read(fields, depth + 1)


def read_path(text: object) -> KeyPath:
    """A path from its text."""
    return parse_path(text if isinstance(text, str) else "", "synthetic key")


def pick_delimiter(mode: object) -> str:
    """The delimiter of a mode where none was chosen."""
    return "|" if mode == "length" else "-"


def _read_concat(fields: Fields, depth: int) -> Part:
    rules = Rules(**{name: fields[name] for name in Rules._fields if name in fields})
    mode = fields.get("mode", "readable")
    delimiter = fields["delimiter"] if "delimiter" in fields else pick_delimiter(mode)
    parts = tuple(read_part(part, rules, depth) for part in _read_list(fields["parts"]))
    return Concat(parts, mode, delimiter, rules)


def _read_rollup(fields: Fields, _depth: int) -> Part:
    return Rollup(read_path(fields["path"]), fields["unit"])


def _read_suffix(fields: Fields, depth: int, balanced: bool = False) -> Part:
    by = Plain(read_path(fields["by"])) if "by" in fields else None
    earlier, delimiter = tuple(_read_list(fields.get("earlier", []))), fields.get("delimiter", ".")
    return Suffix(read_part(fields["base"], depth=depth), by, fields["count"], balanced, earlier, delimiter)


def _read_balanced(fields: Fields, depth: int) -> Part:
    return _read_suffix(fields, depth, balanced=True)


def _read_list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise refuse_definition("parts and earlier counts are lists")
    return value


_Reader: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], Callable[[Fields, int], Part]]

_READERS: Final[Mapping[str, _Reader]] = {
    "concat": (("parts",), ("mode", "delimiter", *Rules._fields), _read_concat),
    "rollup": (("path", "unit"), (), _read_rollup),
    "randomSuffix": (("base", "count"), ("earlier", "delimiter"), _read_suffix),
    "hashSuffix": (("base", "by", "count"), ("earlier", "delimiter"), _read_suffix),
    "balancedSuffix": (("base", "by", "count"), ("earlier", "delimiter"), _read_balanced),
}
