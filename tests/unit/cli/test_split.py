"""`armillary split` against a peer that says what it is told to."""

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.unit.cli.scripted import CASES, Line, Scripted, say, scripted

from armillary.cli.main import command

SPLITS: dict[str, Any] = json.loads((CASES / "splits.json").read_text("utf-8"))
MIDDLE = "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
PLAN = {
    "range": "0",
    "at": MIDDLE,
    "items": 12345,
    "bytes": 8_388_608,
    "children": [{"min": "", "max": MIDDLE}, {"min": MIDDLE, "max": "FF"}],
}
BEGUN = say(202, {"split": "7", "range": "0", "at": MIDDLE})


def run(*arguments: str, script: tuple[Line, ...]) -> Result:
    with scripted(*script) as account:
        place = ("--endpoint", account.endpoint, "--key", account.key)
        return CliRunner().invoke(command, ["split", "shop/orders", *arguments, *place])


def splits(**fields: Any) -> Line:
    """The page of splits, with these fields in the one that was begun."""
    return say(200, {"splits": [row | (fields if row["id"] == "7" else {}) for row in SPLITS["splits"]]})


def sent() -> list[tuple[str, str, Any]]:
    return [(method, path, json.loads(body) if body else None) for method, path, _, body in Scripted.seen]


def order(**fields: object) -> dict[str, object]:
    return {"database": "shop", "container": "orders", "range": None, "at": None, "dry_run": False, **fields}


def test_a_split_is_begun() -> None:
    result = run(script=(BEGUN,))
    assert (result.exit_code, result.output) == (
        0,
        f"split 7 of shop/orders, range 0 at {MIDDLE}, is under way\n",
    )
    assert sent() == [("POST", "/_armillary/split", order())]


def test_the_range_and_the_place_may_be_chosen() -> None:
    result = run("--range", "0", "--at", MIDDLE, "--json", script=(BEGUN,))
    assert json.loads(result.output) == {"split": "7", "range": "0", "at": MIDDLE}
    assert sent() == [("POST", "/_armillary/split", order(range="0", at=MIDDLE))]


def test_a_dry_run_tells_what_would_move() -> None:
    result = run("--dry-run", script=(say(200, PLAN),))
    assert result.output.splitlines() == [
        f"range 0 of shop/orders would be split at {MIDDLE}",
        "12,345 items, 8,388,608 bytes would be copied, into",
        f'  ["", "{MIDDLE}")',
        f'  ["{MIDDLE}", "FF")',
    ]
    assert sent() == [("POST", "/_armillary/split", order(dry_run=True))]
    assert json.loads(run("--dry-run", "--json", script=(say(200, PLAN),)).output) == PLAN


def test_a_split_is_waited_for() -> None:
    done = splits(state="done", copied=12345, seconds=2.5)
    result = run("--wait", script=(BEGUN, splits(), splits(state="sealed"), done))
    assert (result.exit_code, result.output) == (
        0,
        f"split 7 of shop/orders, range 0 at {MIDDLE}, is done, 12,345 items, after 2.5 s\n",
    )
    assert [path for _, path, _ in sent()] == ["/_armillary/split", *["/_armillary/splits"] * 3]
    result = run("--wait", "--json", script=(BEGUN, done))
    assert json.loads(result.output) == {"split": "7", "state": "done", "items": 12345, "seconds": 2.5}


@pytest.mark.parametrize(("error", "words"), [("the disk is full", ": the disk is full"), (None, "")])
def test_a_split_that_was_cancelled_is_told(error: str | None, words: str) -> None:
    result = run("--wait", script=(BEGUN, splits(state="cancelled", error=error)))
    assert result.exit_code == 1
    assert result.output.endswith(f", was cancelled{words}\n")


def test_of_a_split_that_is_over_little_may_be_told() -> None:
    over = {name: SPLITS["splits"][1][name] for name in ("id", "database", "container", "range", "reason")}
    done = say(200, {"splits": [over | {"state": "done"}]})
    result = run("--wait", script=(BEGUN, splits(copied=0, items=12), done))
    assert re.search(r"is done, 12 items, after [\d.]+ s\n", result.output)
    assert re.search(r"is done after 0\.\d s\n", run("--wait", script=(BEGUN, done)).output)


def test_a_split_that_is_gone_is_told() -> None:
    result = run("--wait", script=(BEGUN, say(200, {"splits": []})))
    assert (result.exit_code, result.output) == (5, "armillary: the server no longer tells of split 7\n")


def test_a_split_is_cancelled() -> None:
    result = run("--cancel", "7", script=(say(200, {"split": "7"}),))
    assert (result.exit_code, result.output) == (0, "split 7 of shop/orders is cancelled\n")
    assert sent() == [("POST", "/_armillary/split/cancel", {"split": "7"})]
    late = run("--cancel", "7", script=(say(200, {"split": "7", "state": "done"}),))
    assert (late.exit_code, "was done before" in late.output) == (1, True)


def test_what_the_server_refuses_is_told_in_its_words() -> None:
    refusal = say(400, {"code": "BadRequest", "message": 'All data of range 0 is of one key value, ["a"]'})
    result = run(script=(refusal,))
    assert (result.exit_code, result.output) == (
        5,
        'armillary: POST /_armillary/split answered 400: All data of range 0 is of one key value, ["a"]\n',
    )


@pytest.mark.parametrize(
    "arguments", [("--cancel", "7", "--wait"), ("--cancel", "7", "--range", "0"), ("--dry-run", "--wait")]
)
def test_orders_that_contradict_themselves_are_usage_errors(arguments: tuple[str, ...]) -> None:
    assert run(*arguments, script=()).exit_code == 2


def test_an_answer_of_another_form_is_told() -> None:
    result = run(script=(say(202, {"begun": True}),))
    assert (result.exit_code, result.output) == (
        5,
        "armillary: the server answered with a page of another form: KeyError 'split'\n",
    )
