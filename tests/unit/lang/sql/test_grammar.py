"""The grammar in the parser's docstring is the language: texts made from it parse, and come back as the same tree."""

import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest

from armillary.errors import Refusal
from armillary.lang.sql import parser
from armillary.lang.sql.parser import MOST_ITEMS, MOST_LEVELS, parse_condition, parse_query
from armillary.lang.sql.text import write_query

TEXTS: Final = 400
SEED: Final = 20_261_119

# A rule is a choice of sequences of parts; a part is ("word", text), ("rule", name), ("maybe" or "many", choice) or
# ("group", choice).
TERMINALS: Final = ("name", "word", "string", "number", "integer", "parameter", "placeholder")
Part = tuple[str, Any]
Choice = list[list[Part]]

PIECES: Final = re.compile(r'"[^"]*"|\w+|[\[\]{}()|;=]')
NAMES: Final = ("c", "root", "item", "_x1", "Größe", "all", "first", "LAST", "rank", "left", "values")


def read_grammar(text: str) -> dict[str, Choice]:
    """The rules of an EBNF: `name = sequence | sequence ;` with [maybe], {many} and (groups)."""
    pieces = PIECES.findall(text)
    rules: dict[str, Choice] = {}
    while pieces:
        name, equals = pieces.pop(0), pieces.pop(0)
        assert equals == "=", name
        rules[name] = read_choice(pieces)
        assert pieces.pop(0) == ";", name
    return rules


def read_choice(pieces: list[str]) -> Choice:
    choice: Choice = [[]]
    while pieces[0] not in ("]", "}", ")", ";"):
        piece = pieces.pop(0)
        if piece == "|":
            choice.append([])
        elif piece in "[{(":
            kind = {"[": "maybe", "{": "many", "(": "group"}[piece]
            choice[-1].append((kind, read_choice(pieces)))
            pieces.pop(0)
        elif piece.startswith('"'):
            choice[-1].append(("word", piece[1:-1]))
        else:
            choice[-1].append(("rule", piece))
    return choice


GRAMMAR: Final = read_grammar((parser.__doc__ or "").split("\n\n")[1])


