"""The table of partitions: drawn from a page, asked for from a server."""

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from tests.unit.cli.scripted import CASES, Line, Scripted, say, scripted

from armillary.cli.account import Target
from armillary.cli.client import Account, ServerError
from armillary.cli.main import command
from armillary.cli.pages import read_partitions
from armillary.cli.partition_table import draw_partitions

PAGE: dict[str, Any] = json.loads((CASES / "partitions.json").read_text("utf-8"))
ANSWER: Line = say(200, PAGE)


def draw(page: dict[str, Any], width: int, chosen: Target | None = None, colours: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colours, color_system="256" if colours else None, no_color=False
    )
    console.print(draw_partitions(read_partitions(page, chosen), width))
    assert isinstance(console.file, io.StringIO)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def run(account: Account, *arguments: str) -> Result:
    place = ("--endpoint", account.endpoint, "--key", account.key)
    return CliRunner().invoke(command, ["partitions", *arguments, *place])


@pytest.mark.parametrize("width", [80, 140])
def test_the_table(width: int, must_match: Callable[[str, str], None]) -> None:
    text = draw(PAGE, width)
    assert max(map(len, text.splitlines())) <= width
    must_match(f"partitions-{width}.txt", text)


def test_the_table_in_colours(must_match: Callable[[str, str], None]) -> None:
    must_match("partitions-colour.txt", draw(PAGE, 120, Target("shop"), colours=True))


def test_one_database_or_container_may_be_chosen() -> None:
    assert [line.split()[0] for line in draw(PAGE, 100, Target("shop", "carts")).splitlines()[2:]] == [
        "shop/carts", "RANGE", "0"
    ]  # fmt: skip
    assert "scaled" not in draw(PAGE | {"scale": 1.0}, 100)
    assert draw(PAGE, 100, Target("none")) == "There are no containers.\n"


@pytest.mark.parametrize("page", [{}, {"scale": 1, "now": 0, "containers": [{"database": "a"}]}])
def test_a_page_of_another_form_is_told(page: dict[str, Any]) -> None:
    with pytest.raises(ServerError, match="a page of another form: "):
        read_partitions(page)


def test_the_page_is_asked_for_and_drawn() -> None:
    with scripted(ANSWER) as account:
        result = run(account, "shop/orders")
    assert [(method, path) for method, path, _, _ in Scripted.seen] == [("GET", "/_armillary/partitions")]
    assert (result.exit_code, result.output.count("RANGE")) == (0, 1)
    assert "5,100 RU, 1,300 x 429" in result.output


def test_json_is_the_page_without_the_others() -> None:
    with scripted(ANSWER) as account:
        result = run(account, "logs", "--json")
    assert json.loads(result.output) == PAGE | {"containers": PAGE["containers"][2:]}


def test_a_server_of_another_kind_is_told() -> None:
    with scripted(say(404, {"code": "NotFound", "message": "This server has no such page"})) as account:
        result = run(account)
    assert (result.exit_code, result.output.count("\n")) == (5, 1)
    assert "the server has no page /_armillary/partitions" in result.output


def test_watching_needs_a_terminal_or_json() -> None:
    with scripted() as account:
        result = run(account, "--watch")
    assert result.exit_code == 2
    assert "--watch draws on a terminal" in result.output


def start(account: Account, output: int, *arguments: str) -> "subprocess.Popen[bytes]":
    place = ("--endpoint", account.endpoint, "--key", account.key)
    variables = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": "100"}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "armillary.cli", "partitions", *arguments, *place], stdout=output, env=variables
    )


def test_watched_json_is_a_line_a_second_until_it_is_interrupted() -> None:
    with scripted(*[ANSWER] * 60) as account, start(account, subprocess.PIPE, "--watch", "--json") as process:
        assert process.stdout is not None
        pages = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert pages == [PAGE, PAGE]


def test_a_terminal_is_drawn_on_again_and_again() -> None:
    here, there = pty.openpty()
    text = b""
    with scripted(*[ANSWER] * 60) as account, start(account, there, "--watch", "logs/events") as process:
        os.close(there)
        while text.count(b"RANGE") < 2 and select.select([here], [], [], 30)[0]:
            text += os.read(here, 4096)
        process.send_signal(signal.SIGINT)
        while select.select([here], [], [], 30)[0] and (rest := read_rest(here)):
            text += rest
        assert process.wait(30) == 0
    os.close(here)
    assert text.count(b"RANGE") >= 2
    assert b"\x1b[1A" in text  # the second is drawn over the first
    assert b"autoscale to 4,000 RU/s, now at 10% of it" in text


def read_rest(terminal: int) -> bytes:
    """What is left to read; nothing when the other end is closed."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
