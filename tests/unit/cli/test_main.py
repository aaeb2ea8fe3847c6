"""The command: verbs, help, and how failures end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from armillary.cli.exits import CommandError, Exit, code_of
from armillary.cli.main import VERBS, Verbs, command
from armillary.errors import Kind, Refusal


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


@pytest.fixture(autouse=True)
def plain_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings file and no variables of this machine."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ARMILLARY_")]:
        monkeypatch.delenv(name)


def test_help_names_every_verb() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert all(f"\n  {verb} " in result.output for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_has_examples(verb: str) -> None:
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.output
    assert f"  armillary {verb}" in result.output


@pytest.mark.parametrize("verb", ["database", "container"])
@pytest.mark.parametrize("part", ["create", "list", "show", "scale", "delete"])
def test_help_of_every_part_of_a_verb_has_examples(verb: str, part: str) -> None:
    result = run(verb, part, "--help")
    assert result.exit_code == 0
    assert f"  armillary {verb} {part}" in result.output


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.output.split()[0]) == (0, "armillary")


def test_unknown_verbs_and_options_are_usage_errors() -> None:
    assert run("nothing").exit_code == 2
    assert run("config", "--nothing").exit_code == 2


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (Refusal(Kind.FOLDER_IN_USE, folder="x", pid=7), 3, "armillary: The data folder x is in use by another server"),
        (Refusal(Kind.FORMAT_NEWER, folder="x", found=2, known=1), 3, "armillary: The data folder x has format 2"),
        (Refusal(Kind.NOT_BUILT, what="It"), 2, "armillary: It is not built yet"),
        (CommandError("no server there", Exit.SERVER), 5, "armillary: no server there"),
        (KeyboardInterrupt(), 130, "armillary: interrupted"),
    ],
)
def test_failures_end_in_one_line_and_a_code(error: BaseException, code: int, line: str) -> None:
    def fail(*_: object) -> None:
        raise error

    result = CliRunner().invoke(Verbs(callback=fail, invoke_without_command=True), [])
    assert result.exit_code == code
    assert result.output.startswith(line)
    assert result.output.count("\n") == 1


def test_every_kind_has_an_exit_code() -> None:
    assert {code_of(kind) for kind in Kind} == {Exit.USAGE, Exit.DATA, Exit.ADDRESS, Exit.SERVER}


@pytest.mark.parametrize(("arguments", "verbs"), [(["key", "1"], {"key"}), (["--help"], set())])
def test_only_the_verb_in_use_is_loaded(arguments: list[str], verbs: set[str]) -> None:
    code = f"import sys, armillary.cli.main as m; m.command({arguments}, standalone_mode=False); print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = {name.rpartition(".")[2] for name in output.split() if name.startswith("armillary.cli.")}
    assert loaded == {"main", "exits"} | verbs


def test_config_lists_values_with_their_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("armillary.toml").write_text('[log]\nlog_format = "json"\n')
    monkeypatch.setenv("ARMILLARY_PORT", "9000")
    monkeypatch.setenv("ARMILLARY_KEY", "QUJD" * 12)
    result = run("config", "--max-body-bytes", "4MiB", "--no-memory")
    rows = {line.split()[0]: line.split()[1:] for line in result.output.splitlines()}
    assert rows["port"] == ["9000", "ARMILLARY_PORT"]
    assert rows["key"] == ["(hidden)", "ARMILLARY_KEY"]
    assert rows["max_body_bytes"] == ["4MiB", "--max-body-bytes"]
    assert rows["memory"] == ["false", "--memory"]
    assert rows["log_format"] == ["json", "armillary.toml"]
    assert rows["data"] == ["armillary-data", "default"]
    assert "QUJD" not in result.output


def test_config_refuses_a_wrong_setting_in_one_line() -> None:
    result = run("config", "--port", "eighty")
    assert result.exit_code == 2
    assert result.output == "armillary: The setting port (--port) is not acceptable: 'eighty' is not a whole number\n"


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["5"], ["effective key  19C08621B135968252FB34B4CF66F811", 'range 1 of 1  ["", "FF")']),
        (
            ['"redmond"', "--paths", "/city", "--partitions", "2"],
            [
                "effective key  22E342F38A486A088463DFF7838A5963",
                'range 2 of 2  ["1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "FF")',
            ],
        ),
        (
            ['"redmond"', "--version", "1", "--partitions", "2"],
            ["effective key  05C1EFE313830C087366656E706F6500", 'range 2 of 2  ["05C1DFFFFFFFFC", "FF")'],
        ),
        (["undefined"], ["effective key  11622DAA78F835834610ABE56EFF5CB5", 'range 1 of 1  ["", "FF")']),
        (
            ["5", "--paths", "/a,/b"],
            ["effective key of the prefix  19C08621B135968252FB34B4CF66F811", 'range 1 of 1  ["", "FF")'],
        ),
    ],
)
def test_key_shows_effective_key_and_range(arguments: list[str], lines: list[str]) -> None:
    assert run("key", *arguments).output.splitlines() == lines


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["redmond"], "'redmond' is not a key value"),
        (["[1]"], "'[1]' is not a key value"),
        (["1,2"], "'1,2' is not a key value"),
        (["1", "2"], "Partition key provided either doesn't correspond"),
        (["1", "--paths", "city"], "must contain only valid characters"),
    ],
)
def test_key_refuses_what_is_no_key(arguments: list[str], words: str) -> None:
    result = run("key", *arguments)
    assert result.exit_code == 2
    assert words in result.output