class Writer:
    """Writes random texts of the grammar; below a depth it takes the shortest way out."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cost = dict.fromkeys(TERMINALS, 1)
        while len(self.cost) < len(GRAMMAR) + len(TERMINALS):
            for name, choice in GRAMMAR.items():
                costs = [cost for sequence in choice if (cost := self.cost_of(sequence)) is not None]
                if name not in self.cost and costs:
                    self.cost[name] = 1 + min(costs)

    def cost_of(self, sequence: list[Part]) -> int | None:
        costs = []
        for kind, part in sequence:
            if kind == "rule":
                costs.append(self.cost.get(part))
            elif kind == "group":
                known = [cost for inner in part if (cost := self.cost_of(inner)) is not None]
                costs.append(min(known) if known else None)
        return None if None in costs else max([cost for cost in costs if cost is not None], default=0)

    def rule(self, name: str, depth: int) -> Iterator[str]:
        if name in GRAMMAR:
            yield from self.choice(GRAMMAR[name], depth - 1)
        else:
            yield getattr(self, f"make_{name}")()

    def choice(self, choice: Choice, depth: int) -> Iterator[str]:
        sequences = choice
        if depth <= 0:
            sequences = [min(choice, key=lambda sequence: self.cost_of(sequence) or 0)]
        for kind, part in self.random.choice(sequences):
            if kind == "word":
                yield self.random.choice((part, part.lower())) if part.isalpha() and part.isupper() else part
            elif kind == "rule":
                yield from self.rule(part, depth)
            elif kind == "group":
                yield from self.choice(part, depth)
            else:
                times = self.random.choice((0, 0, 1) if kind == "maybe" else (0, 0, 0, 1, 2)) if depth > 0 else 0
                for _ in range(times):
                    yield from self.choice(part, depth)

    def make_name(self) -> str:
        return self.random.choice(NAMES)

    def make_word(self) -> str:
        return self.random.choice(("UPPER", "count", "No_such1", "left"))

    def make_string(self) -> str:
        text = self.random.choice(("", "a", "it's", 'say "hi"', "\\", "Größe 😀", "\t", "x" * 30))
        return json.dumps(text, ensure_ascii=self.random.random() < 0.5)

    def make_number(self) -> str:
        return self.random.choice(("0", "1", "42", "1.5", ".5", "5.", "1e3", "2E-2", "0x1F", "9007199254740993"))

    def make_integer(self) -> str:
        return self.random.choice(("0", "1", "10", "4294967295"))

    def make_parameter(self) -> str:
        return self.random.choice(("@p", "@_x", "@limit"))

    def make_placeholder(self) -> str:
        return "{documentdb-formattableorderbyquery-filter}"


def make_text(writer: Writer) -> str:
    gap = writer.random.choice((" ", "  ", "\n", " -- a comment\n", "\t"))
    return gap.join(writer.rule("query", writer.random.randint(4, 12)))


def test_every_rule_is_used() -> None:
    used = {part for choice in GRAMMAR.values() for part in rules_in(choice)}
    assert set(GRAMMAR) - used == set(), "query is used by subqueries"
    assert used - set(GRAMMAR) == set(TERMINALS)


def rules_in(choice: Choice) -> Iterator[str]:
    for sequence in choice:
        for kind, part in sequence:
            if kind == "rule":
                yield part
            elif kind != "word":
                yield from rules_in(part)


def test_texts_of_the_grammar_parse_and_come_back() -> None:
    print(f"seed {SEED}")
    writer = Writer(SEED)
    sizes = []
    for _ in range(TEXTS):
        text = make_text(writer)
        tree = parse_query(text)
        written = write_query(tree)
        again = parse_query(written)
        assert again == tree, (text, written)
        assert write_query(again) == written
        sizes.append(len(text))
    assert max(sizes) > 500


def test_a_text_that_lost_a_piece_is_parsed_or_refused_in_words() -> None:
    """Broken texts end in a tree or in SC1001, never in an error of this program."""
    print(f"seed {SEED}")
    writer, refused = Writer(SEED), 0
    for _ in range(TEXTS):
        pieces = make_text(writer).split(" ")
        at = writer.random.randrange(len(pieces))
        broken = " ".join(pieces[:at] + writer.random.choice(([], ["("], ["SELECT"], [")"], [","])) + pieces[at + 1 :])
        told = why_refused(broken)
        if told is not None:
            refused += 1
            assert "SC1001" in told, broken
            assert "Line " in told or "levels" in told, broken
    assert refused > TEXTS // 4


def why_refused(text: str) -> str | None:
    try:
        parse_query(text)
    except Refusal as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT VALUE " + "(" * 200 + "1" + ")" * 200, f"nested more than {MOST_LEVELS} levels"),
        ("SELECT VALUE " + "-(" * 200 + "c" + ")" * 200, "levels"),
        ("SELECT VALUE " + "NOT " * 200 + "true", "levels"),
        ("SELECT VALUE " + "[" * 200 + "]" * 200, "levels"),
        ("SELECT VALUE c" + ".a" * 200 + " FROM c", "levels"),
        ("SELECT VALUE " + "1 + " * 200 + "1", "levels"),
        ("SELECT VALUE " + "(SELECT VALUE " * 120 + "1" + ")" * 120, "levels"),
        ("SELECT VALUE " + "true ? 1 : " * 200 + "2", "levels"),
        (f"SELECT VALUE 1 IN ({'1,' * MOST_ITEMS}1)", f"IN has {MOST_ITEMS + 1} items"),
        ("SELECT '" + "x" * (513 * 1024) + "'", "characters; the limit is"),
    ],
)
def test_what_is_too_much_is_refused(text: str, words: str) -> None:
    with pytest.raises(Refusal, match=re.escape(words)):
        parse_query(text)


def test_many_operands_are_no_depth() -> None:
    text = "SELECT VALUE " + " OR ".join(f"c.a = {number}" for number in range(2_000)) + " FROM c"
    assert parse_query(write_query(parse_query(text))) == parse_query(text)
    chosen = "SELECT VALUE 1 IN (" + ", ".join(map(str, range(MOST_ITEMS))) + ")"
    assert parse_query(write_query(parse_query(chosen))) == parse_query(chosen)


def test_a_condition_stands_alone() -> None:
    query = parse_condition("from c where c.a = 1")
    assert write_query(query) == "SELECT *\nFROM c\nWHERE (c.a = 1)"
    with pytest.raises(Refusal, match="SC1001"):
        parse_condition("select * from c")
