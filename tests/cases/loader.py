"""Golden cases as text, for every suite that wants them.

    # a comment, before a case or at the top of a file
    the input, one line or more
    ----
    the output

Cases are parted by empty lines. In JSON cases `‹ef bb bf›` stands for bytes that text cannot show, and `‹[ x 129›` for
a text that is repeated; the output is the normal form or the word `refused`.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).parent
REFUSED: Final = "refused"

_MARK: Final = re.compile(r"‹(?:((?:[0-9a-f]{2} ?)+)|(.+?) x (\d+))›")


class Case(NamedTuple):
    """One case and where it stands."""

    place: str
    input: str
    output: str


class JsonBody(NamedTuple):
    """A request body and its normal form, or None where it is refused."""

    place: str
    body: bytes
    normal: bytes | None


def load_cases(name: str) -> list[Case]:
    """The cases of one file, `json/values` for `json/values.case`."""
    text = (FOLDER / f"{name}.case").read_text(encoding="utf-8")
    cases, line = [], 1
    for block in text.split("\n\n"):
        lines = [kept for kept in block.split("\n") if kept and not kept.startswith("# ")]
        if lines:
            middle = lines.index("----")
            cases.append(Case(f"{name}:{line}", "\n".join(lines[:middle]), "\n".join(lines[middle + 1 :])))
        line += block.count("\n") + 2
    return cases


def load_json_bodies() -> list[JsonBody]:
    """All JSON cases as bodies of items: whole ones, and values put into `{"id":"i","v":...}`."""
    whole = [
        JsonBody(case.place, expand(case.input), None if case.output == REFUSED else expand(case.output))
        for case in load_cases("json/bodies")
    ]
    values = [
        JsonBody(case.place, _as_body(case.input), None if case.output == REFUSED else _as_body(case.output))
        for case in load_cases("json/values")
    ]
    return whole + values


def expand(text: str) -> bytes:
    """The bytes that a text with marks stands for."""
    parts, at = [], 0
    for mark in _MARK.finditer(text):
        parts.append(text[at : mark.start()].encode())
        parts.append(bytes.fromhex(mark[1]) if mark[1] else mark[2].encode() * int(mark[3]))
        at = mark.end()
    return b"".join(parts) + text[at:].encode()


def _as_body(value: str) -> bytes:
    return b'{"id":"i","v":' + expand(value) + b"}"
