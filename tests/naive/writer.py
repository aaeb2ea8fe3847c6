"""Writes random expressions of a wanted type over the names in scope. What it writes always means something: functions
mostly get the types that they take, and nothing depends on the clock, on chance or on the last digit of a sine."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from tests.naive.samples import DATES, GLYPHS, QUARTERS, SHAPES, SMALL, UNUSUAL, WORDS, Path, make_any
from tests.naive.values import Value

T = TypeVar("T")
PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz")
RESERVED: Final = ("order", "missing")
COMPARISONS: Final = ("=", "!=", "<>", "<", "<=", ">", ">=")
PATTERNS: Final = ("%", "a%", "%b", "_b%", "[a-c]%", "[^a]%", "%[1]%", "a!%b", "A__", "%'%", "", "a.c", "%\\%")
EXPRESSIONS: Final = ("^a", "b$", "^[a-c]+$", "a.b", "^.?$", "(ab|BC)", "\\d")
JSON_TEXTS: Final = (
    '[1, "a"]',
    "[1,]",
    "{}",
    '{"a": {"b": [null]}}',
    "{a: 1}",
    "true",
    "True",
    "null",
    " null ",
    "-1.5e2",
    "01",
    "",
)
PARTS: Final = ("yyyy", "mm", "dd", "hh", "mi", "ss", "ms")
POOLS: Final[dict[str, Sequence[Value]]] = {
    "number": SMALL + QUARTERS, "whole": SMALL, "quarter": QUARTERS, "unusual": UNUSUAL, "text": WORDS,
    "glyph": GLYPHS, "truth": (True, False), "date": DATES,
}  # fmt: skip


class Writer:
    """One query in the making: names in scope with their shapes, parameters given out so far."""

    def __init__(self, generator: random.Random) -> None:
        self.random = generator
        self.scope: list[tuple[str, str]] = []
        self.parameters: dict[str, Value] = {}
        self.names = 0

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def fresh(self) -> str:
        """A name that nothing has yet."""
        self.names += 1
        return f"{self.pick(('t', 'Alias', '_x', 'select_'))}{self.names}"

    @contextmanager
    def bound(self, name: str, shape: str) -> Iterator[str]:
        """A name while a subquery is written."""
        self.scope.append((name, shape))
        yield name
        self.scope.pop()

    # Leaves

    def literal(self, value: Value) -> str:
        """The value in the text of the query, or a parameter for it."""
        if self.chance(0.25):
            name = f"@p{len(self.parameters)}"
            self.parameters[name] = value
            return name
        return self.constant(value)

    def constant(self, value: Value) -> str:
        match value:
            case bool() | None:
                return json.dumps(value)
            case str():
                text = json.dumps(value, ensure_ascii=self.chance(0.5))
                single = "'" + text[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
                return text if self.chance(0.6) else single
            case list():
                return f"[{', '.join(map(self.constant, value))}]"
            case dict():
                return (
                    "{" + ", ".join(f"{json.dumps(name)}: {self.constant(held)}" for name, held in value.items()) + "}"
                )
        if isinstance(value, int) and 0 <= value < 2**53 and self.chance(0.1):
            return hex(value)
        return repr(value)

    def path(self, sort: str) -> str | None:
        """A path to such a value through some name in scope."""
        found = [(name, path) for name, shape in self.scope for path in SHAPES[shape].get(sort, ())]
        return self.follow(*self.pick(found)) if found else None

    def follow(self, name: str, path: Path) -> str:
        return name + "".join(map(self.step, path))

    def step(self, name: str) -> str:
        if set(name) <= PLAIN and name not in RESERVED and self.chance(0.85):
            return f".{name}"
        return f"[{self.pick((json.dumps(name), chr(39) + name + chr(39)))}]"

    def leaf(self, sort: str, share: float = 0.75) -> str:
        """A path, or now and then a constant of the sort."""
        path = self.path(sort) if self.chance(share) else None
        return path or self.literal(self.pick(POOLS[sort]))

    # Numbers

    def number(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.3):
            return self.leaf("number")
        return self.pick((self.arithmetic, self.arithmetic, self.mathematics, self.measure, self.one_number))(depth - 1)

    def arithmetic(self, depth: int) -> str:
        left, right, more = self.number(depth), self.number(depth), self.number(depth - 1)
        return self.pick(
            (
                f"({left} {self.pick('+-*/%')} {right})",
                f"({left} {self.pick('+-*')} {right} {self.pick('+-*')} {more})",
                f"(- {left})",
                f"(+ {left})",
                f"(~ {self.leaf('whole')})",
                f"({self.leaf('whole')} {self.pick(('&', '|', '^'))} {self.leaf('whole')})",
                f"({self.leaf('whole')} {self.pick(('<<', '>>', '>>>'))} {self.pick((0, 1, 4, 31))})",
            )
        )

    def mathematics(self, depth: int) -> str:
        inner, left, right = self.number(depth), self.leaf("whole"), self.leaf("whole")
        one = self.pick(("ABS", "CEILING", "FLOOR", "ROUND", "SIGN", "TRUNC", "SQUARE", "Floor"))
        two = self.pick(("IntAdd", "IntSub", "IntMul", "IntDiv", "IntMod", "IntBitAnd", "IntBitOr", "IntBitXor"))
        return self.pick(
            (
                f"{one}({inner})",
                f"{one}({inner})",
                f"{two}({left}, {right})",
                f"ROUND({self.leaf('quarter')}, 1)",
                f"NumberBin({inner}, {self.pick((1, 2, 0.25, 10))})",
                f"NumberBin({inner})",
                f"IntBitNot({left})",
                f"IntBitLeftShift({left}, {self.pick((0, 1, 8))})",
                f"IntBitRightShift({left}, {self.pick((0, 1, 8))})",
            )
        )

    def measure(self, depth: int) -> str:
        """A number about a text, an array or a date."""
        array, text, date = self.array(depth), self.text(depth), self.leaf("date")
        numbers = self.path("numbers") or "[1, 2, 3]"
        part = self.constant(self.pick(PARTS))
        return self.pick(
            (
                f"LENGTH({text})",
                f"INDEX_OF({text}, {self.constant(self.pick(WORDS[1:]))})",
                f"LASTINDEXOF({text}, {self.constant(self.pick(WORDS[1:]))})",
                f"ARRAY_LENGTH({array})",
                f"array_length({array})",
                f"{self.pick(('ARRAY_SUM', 'ARRAY_AVG', 'ARRAY_MIN', 'ARRAY_MAX', 'ARRAY_MEDIAN'))}({numbers})",
                f"{numbers}[{self.pick((0, 0, 1, 2, 9))}]",
                f"DateTimePart({part}, {date})",
                f"DateTimeDiff({part}, {date}, {self.leaf('date')})",
                f"{self.pick(('YEAR', 'MONTH', 'DAY'))}({date})",
                f"DateTimeToTimestamp({date})",
                f"StringToNumber({self.constant(self.pick(('10', '-2.5', 'x', ' 3 ', '1e2', '')))})",
            )
        )

    def one_number(self, depth: int) -> str:
        return self.one_of(depth, self.number) if self.chance(0.5) else self.sum_up(depth)

    def one_of(self, depth: int, write: Callable[[int], str]) -> str:
        """One of two values."""
        test, then, other = self.truth(depth), write(depth), write(depth)
        return self.pick(
            (
                f"({test} ? {then} : {other})",
                f"IIF({test}, {then}, {other})",
                f"({then} ?? {other})",
                f"CHOOSE({self.pick((1, 2, 2, 3))}, {then}, {other})",
            )
        )

    def sum_up(self, depth: int) -> str:
        """A subquery that makes one number of an array."""
        array = self.path("numbers") or "[1, 2, 2]"
        if array.startswith("["):
            return f"ARRAY_LENGTH({array})"
        with self.bound(self.fresh(), "number") as name:
            aggregate = self.pick(("COUNT(1)", f"SUM({name})", f"MAX({name})", f"MIN({name})", f"AVG({name})"))
            where = f" WHERE {self.truth(depth - 1)}" if self.chance(0.5) else ""
            return f"(SELECT VALUE {aggregate} FROM {name} IN {array}{where})"

    # Texts

    def text(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.4):
            return self.leaf("text")
        return self.pick((self.change, self.combine, self.moment, self.one_text))(depth - 1)

    def one_text(self, depth: int) -> str:
        return self.one_of(depth, self.text)

    def change(self, depth: int) -> str:
        text, size = self.text(depth), self.pick((0, 1, 2, 5))
        return self.pick(
            (
                f"{self.pick(('LOWER', 'UPPER', 'REVERSE', 'TRIM', 'LTRIM', 'RTRIM', 'Upper'))}({text})",
                f"{self.pick(('LEFT', 'RIGHT'))}({text}, {size})",
                f"SUBSTRING({text}, {self.pick((0, 1, 3))}, {size})",
                f"REPLACE({text}, {self.constant(self.pick(WORDS[1:]))}, {self.leaf('text', 0.3)})",
                f"REPLICATE({self.leaf('text')}, {size})",
                f"ToString({self.leaf(self.pick(('whole', 'quarter', 'truth')))})",
            )
        )

    def combine(self, depth: int) -> str:
        left, right = self.text(depth), self.text(depth)
        texts = self.path("texts") or '["a", "b"]'
        return self.pick(
            (
                f"CONCAT({left}, {right})",
                f"CONCAT({left}, {right}, {self.leaf('text')})",
                f"({left} || {right})",
                f"StringJoin({texts}, {self.constant(self.pick(('', ', ', '-')))})",
                f"{texts}[{self.pick((0, 0, 1, 3))}]",
            )
        )

    def moment(self, depth: int) -> str:
        date, part = self.leaf("date"), self.constant(self.pick(PARTS))
        return self.pick(
            (
                date,
                f"DateTimeAdd({part}, {self.pick((-13, -1, 0, 1, 40))}, {date})",
                f"DateTimeBin({date}, {part}, {self.pick((1, 2, 5))})" if part[1:-1] in PARTS[2:] else date,
                f"DateTimeFromParts({self.pick((1999, 2020))}, {self.pick((2, 12))}, {self.pick((1, 29, 30))})",
                f"TicksToDateTime({self.pick((0, -1, 1234567890123456))})",
                f"TimestampToDateTime({self.pick((0, 1, 1600000000123))})",
            )
        )

    # Arrays and whatever

    def array(self, depth: int) -> str:
        sort = self.pick(("numbers", "numbers", "texts", "kids"))
        path = self.path(sort) or self.constant([1, "a", None])
        if depth <= 0 or self.chance(0.5):
            return path
        other = self.path(sort) or self.literal([self.pick(SMALL), self.pick(WORDS)])
        names = self.pick(("", ", 'name', 'value'"))
        return self.pick(
            (
                f"ARRAY_SLICE({path}, {self.pick((0, 1, -1, -2))}, {self.pick((1, 2))})",
                f"ARRAY_SLICE({path}, {self.pick((0, 1, -2))})",
                f"ARRAY_CONCAT({path}, {other})",
                f"{self.pick(('SetUnion', 'SetIntersect', 'SetDifference'))}({path}, {other})",
                f"[{self.anything(depth - 1)}, {self.number(depth - 1)}]",
                f"StringSplit({self.leaf('text')}, {self.constant(self.pick((' ', 'b', '_')))})",
                f"ObjectToArray({self.path('object') or '{a: 1}'}{names})",
                f"StringToArray({self.constant(self.pick(JSON_TEXTS))})",
                self.list_query(depth - 1),
            )
        )

    def list_query(self, depth: int) -> str:
        """ARRAY(SELECT ...) over some array of the item."""
        sort, shape = self.pick((("numbers", "number"), ("texts", "text"), ("kids", "kid")))
        array = self.path(sort)
        if array is None:
            return "ARRAY(SELECT VALUE 1)"
        with self.bound(self.fresh(), shape) as name:
            what = self.pick((name, self.anything(depth), f"{{k: {self.anything(depth)}}}"))
            where = f" WHERE {self.truth(depth)}" if self.chance(0.6) else ""
            return f"ARRAY(SELECT VALUE {what} FROM {name} IN {array}{where})"

    def anything(self, depth: int) -> str:
        """A value of any type: for projections and comparisons of unlike things."""
        choice = self.random.randrange(10)
        if choice < 4 or depth <= 0:
            sort = self.pick(
                ("any", "any", "number", "text", "glyph", "truth", "unusual", "object", "numbers", "texts")
            )
            return self.path(sort) or self.literal(make_any(self.random))
        if choice == 4:
            return self.literal(make_any(self.random))
        if choice == 5:
            # Only glued together: what a length or an upper case of these would be is not laid down anywhere.
            return f"({self.leaf('glyph')} || {self.leaf('glyph')})"
        if choice == 6:
            return (
                f"{{a: {self.anything(depth - 1)}, 'b c': {self.anything(depth - 1)}, \"d\": {self.number(depth - 1)}}}"
            )
        return self.pick((self.number, self.text, self.truth, self.one_any, self.parsed))(depth - 1)

    def parsed(self, depth: int) -> str:
        name = self.pick(("StringToArray", "StringToBoolean", "StringToNull", "StringToNumber", "StringToObject"))
        return f"{name}({self.constant(self.pick(JSON_TEXTS))})"

    def one_any(self, depth: int) -> str:
        return self.one_of(depth, self.anything)

    # Conditions

    def truth(self, depth: int) -> str:
        """A condition: true, false or undefined."""
        if depth <= 0:
            return self.pick((self.compare, self.compare, self.test_type, self.simple))(0)
        makers = (self.compare, self.compare, self.logic, self.logic, self.range, self.test_text, self.test_type,
                  self.test_array, self.exists, self.simple)  # fmt: skip
        return self.pick(makers)(depth - 1)

    def simple(self, depth: int) -> str:
        path = self.path("truth")
        if path is None:
            return self.compare(depth)
        return self.pick((path, f"NOT {path}", f"({path} = {self.literal(self.chance(0.5))})", f"{path} != true"))

    def compare(self, depth: int) -> str:
        sort = self.pick(("number", "number", "text", "glyph", "unusual", "date", "any", "deep"))
        operator = self.pick(COMPARISONS)
        match sort:
            case "number":
                return f"({self.number(depth)} {operator} {self.number(depth)})"
            case "text":
                return f"({self.text(depth)} {operator} {self.text(depth)})"
            case "any":
                return f"({self.path('any') or 'null'} {operator} {self.anything(min(depth, 1))})"
            case "deep":
                value = self.literal(make_any(self.random))
                return (
                    f"({self.path(self.pick(('any', 'object', 'numbers'))) or '[]'} {self.pick(('=', '!='))} {value})"
                )
        return f"({self.leaf(sort, 1)} {operator} {self.leaf(sort, 0.3)})"

    def logic(self, depth: int) -> str:
        left, right, more = self.truth(depth), self.truth(depth), self.truth(depth - 1)
        return self.pick(
            (
                f"({left} AND {right})",
                f"({left} OR {right})",
                f"({left} and {right} OR {more})",
                f"({left} OR {right} AND {more})",
                f"(NOT ({left}))",
                f"(NOT ({left} AND {right}))",
                f"({left} ? {right} : {more})",
            )
        )

    def range(self, depth: int) -> str:
        """BETWEEN and IN."""
        sort = self.pick(("number", "whole", "text", "glyph", "unusual", "date"))
        value = {"number": self.number, "text": self.text}.get(sort, lambda _: self.leaf(sort, 1))(depth)
        low, high = sorted((self.pick(POOLS[sort]) for _ in range(2)), key=lambda bound: (str(type(bound)), bound))
        options = [self.leaf(sort, 0.1) for _ in range(self.pick((1, 2, 3, 6)))]
        if self.chance(0.2):
            options.append(self.anything(0))
        negation = self.pick(("", "", "NOT "))
        return self.pick(
            (
                f"({value} {negation}BETWEEN {self.literal(low)} AND {self.literal(high)})",
                f"({value} {negation}IN ({', '.join(options)}))",
            )
        )

    def test_text(self, depth: int) -> str:
        text, other, word = self.text(depth), self.text(0), self.leaf("text", 0.2)
        function = self.pick(("CONTAINS", "STARTSWITH", "ENDSWITH", "StringEquals", "contains"))
        blind = self.pick(("", "", ", true", ", false"))
        letters = self.pick(("", ", 'i'"))
        words = ", ".join(self.leaf("text", 0.1) for _ in range(self.pick((1, 2))))
        return self.pick(
            (
                f"{function}({text}, {word}{blind})",
                f"{function}({self.leaf('text', 1)}, {other}{blind})",
                f"{function}({self.leaf('glyph', 1)}, {self.leaf('glyph', 0.2)})",
                self.like(text),
                self.like(self.leaf("text", 1)),
                f"RegexMatch({text}, {self.literal(self.pick(EXPRESSIONS))}{letters})",
                f"CONTAINS_{self.pick(('ALL', 'ANY'))}_{self.pick(('CI', 'CS'))}({text}, {words})",
            )
        )

    def like(self, text: str) -> str:
        pattern = self.pick(PATTERNS)
        escape = " ESCAPE '!'" if "!" in pattern else ""
        return f"({text} {self.pick(('', '', 'NOT '))}LIKE {self.literal(pattern)}{escape})"

    def test_type(self, depth: int) -> str:
        name = self.pick(
            ("IS_ARRAY", "IS_BOOL", "IS_DEFINED", "IS_FINITE_NUMBER", "IS_NULL", "IS_NUMBER", "IS_OBJECT",
             "IS_PRIMITIVE", "IS_STRING", "is_defined", "IS_DEFINED")
        )  # fmt: skip
        tested = self.anything(min(depth, 1))
        if self.chance(0.1):
            name, tested = "IS_INTEGER", self.leaf("number")
        return f"{self.pick(('', '', 'NOT '))}{name}({tested})"

    def test_array(self, depth: int) -> str:
        sort, element = self.pick((("numbers", "whole"), ("texts", "text")))
        array = self.path(sort) or self.literal([self.pick(POOLS[element]) for _ in range(3)])
        wanted, other = self.leaf(element, 0.3), self.leaf(element, 0.3)
        literal = self.literal([self.pick(POOLS[element]) for _ in range(self.pick((0, 1, 2)))])
        kid = self.constant({"name": self.pick(WORDS)} if self.chance(0.6) else {"age": self.pick(SMALL)})
        return self.pick(
            (
                f"ARRAY_CONTAINS({array}, {wanted})",
                f"ARRAY_CONTAINS({array}, {wanted}, {self.pick(('true', 'false'))})",
                f"ARRAY_CONTAINS({self.path('kids') or '[]'}, {kid}, true)",
                f"ARRAY_CONTAINS({literal}, {self.leaf(element, 1)})",
                f"ARRAY_CONTAINS_ANY({array}, {wanted}, {other})",
                f"ARRAY_CONTAINS_ALL({array}, {wanted}, {other})",
                f"SetEqual({array}, {literal})",
            )
        )

    def exists(self, depth: int) -> str:
        sort, shape = self.pick((("numbers", "number"), ("texts", "text"), ("kids", "kid"), ("kids", "kid")))
        array = self.path(sort)
        if array is None:
            return self.compare(depth)
        with self.bound(self.fresh(), shape) as name:
            what = self.pick((name, name, "1", self.path("any") or name))
            where = f" WHERE {self.truth(depth)}" if self.chance(0.8) else ""
            return f"{self.pick(('', '', 'NOT '))}EXISTS(SELECT VALUE {what} FROM {name} IN {array}{where})"
