"""Functions on strings. Lengths and places count UTF-16 units."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.naive.values import UNDEFINED, QueryError, Value, give, kind, show_number, take

LONGEST: Final = 10_000
FLAGS: Final = {"m": re.MULTILINE, "s": re.DOTALL, "i": re.IGNORECASE, "x": re.VERBOSE}


def split_units(text: str) -> str:
    """The text with one letter for each UTF-16 unit."""
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(int.from_bytes(data[place : place + 2], "little")) for place in range(0, len(data), 2))


def join_units(units: str) -> str:
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def by_units(body: Callable[..., Value]) -> Callable[..., Value]:
    """A function of texts made of units."""

    def run(*arguments: Value) -> Value:
        result = body(*(split_units(value) if isinstance(value, str) else value for value in arguments))
        return join_units(result) if isinstance(result, str) else result

    return run


def fold(body: Callable[[str, str], bool]) -> Callable[..., bool]:
    """A test of two texts with a switch for the case."""

    def run(text: str, part: str, blind: bool = False) -> bool:
        return body(lower(text), lower(part)) if blind else body(text, part)

    return run


def lower(text: str) -> str:
    return change_letters(text, str.lower)


def upper(text: str) -> str:
    return change_letters(text, str.upper)


def change_letters(text: str, change: Callable[[str], str]) -> str:
    """Letter by letter: one that would become two stays as it is."""
    return "".join(changed if len(changed := change(letter)) == 1 else letter for letter in text)


def contains_some(every: bool, blind: bool) -> Callable[..., bool]:
    def run(text: str, *parts: str) -> bool:
        found = [fold(lambda whole, part: part in whole)(text, part, blind) for part in parts]
        return all(found) if every else any(found)

    return run


def index_of(text: str, part: str, start: int = 0) -> Value:
    return float(text.find(part, start)) if start >= 0 else UNDEFINED


def left(text: str, size: int) -> str:
    return text[: max(size, 0)]


def right(text: str, size: int) -> str:
    return text[max(len(text) - size, 0) :] if size > 0 else ""


def substring(text: str, start: int, size: int) -> str:
    return text[max(start, 0) :][: max(size, 0)]


def replace(text: str, part: str, other: str) -> str:
    return text.replace(part, other) if part else text


def replicate(text: str, times: int) -> Value:
    if times < 0 or len(text) * times > LONGEST:
        return UNDEFINED
    return text * times if text else text


def match_expression(text: str, pattern: str, letters: str = "") -> Value:
    if any(letter not in FLAGS for letter in letters):
        return UNDEFINED
    try:
        return re.search(pattern, text, sum(FLAGS[letter] for letter in set(letters))) is not None
    except re.error as error:
        raise QueryError("pattern", str(error)) from error


def join(values: list[Value], separator: str) -> Value:
    return separator.join(values) if all(kind(value) == "string" for value in values) else UNDEFINED


def split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else [text]


def read_json(wanted: str) -> Callable[[str], Value]:
    """The reader of one kind of value from strict JSON."""

    def refuse(word: str) -> Any:
        raise ValueError(word)

    def run(text: str) -> Value:
        try:
            value = json.loads(text, parse_constant=refuse)
        except ValueError:
            return UNDEFINED
        if kind(value) != wanted or value == float("inf") or value == float("-inf"):
            return UNDEFINED
        return take(value)

    return run


def show(value: Value) -> str:
    """ToString: texts as they are, the rest as JSON without blanks."""
    match kind(value):
        case "string":
            return str(value)
        case "number":
            return show_number(value)
    return json.dumps(give(value), ensure_ascii=False, separators=(",", ":"))


TABLE: Final[Mapping[str, tuple[str, Callable[..., Value]]]] = {
    "CONCAT": ("s s+", lambda *texts: "".join(texts)),
    "CONTAINS": ("s s b?", fold(lambda text, part: part in text)),
    "CONTAINS_ALL_CI": ("s s+", contains_some(every=True, blind=True)),
    "CONTAINS_ALL_CS": ("s s+", contains_some(every=True, blind=False)),
    "CONTAINS_ANY_CI": ("s s+", contains_some(every=False, blind=True)),
    "CONTAINS_ANY_CS": ("s s+", contains_some(every=False, blind=False)),
    "ENDSWITH": ("s s b?", fold(str.endswith)),
    "INDEX_OF": ("s s i?", by_units(index_of)),
    "LASTINDEXOF": ("s s", by_units(lambda text, part: float(text.rfind(part)))),
    "LEFT": ("s i", by_units(left)),
    "LENGTH": ("s", by_units(lambda text: float(len(text)))),
    "LOWER": ("s", lower),
    "LTRIM": ("s s?", str.lstrip),
    "REGEXMATCH": ("s s s?", match_expression),
    "REPLACE": ("s s s", replace),
    "REPLICATE": ("s i", by_units(replicate)),
    "REVERSE": ("s", lambda text: text[::-1]),
    "RIGHT": ("s i", by_units(right)),
    "RTRIM": ("s s?", str.rstrip),
    "STARTSWITH": ("s s b?", fold(str.startswith)),
    "STRINGEQUALS": ("s s b?", fold(str.__eq__)),
    "STRINGJOIN": ("a s", join),
    "STRINGSPLIT": ("s s", split),
    "STRINGTOARRAY": ("s", read_json("array")),
    "STRINGTOBOOLEAN": ("s", read_json("boolean")),
    "STRINGTONULL": ("s", read_json("null")),
    "STRINGTONUMBER": ("s", read_json("number")),
    "STRINGTOOBJECT": ("s", read_json("object")),
    "SUBSTRING": ("s i i", by_units(substring)),
    "TOSTRING": ("v", show),
    "TRIM": ("s s?", str.strip),
    "UPPER": ("s", upper),
}
