"""The parts that synthetic keys are made of; each writes one text from sources and lists all that it may have written.

    Plain(/vin)                   the value at a path
    Rollup(/at, day)              the hour, day or month of a moment
    Concat(parts)                 parts joined so that they can be told apart again
    Suffix(base, by, count)       base.n, where n is random, hashed from a source, or balanced

A suffix spreads one base over `count` values. Hashed: n = 1 + (the last 48 bits of the V2 hash of the source's text
modulo count). Balanced: the space of effective keys is cut into `count` even slices, and the n of a slice is the
smallest n >= 0 for which the effective key of `base.n` lies in it; so each suffix falls on its own slice, and on its
own partition while there are at most `count` of them.

The laws: what can be written now or could be written under an `earlier` count is among what is read. A count belongs to
the data: it grows by keeping the earlier ones, and never changes in place. A balanced suffix is the end of the whole
value: text before its base or behind it would move the slices. A part that breaks a rule cannot be made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from itertools import product
from math import prod
from typing import Final, Protocol, TypeAlias

from armillary.keys.effective import hash_v2
from armillary.keys.moments import UNITS, Unit, roll_up
from armillary.keys.path import KeyPath
from armillary.keys.sizing import MOST_SUFFIXES
from armillary.keys.texts import (
    Mode,
    Rules,
    check_delimiter,
    check_rules,
    join_texts,
    refuse,
    refuse_definition,
    refuse_delimiter,
    spell_value,
)
from armillary.values import KeyValue


class Unsaid(Enum):
    """What a reader does not know; not the same as a value that is missing."""

    UNSAID = "unsaid"


UNSAID: Final = Unsaid.UNSAID

Find: TypeAlias = Callable[[KeyPath], KeyValue | Unsaid]
Choose: TypeAlias = Callable[[int], int]

_SPACE_BITS: Final = 126
_PICK_BYTES: Final = 6
_KEPT_BASES: Final = 4096


class Part(Protocol):
    """What every part can do. `sources` are all its paths, `needed` those without which nothing can be read."""

    @property
    def sources(self) -> tuple[KeyPath, ...]: ...

    @property
    def needed(self) -> tuple[KeyPath, ...]: ...

    @property
    def fixed(self) -> bool:
        """Whether its texts all have one width."""

    @property
    def spread(self) -> int:
        """How many texts it reads at most."""

    def write(self, find: Find, choose: Choose, /) -> str | None:
        """The text for one item; None when it is left out."""

    def read(self, find: Find) -> list[str | None]:
        """Every text that an item with these sources may have, the one for new items first."""

    def to_json(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Plain:
    """The value at a path."""

    path: KeyPath
    rules: Rules = field(default=Rules())
    fixed: bool = field(default=False, init=False)
    spread: int = field(default=1, init=False)

    @property
    def sources(self) -> tuple[KeyPath, ...]:
        return (self.path,)

    @property
    def needed(self) -> tuple[KeyPath, ...]:
        return (self.path,)

    def write(self, find: Find, _choose: Choose, /) -> str | None:
        return spell_value(find_said(find, self.path), self.rules, self.path.text)

    def read(self, find: Find) -> list[str | None]:
        return [spell_value(find_said(find, self.path), self.rules, self.path.text)]

    def to_json(self) -> object:
        return self.path.text


@dataclass(frozen=True, slots=True)
class Rollup:
    """The hour, day or month of the moment at a path."""

    path: KeyPath
    unit: Unit
    fixed: bool = field(default=True, init=False)
    spread: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise refuse_definition(f"{self.unit!r} is none of {', '.join(UNITS)}")

    @property
    def sources(self) -> tuple[KeyPath, ...]:
        return (self.path,)

    @property
    def needed(self) -> tuple[KeyPath, ...]:
        return (self.path,)

    def write(self, find: Find, _choose: Choose, /) -> str | None:
        return roll_up(find_said(find, self.path), self.unit, self.path.text)

    def read(self, find: Find) -> list[str | None]:
        return [roll_up(find_said(find, self.path), self.unit, self.path.text)]

    def to_json(self) -> object:
        return {"strategy": "rollup", "path": self.path.text, "unit": self.unit}


@dataclass(frozen=True, slots=True)
class Concat:
    """Parts joined under one set of rules."""

    parts: tuple[Part, ...]
    mode: Mode = "readable"
    delimiter: str = "-"
    rules: Rules = field(default=Rules())
    fixed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        check_rules(self.rules, self.mode, self.delimiter)
        if not self.parts:
            raise refuse_definition("there is nothing to join")
        for part in self.parts:
            _check_inner(part)

    @property
    def sources(self) -> tuple[KeyPath, ...]:
        return tuple(path for part in self.parts for path in part.sources)

    @property
    def needed(self) -> tuple[KeyPath, ...]:
        return tuple(path for part in self.parts for path in part.needed)

    @property
    def spread(self) -> int:
        return prod(part.spread for part in self.parts)

    def write(self, find: Find, choose: Choose, /) -> str | None:
        return self._join([part.write(find, choose) for part in self.parts])

    def read(self, find: Find) -> list[str | None]:
        return [self._join(texts) for texts in product(*[part.read(find) for part in self.parts])]

    def to_json(self) -> object:
        text: dict[str, object] = {"strategy": "concat", "parts": [part.to_json() for part in self.parts]}
        text |= {"mode": self.mode, "delimiter": self.delimiter, "types": self.rules.types}
        return text | (
            {"missing": self.rules.missing} | ({"mark": self.rules.mark} if self.rules.missing == "mark" else {})
        )

    def _join(self, texts: Sequence[str | None]) -> str:
        kept = [text for text in texts if text is not None]
        if not kept:
            raise refuse("every source is missing")
        if None in texts[: len(kept)]:
            raise refuse("a source is missing before one that is not: only sources at the end can be dropped")
        if self.rules.missing == "drop" and self.mode == "readable":
            # With parts left out, the first can no longer be told from the others by where it stands.
            for text in kept:
                if self.delimiter in text:
                    raise refuse_delimiter(text, self.delimiter)
        return join_texts(kept, [part.fixed for part in self.parts[: len(kept)]], self.mode, self.delimiter)


@dataclass(frozen=True, slots=True)
class Suffix:
    """A base and a number; `by` is the source of the number, None when it is random."""

    base: Part
    by: Plain | None
    count: int
    balanced: bool = False
    earlier: tuple[int, ...] = ()
    delimiter: str = "."
    fixed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        check_delimiter(self.delimiter, "0123456789")
        for number in (self.count, *self.earlier):
            if type(number) is not int or not 1 < number <= MOST_SUFFIXES:
                raise refuse_definition(
                    f"a count of suffixes is a whole number from 2 to {MOST_SUFFIXES}, not {number!r}"
                )
        if list(self.earlier) != sorted({number for number in self.earlier if number < self.count}, reverse=True):
            raise refuse_definition("earlier counts are smaller, the latest first")
        _check_inner(self.base)

    @property
    def sources(self) -> tuple[KeyPath, ...]:
        return self.base.sources + (self.by.sources if self.by else ())

    @property
    def needed(self) -> tuple[KeyPath, ...]:
        return self.base.needed

    @property
    def spread(self) -> int:
        return self.base.spread * sum((self.count, *self.earlier))

    def write(self, find: Find, choose: Choose, /) -> str | None:
        base = self.base.write(find, choose) or ""
        slot = pick_slot(self.by.write(find, choose) or "", self.count) if self.by else choose(self.count)
        return self._join(base, self._number(base, slot, self.count))

    def read(self, find: Find) -> list[str | None]:
        texts: dict[str, None] = {}
        for base in self.base.read(find):
            for count in (self.count, *self.earlier):
                texts |= dict.fromkeys(self._read_epoch(base or "", count, find))
        return list(texts)

    def to_json(self) -> object:
        kind = "balancedSuffix" if self.balanced else "hashSuffix" if self.by else "randomSuffix"
        text: dict[str, object] = {"strategy": kind, "base": self.base.to_json(), "count": self.count}
        text |= {"by": self.by.to_json()} if self.by else {}
        text |= {"earlier": list(self.earlier)} if self.earlier else {}
        return text | {"delimiter": self.delimiter}

    def _read_epoch(self, base: str, count: int, find: Find) -> list[str]:
        slots: Sequence[int] = range(count)
        if self.by and find(self.by.path) is not UNSAID:
            slots = [pick_slot(text or "", count) for text in self.by.read(find)]
        return [self._join(base, self._number(base, slot, count)) for slot in slots]

    def _number(self, base: str, slot: int, count: int) -> int:
        return balance_numbers(base + self.delimiter, count)[slot] if self.balanced else slot + 1

    def _join(self, base: str, number: int) -> str:
        return f"{base}{self.delimiter}{number}"


def grow_part(part: Part, count: int) -> Part:
    """The same part with more suffixes, wherever it has any."""
    if isinstance(part, Concat):
        return replace(part, parts=tuple(grow_part(inner, count) for inner in part.parts))
    if not isinstance(part, Suffix):
        return part
    if count <= part.count:
        raise refuse_definition(f"{count} suffixes are not more than {part.count}")
    return replace(part, count=count, earlier=(part.count, *part.earlier))


def find_said(find: Find, path: KeyPath) -> KeyValue:
    """The value of a source that must be known."""
    value = find(path)
    if value is UNSAID:
        raise refuse(f"the value of {name_source(path)!r} is needed")
    return value


def name_source(path: KeyPath) -> str:
    """How a source is called where it is given by name: `/address/zip` is `address_zip`."""
    return "_".join(path.names)


def pick_slot(text: str, count: int) -> int:
    """Which of `count` slots a text falls into: evenly, and the same in every process and language.

    >>> pick_slot("1HGCM82633A004352", 400)
    355
    """
    return int.from_bytes(hash_v2((text,))[-_PICK_BYTES:], "big") % count


def _check_inner(part: Part) -> None:
    if isinstance(part, Suffix) and part.balanced:
        raise refuse_definition("a balanced suffix comes last: join the others first, and give them to it as its base")


@lru_cache(_KEPT_BASES)
def balance_numbers(head: str, count: int) -> tuple[int, ...]:
    """For each slice of the space of effective keys the smallest number that, after `head`, falls into it."""
    numbers: dict[int, int] = {}
    number = 0
    while len(numbers) < count:
        place = int.from_bytes(hash_v2((f"{head}{number}",)), "big") * count >> _SPACE_BITS
        numbers.setdefault(place, number)
        number += 1
    return tuple(numbers[place] for place in range(count))
