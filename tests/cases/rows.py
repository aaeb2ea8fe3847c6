"""Tables of expressions and their values as text, for every suite that can run them.

    # a comment
    LEFT("abc", 2)      => "ab"
    LEFT("abc", "2")    => undefined

A row is an expression of the query language, as it stands after `SELECT VALUE`, and its value as JSON or `undefined`.
"""

from pathlib import Path
from typing import Final, NamedTuple

import orjson

FOLDER: Final = Path(__file__).parent
UNDEFINED: Final = "undefined"


class Row(NamedTuple):
    """One expression, where it stands, and its value: as JSON without white space, or `undefined`."""

    place: str
    expression: str
    value: str


def load_rows(folder: str) -> list[Row]:
    """The rows of all tables in a folder, `functions` for `functions/*.case`."""
    return [row for path in sorted((FOLDER / folder).glob("*.case")) for row in _read(path)]


def _read(path: Path) -> list[Row]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            expression, mark, value = line.rpartition(" => ")
            assert mark, f"{path.name}:{number} is no row"
            rows.append(Row(f"{path.stem}:{number}", expression.strip(), _normalize(value.strip())))
    return rows


def _normalize(value: str) -> str:
    return value if value == UNDEFINED else orjson.dumps(orjson.loads(value)).decode()
