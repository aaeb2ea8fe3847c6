"""Random queries over the items of `samples`, for holding the product against the naive evaluator.

The same seed and size give the same question. What has no single right answer says so: rows are compared in order only
when `ordered`, and `like` tells how exact values must be; ties and windows are in the evaluator's `Answer`.
"""

import random
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.naive.compare import Likeness
from tests.naive.parser import last_name, parse
from tests.naive.samples import SHAPES, make_items
from tests.naive.tree import Literal
from tests.naive.values import Value
from tests.naive.writer import Writer

__all__ = ["FEATURES", "Question", "make_items", "make_question"]

FEATURES: Final = ("aggregate", "distinct", "group", "join", "order", "subquery", "window")
# A sum may be added up in another order; the last digit of a sine is the platform's own business.
APPROXIMATE: Final = re.compile(
    r"\b(?:SUM|AVG|A?SIN|A?COS|A?TAN|ATN2|COT|LOG|LOG10|EXP|SQRT|POWER|RADIANS|DEGREES)\(", re.IGNORECASE
)
LOOSE: Final = re.compile(r"\b(?:MAKELIST|MAKESET|SetUnion|SetIntersect|SetDifference)\(")
CURVES: Final = (
    "SIN", "COS", "TAN", "COT", "ASIN", "ACOS", "ATAN", "LOG", "LOG10", "EXP", "SQRT", "RADIANS", "DEGREES",
)  # fmt: skip
NUMBERED: Final = re.compile(r"@p\d+")


class Question(NamedTuple):
    """A query and what to know about its answers; `features` are some of FEATURES."""

    text: str
    parameters: dict[str, Value]
    ordered: bool
    like: Likeness
    features: frozenset[str]

    @property
    def wire_parameters(self) -> list[dict[str, Value]]:
        """The parameters as they travel."""
        return [{"name": name, "value": value} for name, value in self.parameters.items()]


def make_question(seed: int, size: int = 2) -> Question:
    """A random query; `size` is the depth of its expressions."""
    return QueryWriter(random.Random(seed), size).question()


