"""Functions from strings to values and back: strict JSON one way, JavaScript's spelling of numbers the other."""

from collections.abc import Callable
from typing import Final

from armillary.errors import Refusal
from armillary.json import dump, parse
from armillary.query.functions.function import Function
from armillary.query.numbers import NUMBERS, narrow, spell
from armillary.values import UNDEFINED


def write_value(value: object) -> object:
    """ToString: a string is itself, the rest is JSON without white space; undefined stays undefined."""
    return value if isinstance(value, str) or value is UNDEFINED else _write_json(value)


def _write_json(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quote(name)}:{_write_json(child)}" for name, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write_json, value)) + "]"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return spell(value)
    return _quote(value)


def _quote(value: object) -> str:
    return dump(value).decode()


def _reader(kinds: frozenset[type]) -> Callable[[object], object]:
    """The value of one of these types that a text of JSON stands for; white space around it is allowed."""

    def call(text: object) -> object:
        if not isinstance(text, str):
            return UNDEFINED
        try:
            value = parse(text.encode(errors="surrogatepass"))
        except Refusal:
            return UNDEFINED
        return value if type(value) in kinds else UNDEFINED

    return call


_read_number = _reader(NUMBERS)


def read_number(text: object) -> object:
    """StringToNumber."""
    number = _read_number(text)
    return narrow(number) if isinstance(number, int | float) else number


CONVERSION: Final = (
    Function("StringToArray", 1, 1, _reader(frozenset((list,)))),
    Function("StringToBoolean", 1, 1, _reader(frozenset((bool,)))),
    Function("StringToNull", 1, 1, _reader(frozenset((type(None),)))),
    Function("StringToNumber", 1, 1, read_number),
    Function("StringToObject", 1, 1, _reader(frozenset((dict,)))),
    Function("ToString", 1, 1, write_value),
)
