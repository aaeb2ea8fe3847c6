"""All built-in functions in one table, and those on types.

The first word of a row says what the function takes: `s` string, `n` number, `i` whole number, `b` boolean, `a` array,
`o` object, `v` anything defined, `*` anything; `?` makes an argument optional, `+` says one or more. An argument of
the wrong type makes the result undefined; a wrong count is an error before anything runs.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tests.naive import array_functions, date_functions, number_functions, text_functions
from tests.naive.values import UNDEFINED, Value, kind

MANY: Final = 1000
LETTERS: Final = {"s": "string", "n": "number", "i": "number", "b": "boolean", "a": "array", "o": "object"}
INT64: Final = 2**63


class Function(NamedTuple):
    """A function: how many arguments it takes, and how it runs on them."""

    low: int
    high: int
    run: Callable[[list[Value]], Value]


def make_function(form: str, body: Callable[..., Value]) -> Function:
    """The function that runs `body` on arguments of this form."""
    words = form.split()
    needed = [word for word in words if not word.endswith("?")]
    high = MANY if form.endswith("+") else len(words)

    def run(arguments: list[Value]) -> Value:
        letters = [word[0] for word in words] + [words[-1][0] for _ in arguments[len(words) :]]
        taken = [admit(letter, value) for letter, value in zip(letters, arguments, strict=False)]
        if any(value is REFUSED for value in taken):
            return UNDEFINED
        return body(*taken)

    return Function(len(needed), high, run)


REFUSED: Final = object()


def admit(letter: str, value: Value) -> Any:
    """The value as the body takes it (whole numbers as ints), or REFUSED."""
    if letter == "*":
        return value
    if letter == "v":
        return REFUSED if value is UNDEFINED else value
    if kind(value) != LETTERS[letter]:
        return REFUSED
    if letter == "i":
        return int(value) if value.is_integer() else REFUSED
    return value


def is_kind(*kinds: str) -> Callable[[Value], bool]:
    return lambda value: kind(value) in kinds


def is_integer(value: Value) -> bool:
    return kind(value) == "number" and value.is_integer() and -INT64 <= value < INT64


def is_datetime(value: Value) -> bool:
    return kind(value) == "string" and date_functions.read(value) is not None


def choose(test: Value, then: Value, other: Value) -> Value:
    """IIF: everything but true takes the third."""
    return then if test is True else other


TYPES: Final[Mapping[str, tuple[str, Callable[..., Value]]]] = {
    "IIF": ("* * *", choose),
    "IS_ARRAY": ("*", is_kind("array")),
    "IS_BOOL": ("*", is_kind("boolean")),
    "IS_DATETIME": ("*", is_datetime),
    "IS_DEFINED": ("*", lambda value: value is not UNDEFINED),
    "IS_FINITE_NUMBER": ("*", is_kind("number")),
    "IS_INTEGER": ("*", is_integer),
    "IS_NULL": ("*", is_kind("null")),
    "IS_NUMBER": ("*", is_kind("number")),
    "IS_OBJECT": ("*", is_kind("object")),
    "IS_PRIMITIVE": ("*", is_kind("null", "boolean", "number", "string")),
    "IS_STRING": ("*", is_kind("string")),
}

FUNCTIONS: Final[dict[str, Function]] = {
    name: make_function(form, body)
    for table in (TYPES, array_functions.TABLE, date_functions.TABLE, number_functions.TABLE, text_functions.TABLE)
    for name, (form, body) in table.items()
}
