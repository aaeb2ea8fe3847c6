"""The rewritten parts of every case, run on each partition alone and merged by a client, are the answer of the case."""

from typing import Any

import pytest
from tests.cases.sqlcases import SqlCase, load_data, load_sql_cases
from tests.unit.lang.sql.merging import execute
from tests.unit.lang.sql.test_cases import answer_whole, begin, spell
from tests.unit.query.shelves import Shelves

from armillary.errors import Refusal
from armillary.keys import define_key
from armillary.lang.sql import prepare
from armillary.lang.sql.distribution import Distribution, distribute
from armillary.query.source import Progress, Reading

CASES = [case for case in load_sql_cases() if case.refused is None and case.data != "nothing"]


def try_to_distribute(case: SqlCase) -> Distribution | None:
    try:
        return distribute(prepare(case.query), case.parameters, define_key("/pk"))
    except Refusal as refusal:
        assert "Compositions" in str(refusal)  # noqa: PT017 - nothing else that runs has no plan
        return None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.place)
def test_the_parts_merge_into_the_answer(case: SqlCase) -> None:
    found = try_to_distribute(case)
    if found is None:
        return
    items = [{**item, "_rid": f"{number:08}"} for number, item in enumerate(load_data(case.data))]
    for parts in (1, 2, 7):
        source = Shelves(items, parts)

        def ask(text: str, source: Shelves = source) -> list[list[Any]]:
            answers = []
            for whole in source.bounds:
                if any(one.overlaps(whole) for one in found.ranges):
                    run = begin(source, case.parameters)._replace(reading=Reading(source, (Progress(whole),)))
                    answers.append([value for batch in prepare(text).run(run) for value in batch])
            return answers

        merged = execute(found, case.query, ask)
        whole = answer_whole(prepare(case.query).plan, Shelves(items, 1), case.parameters)
        if case.some is not None:
            assert len(merged) == case.some
        elif found.order:
            assert [spell(row) for row in merged] == [spell(row) for row in whole]
        else:
            assert sorted(map(spell, merged)) == sorted(map(spell, whole))
