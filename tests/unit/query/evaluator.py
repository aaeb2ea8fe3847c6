"""Runs the rows of `tests/cases` on functions and operators alone: no parser, no plan.

It reads what the tables hold and no more: literals, arrays, objects, calls, and operators without precedence - two of
them need parentheses.

    value    one | one op one | one ? one : one | one [NOT] IN (value, ...) | one [NOT] BETWEEN one AND one
             one [NOT] LIKE one [ESCAPE one]
    one      literal | [value, ...] | {"name": value, ...} | NAME(value, ...) | (value) | unary one
"""

import re
from typing import Final

import orjson

from armillary.query.functions import FUNCTIONS, Context
from armillary.query.semantics import SQL
from armillary.values import UNDEFINED

NOW: Final = 16_094_592_000_000_000  # 2021-01-01
CONTEXT: Final = Context(started=NOW, now=lambda: NOW + 12_345_678, draw=lambda: 0.25)
CONSTANTS: Final = {"true": True, "false": False, "null": None, "undefined": UNDEFINED}
TOKENS: Final = re.compile(
    r"""\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\w+|>>>|<<|>>|<=|>=|!=|\|\||\?\?|.)""",
    re.DOTALL,
)


def evaluate(expression: str) -> object:
    reader = _Reader(TOKENS.findall(expression))
    value = reader.read_value()
    assert not reader.tokens, f"not read: {reader.tokens}"
    return value


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def read_value(self) -> object:
        left = self.read_one()
        word = self.tokens[0].upper() if self.tokens else ""
        if word == "NOT":
            self.tokens.pop(0)
            return SQL.unary["NOT"](self.read_test(left))
        if word in ("IN", "BETWEEN", "LIKE"):
            return self.read_test(left)
        if word in SQL.binary:
            self.tokens.pop(0)
            return SQL.binary[word](left, self.read_one())
        if word == "?":
            self.tokens.pop(0)
            chosen = self.read_one()
            self.take(":")
            return SQL.choose(left, chosen, self.read_one())
        return left

    def read_test(self, left: object) -> object:
        word = self.tokens.pop(0).upper()
        if word == "IN":
            self.take("(")
            candidates = self.read_list(")")
            assert SQL.is_in(left, candidates) is SQL.compile_in(candidates)(left)
            return SQL.is_in(left, candidates)
        first = self.read_one()
        if word == "BETWEEN":
            self.take("AND")
            return SQL.between(left, first, self.read_one())
        if self.tokens and self.tokens[0].upper() == "ESCAPE":
            self.tokens.pop(0)
            return SQL.like(left, first, self.read_one())
        return SQL.like(left, first)

    def read_one(self) -> object:
        token = self.tokens.pop(0)
        if token == "(":
            value = self.read_value()
            self.take(")")
            return value
        if token == "[":
            return [value for value in self.read_list("]") if value is not UNDEFINED]
        if token == "{":
            return self.read_object()
        if token.upper() in SQL.unary:
            return SQL.unary[token.upper()](self.read_one())
        if token in CONSTANTS:
            return CONSTANTS[token]
        if self.tokens[:1] == ["("]:
            return self.call(token)
        return read_literal(token)

    def read_list(self, end: str) -> list[object]:
        values: list[object] = []
        while self.tokens[0] != end:
            values.append(self.read_value())
            if self.tokens[0] == ",":
                self.tokens.pop(0)
        self.tokens.pop(0)
        return values

    def read_object(self) -> dict[str, object]:
        values: dict[str, object] = {}
        while self.tokens[0] != "}":
            name = orjson.loads(self.tokens.pop(0))
            self.take(":")
            values[name] = self.read_value()
            if self.tokens[0] == ",":
                self.tokens.pop(0)
        self.tokens.pop(0)
        return {name: value for name, value in values.items() if value is not UNDEFINED}

    def call(self, name: str) -> object:
        self.tokens.pop(0)
        arguments = self.read_list(")")
        function = FUNCTIONS[name.upper()]
        assert function.least <= len(arguments) <= function.most
        return function.call(*((CONTEXT,) if function.needs_context else ()), *arguments)

    def take(self, token: str) -> None:
        assert self.tokens.pop(0).upper() == token


def read_literal(token: str) -> object:
    if token.startswith("'"):
        token = '"' + token[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'
    return orjson.loads(token)
