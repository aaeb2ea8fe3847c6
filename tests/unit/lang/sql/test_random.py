"""Random texts of the grammar: each is refused, or means the same with rules and without, whole and in pages."""

import os
from typing import Any, Final

from tests.cases.sqlcases import load_data
from tests.unit.lang.sql.test_cases import begin, spell
from tests.unit.lang.sql.test_grammar import Writer, make_text
from tests.unit.query.shelves import Shelves

from armillary.errors import Refusal
from armillary.keys import define_key
from armillary.lang.sql import Statement
from armillary.lang.sql.distribution import distribute
from armillary.query.execute import compile_plan
from armillary.query.pages import read_page
from armillary.query.semantics import SQL

TEXTS: Final = 20_000 if "ARMILLARY_LONG" in os.environ else 500
SEED: Final = 42
PARAMETERS: Final[dict[str, Any]] = {"@p": 1, "@_x": "a", "@limit": 3}
NAMES: Final = ("c", "c", "c", "t", "id", "n", "tags", "s", "pk")
WORDS: Final = ("UPPER", "COUNT", "sum", "ABS", "ARRAY_CONTAINS", "IS_DEFINED", "STARTSWITH", "CONCAT", "IIF", "MAX")


class Asker(Writer):
    """Writes texts that have a chance to mean something."""

    def make_name(self) -> str:
        return self.random.choice(NAMES)

    def make_word(self) -> str:
        return self.random.choice(WORDS)

    def make_text(self) -> str:
        if self.random.random() < 0.3:
            return make_text(self)
        text = f"SELECT VALUE {self.make_expression()} FROM c"
        return f"{text} WHERE {self.make_expression()}" if self.random.random() < 0.5 else text

    def make_expression(self) -> str:
        return " ".join(self.rule("expression", self.random.randint(3, 9)))


def try_to_answer(text: str) -> bool:
    """Whether a text has an answer; then it has it in every way."""
    source = Shelves(load_data("numbers"), 2)
    try:
        statement = Statement(text)
        rows = [row for batch in statement.run(begin(source, PARAMETERS)) for row in batch]
    except Refusal:
        return False
    plain = compile_plan(statement.lowered, SQL)
    assert [row for batch in plain(begin(source, PARAMETERS)) for row in batch] == rows, text
    paged = read_page(statement.pages(begin(source, PARAMETERS)), 100_000).values
    assert sorted(map(spell, paged)) == sorted(map(spell, rows)), text
    return True


def is_distributed_or_refused(text: str) -> bool:
    try:
        distribute(Statement(text), PARAMETERS, define_key("/pk"))
    except Refusal:
        return False
    return True


def test_random_texts_are_refused_or_mean_one_thing() -> None:
    print(f"seed {SEED}")
    asker = Asker(SEED)
    texts = [asker.make_text() for _ in range(TEXTS)]
    assert sum(map(try_to_answer, texts)) > TEXTS // 2
    assert sum(map(is_distributed_or_refused, texts)) > TEXTS // 2
