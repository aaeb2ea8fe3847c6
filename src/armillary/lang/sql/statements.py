"""A query text made ready: parsed, lowered, rewritten by the rules and compiled, once for each text.

    statement = prepare("SELECT * FROM c WHERE c.a = @a")
    run = start_run(source, {"@a": 1}, now, draw)
    for batch in statement.run(run): ...                 all values
    page = read_page(statement.pages(run, position), 100)     some of them, and where the next page begins

Texts come from callers, so the cache is bounded in both ways: so many texts, and none of them long. Two texts that
differ in their parameters' values only are one text; a client that writes values into the text pays for each.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from random import random
from typing import Final

from armillary.clock import Clock
from armillary.lang.sql.counts import read_counts
from armillary.lang.sql.lower import lower_query
from armillary.lang.sql.parser import parse_query
from armillary.lang.sql.syntax import Query
from armillary.query.execute import Program, compile_plan
from armillary.query.explain import explain
from armillary.query.pages import Paged, Pages, compile_pages
from armillary.query.plan import Plan
from armillary.query.positions import Position
from armillary.query.rules import apply_rules
from armillary.query.semantics import SQL
from armillary.query.source import Listed, Run, start_run

CACHED_TEXTS: Final = 1_000
CACHED_CHARACTERS: Final = 8_192


class Statement:
    """One query text; what is asked of it is made when it is asked first, and kept."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.query: Query = parse_query(text)
        self.lowered: Plan = lower_query(self.query)

    @cached_property
    def plan(self) -> Plan:
        """The plan as the rules leave it."""
        return apply_rules(self.lowered, SQL)

    @cached_property
    def program(self) -> Program:
        return compile_plan(self.plan, SQL)

    @cached_property
    def paged(self) -> Paged:
        return compile_pages(self.plan, SQL)

    def run(self, run: Run) -> Iterator[list[object]]:
        """The values, in batches; refused where a count is none."""
        read_counts(self.query, run.parameters)
        return self.program(run)

    def pages(self, run: Run, position: Position | None = None) -> Pages:
        """The values behind a position, in pages; refused where a count is none."""
        read_counts(self.query, run.parameters)
        return self.paged.open(run, position)

    def explain(self) -> str:
        """The plan as text."""
        return explain(self.plan)


def prepare(text: str) -> Statement:
    """The statement of a text; refused where the text is wrong."""
    return _prepare_cached(text) if len(text) <= CACHED_CHARACTERS else Statement(text)


@lru_cache(CACHED_TEXTS)
def _prepare_cached(text: str) -> Statement:
    return Statement(text)


def select(text: str, values: Iterable[object], parameters: Mapping[str, object], clock: Clock) -> list[object]:
    """The rows of a query over values in memory: all of them, in one go.

    >>> select("SELECT VALUE c.a FROM c WHERE c.a > @least", [{"a": 1}, {"a": 2}], {"@least": 1}, Clock())
    [2]
    """
    run = start_run(Listed(values), parameters, clock.ticks, random)
    return [row for batch in prepare(text).run(run) for row in batch]
