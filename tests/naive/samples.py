"""Random items, and what they look like: which paths of an item are numbers, texts, arrays.

Every value comes from a small pool, so that equal ones meet often. Any property may be missing; `x` may be of any
type, `mix` mostly is a number; the others have one type, so that functions of that type mostly give something.
"""

import random
from collections.abc import Sequence
from typing import Any, Final

from tests.naive.values import Value

WORDS: Final = (
    "",
    "a",
    "b",
    "ab",
    "abc",
    "Abc",
    "ABC",
    "b c",
    " a ",
    "a%b",
    "a_b",
    "x[1]",
    'say "a"',
    "it's",
    "b\\c",
    "10",
)
GLYPHS: Final = (
    "",
    "é",
    "e\u0301",
    "ß",
    "Ωmega",
    "日本",
    "😀",
    "😀a",
    "\uffee",
    "\ue000",
    "a\u0000b",
    "\t",
    "\u2028",
    "İ",
)
SMALL: Final = (-3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 10)
QUARTERS: Final = (-2.5, -1.25, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 3.75)
UNUSUAL: Final = (
    -0.0, 0, 1, 0.1, 0.30000000000000004, 1 / 3, 5e-324, 1e-7, 1e15, 2**53, 2**53 + 2, 1e21, 1.7976931348623157e308,
    -1.7976931348623157e308, -1, 255, 256,
)  # fmt: skip
DATES: Final = (
    "1969-12-31T23:59:59.9990000Z", "1970-01-01T00:00:00.0000000Z", "2000-02-29T12:00:00.0000000Z",
    "2020-01-31T00:00:00.0000000Z", "2020-12-31T23:59:59.9990000Z", "2021-07-03T23:30:00.1234567Z",
)  # fmt: skip

# What stands where: for every shape, the paths of each sort of value. A path without steps is the value itself.
Path = tuple[str, ...]
SHAPES: Final[dict[str, dict[str, Sequence[Path]]]] = {
    "item": {
        "number": (("n",), ("q",), ("o", "a")),
        "whole": (("n",), ("o", "a")),
        "quarter": (("q",),),
        "unusual": (("big",),),
        "text": (("s",), ("o", "b", "c"), ("odd key",)),
        "glyph": (("g",),),
        "truth": (("b",), ("order",)),
        "date": (("when",),),
        "numbers": (("nums",),),
        "texts": (("tags",),),
        "kids": (("kids",),),
        "object": (("o",), ("o", "b")),
        "mixed": (("mix",),),
        "any": (("x",), ("mix",), ("o", "b", "d"), ("missing",)),
    },
    "kid": {
        "number": (("age",),),
        "whole": (("age",),),
        "text": (("name",),),
        "texts": (("toys",),),
        "any": (("x",),),
    },
    "number": {"number": ((),), "whole": ((),)},
    "text": {"text": ((),)},
}


def make_items(seed: int, count: int) -> list[dict[str, Value]]:
    """Items with ids of their own, over a few partition keys."""
    generator = random.Random(seed)
    return [make_item(generator, number) for number in range(count)]


def make_item(generator: random.Random, number: int) -> dict[str, Value]:
    pick = generator.choice
    item: dict[str, Value] = {
        "n": pick(SMALL), "q": pick(QUARTERS), "s": pick(WORDS), "odd key": pick(WORDS), "g": pick(GLYPHS),
        "b": pick((True, False)), "order": pick((True, False)), "big": pick(UNUSUAL), "when": pick(DATES),
        "nums": make_list(generator, SMALL), "tags": make_list(generator, WORDS),
        "kids": [make_kid(generator) for _ in range(generator.randrange(4))],
        "o": drop(generator, {"a": pick(SMALL), "b": {"c": pick(WORDS), "d": make_any(generator)}}),
        "x": make_any(generator),
        "mix": pick(SMALL) if generator.random() < 0.9 else pick((None, True, "a", [1], {"a": 1})),
    }  # fmt: skip
    item = drop(generator, item)
    names = list(item)
    if generator.random() < 0.3:
        generator.shuffle(names)
    return {"id": f"i{number}", "pk": f"p{generator.randrange(4)}"} | {name: item[name] for name in names}


def make_kid(generator: random.Random) -> dict[str, Value]:
    kid = {
        "name": generator.choice(WORDS), "age": generator.choice(SMALL), "toys": make_list(generator, WORDS),
        "x": make_any(generator),
    }  # fmt: skip
    return drop(generator, kid)


def drop(generator: random.Random, value: dict[str, Value]) -> dict[str, Value]:
    """The object without some of its properties."""
    return {name: held for name, held in value.items() if generator.random() < 0.9}


def make_list(generator: random.Random, pool: Sequence[Value]) -> list[Value]:
    return [generator.choice(pool) for _ in range(generator.choice((0, 1, 2, 2, 3, 5)))]


def make_any(generator: random.Random, depth: int = 2) -> Value:
    """A value of any type."""
    makers: list[Any] = [
        lambda: None,
        lambda: generator.choice((True, False)),
        lambda: generator.choice(SMALL),
        lambda: generator.choice(UNUSUAL),
        lambda: generator.choice(WORDS),
        lambda: generator.choice(GLYPHS),
        lambda: [make_any(generator, depth - 1) for _ in range(generator.randrange(3))],
        lambda: {name: make_any(generator, depth - 1) for name in ("a", "b") if generator.random() < 0.6},
    ]
    return generator.choice(makers if depth else makers[:6])()