class QueryWriter(Writer):
    """Writes one whole query."""

    def __init__(self, generator: random.Random, size: int) -> None:
        super().__init__(generator)
        self.size = size
        self.features: set[str] = set()

    def question(self) -> Question:
        makers = (self.plain, self.plain, self.plain, self.plain, self.sort, self.sort, self.group, self.total,
                  self.distinct, self.nested)  # fmt: skip
        text = str(self.pick(makers)())
        if text.count("SELECT") + text.count("select ") > 1:
            self.features.add("subquery")
        used = set(NUMBERED.findall(text))
        parameters = {name: value for name, value in self.parameters.items() if name in used}
        like = Likeness(approximate=bool(APPROXIMATE.search(text)), loose=bool(LOOSE.search(text)))
        return Question(text, parameters, "order" in self.features, like, frozenset(self.features))

    # Clauses

    def from_items(self) -> str:
        """FROM over whole items, under some name."""
        form, name = self.pick(
            (("FROM c", "c"), ("FROM c", "c"), ("FROM root", "root"), ("FROM c AS r", "r"), ("from c d", "d"))
        )
        self.scope.append((name, "item"))
        return form

    def from_parts(self) -> str:
        """FROM over something inside of the items."""
        name = self.fresh()
        form, shape = self.pick(
            (
                (f"FROM {name} IN c.kids", "kid"),
                (f"FROM {name} IN c.nums", "number"),
                (f"FROM {name} IN c.tags", "text"),
                (f"FROM c.kids[0] AS {name}", "kid"),
                (f"FROM c.s {name}", "text"),
                (f"FROM c['o'].a AS {name}", "number"),
            )
        )
        self.scope.append((name, shape))
        return form

    def joins(self) -> str:
        """Nothing, or JOINs over arrays of what is in scope."""
        text = ""
        while self.chance(0.3) and text.count("JOIN") < self.size:
            sort, shape = self.pick((("numbers", "number"), ("texts", "text"), ("kids", "kid")))
            array = self.path(sort)
            if array is None:
                break
            self.features.add("join")
            name = self.fresh()
            text += f" JOIN {self.joined(name, shape, array)}"
            self.scope.append((name, shape))
        return text

    def joined(self, name: str, shape: str, array: str) -> str:
        with self.bound(self.fresh(), shape) as inner:
            condition = self.truth(1)
        return self.pick(
            (
                f"{name} IN {array}",
                f"{name} IN {array}",
                f"{name} IN (SELECT VALUE {array})",
                f"(SELECT VALUE {inner} FROM {inner} IN {array} WHERE {condition}) AS {name}",
            )
        )

    def where(self, share: float = 0.7) -> str:
        if not self.chance(share):
            return ""
        # A second way out keeps most answers from being empty.
        condition = self.truth(self.size)
        return f" WHERE {condition} OR {self.truth(0)}" if self.chance(0.35) else f" WHERE {condition}"

    def top(self) -> str:
        if not self.chance(0.25):
            return ""
        self.features.add("window")
        return f"TOP {self.count((1, 3, 10, 1000))} "

    def window(self, top: str, share: float = 0.25) -> str:
        if top or not self.chance(share):
            return ""
        self.features.add("window")
        return f" OFFSET {self.count((0, 1, 5))} LIMIT {self.count((0, 2, 5, 100))}"

    def count(self, numbers: Sequence[int]) -> str:
        number = self.pick(numbers)
        return self.literal(number) if self.chance(0.3) else str(number)

    # What is selected

    def selection(self, *, star: bool) -> str:
        """Columns, a value or everything."""
        choice = self.random.randrange(8)
        if choice == 0 and star:
            return "*"
        if choice <= 3:
            return f"VALUE {self.projected()}"
        return self.columns([self.projected() for _ in range(self.pick((1, 2, 3)))])

    def columns(self, expressions: list[str]) -> str:
        """Columns, no two of the same name; now and then the name is the one that the expression gives itself."""
        texts, names = [], set[str]()
        for text in expressions:
            own = last_name(parse(f"SELECT VALUE {text}").select.value or Literal(None)) or "$1"
            if own not in names and self.chance(0.3):
                names.add(own)
                texts.append(text)
            else:
                texts.append(f"{text}{self.pick((' AS ', ' '))}{self.fresh()}")
        return ", ".join(texts)

    def projected(self) -> str:
        return self.pick((self.anything, self.anything, self.number, self.text, self.array, self.truth, self.curve))(
            self.size
        )

    def curve(self, depth: int) -> str:
        """A transcendental function: only projected, for its last digit is not to be relied on."""
        number = self.leaf("number")
        return self.pick(
            (
                f"{self.pick(CURVES)}({number})",
                f"{self.pick(CURVES)}({number})",
                f"POWER({number}, {self.pick((0, 0.5, 2, 3, -1))})",
                f"ATN2({number}, {self.leaf('number')})",
                f"LOG({number}, {self.pick((2, 10))}) * PI()",
            )
        )

    # Whole queries

    def plain(self) -> str:
        source = self.from_items() if self.chance(0.8) else self.from_parts()
        joins, top = self.joins(), self.top()
        return f"SELECT {top}{self.selection(star=not joins)} {source}{joins}{self.where()}{self.window(top, 0.15)}"

    def sort(self) -> str:
        """ORDER BY one path of the items."""
        self.features.add("order")
        source, top = self.from_items(), self.top()
        name = self.scope[0][0]
        paths = [path for paths in SHAPES["item"].values() for path in paths if path != ("missing",)]
        key = self.follow(name, self.pick([("id",), ("pk",), *paths]))
        joins = self.joins() if self.chance(0.3) else ""
        what = self.selection(star=not joins) if self.chance(0.7) else f"VALUE {key}"
        if self.chance(0.15):
            self.features.add("distinct")
            what = f"DISTINCT {top}VALUE {key}"
        else:
            what = f"{top}{what}"
        direction = self.pick(("", " ASC", " DESC", " desc"))
        return f"SELECT {what} {source}{joins}{self.where(0.5)} ORDER BY {key}{direction}{self.window(top)}"

    def key(self) -> str:
        """Something with few values, that every reading of the language agrees on."""
        sort = self.pick(("whole", "text", "truth", "any", "glyph", "quarter", "unusual", "object"))
        path = self.path(sort) or self.path("whole") or self.path("text") or "1"
        text = self.path("text") or path
        return self.pick(
            (path, path, path, f"LOWER({text})", f"IS_DEFINED({path})", f"LENGTH({text})", f"LEFT({text}, 1)")
        )

    def group(self) -> str:
        self.features.add("group")
        source = self.from_items() if self.chance(0.85) else self.from_parts()
        joins = self.joins()
        keys = list(dict.fromkeys(self.key() for _ in range(self.pick((1, 1, 2)))))
        aggregates = [self.aggregate() for _ in range(self.pick((0, 1, 2)))]
        if aggregates:
            self.features.add("aggregate")
        if self.chance(0.2):
            what = f"VALUE {(aggregates or keys)[0]}"
        else:
            what = self.columns([*keys[self.pick((0, 0, 1)) :], *aggregates] or keys)
        return f"SELECT {what} {source}{joins}{self.where(0.5)} GROUP BY {', '.join(keys)}{self.window('', 0.1)}"

    def aggregate(self) -> str:
        """An aggregate that mostly gives something: sums see numbers only, or whatever there is now and then."""
        number = self.pick((self.leaf("whole", 1), self.leaf("quarter", 1), self.number(1), self.path("mixed") or "1"))
        comparable = self.path(self.pick(("whole", "text", "glyph", "unusual", "truth", "any"))) or "1"
        return self.pick(
            (
                "COUNT(1)",
                f"COUNT({self.anything(1)})",
                f"{self.pick(('SUM', 'AVG', 'sum'))}({number})",
                f"{self.pick(('MIN', 'MAX'))}({comparable})",
                f"{self.pick(('MIN', 'MAX'))}({comparable})",
                f"COUNTIF({self.truth(1)})",
            )
        )

    def total(self) -> str:
        """Aggregates over everything."""
        self.features.add("aggregate")
        source = self.from_items() if self.chance(0.8) else self.from_parts()
        joins = self.joins()
        if self.chance(0.15):
            what = f"VALUE {self.pick(('MAKELIST', 'MAKESET'))}({self.anything(0)})"
        elif self.chance(0.6):
            what = f"VALUE {self.aggregate()}"
        else:
            what = self.columns([self.aggregate() for _ in range(self.pick((1, 2, 3)))])
        return f"SELECT {what} {source}{joins}{self.where(0.6)}"

    def distinct(self) -> str:
        self.features.add("distinct")
        source = self.from_items() if self.chance(0.8) else self.from_parts()
        joins, top = self.joins(), self.top()
        keys = [self.key() for _ in range(self.pick((1, 1, 2)))]
        what = f"VALUE {keys[0]}" if self.chance(0.5) else self.columns(keys)
        return f"SELECT DISTINCT {top}{what} {source}{joins}{self.where(0.5)}{self.window(top, 0.1)}"

    def nested(self) -> str:
        """A query over the rows of a query."""
        with self.bound("c", "item"):
            condition = self.truth(self.size)
        self.scope.append((name := self.fresh(), "item"))
        top = self.top()
        inner = f"(SELECT VALUE c FROM c WHERE {condition} OR c.pk = 'p1')"
        return (
            f"SELECT {top}{self.selection(star=True)} FROM {inner} AS {name}{self.where(0.5)}{self.window(top, 0.15)}"
        )
