"""`armillary run`: what server it asks for, and what it says when there is none."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from armillary.cli.child import Server
from armillary.cli.main import command
from armillary.cli.run import make_options

NONE: dict[str, str | bool | None] = {
    "data": None, "memory": None, "port": None, "log_level": None, "ready_json": None, "consistency": None
}  # fmt: skip


def test_the_server_is_fresh_and_out_of_the_way() -> None:
    assert make_options(NONE, None, None) == ["--memory", "--port", "0", "--log-level", "warning"]


def test_what_was_asked_for_is_handed_on() -> None:
    asked = NONE | {"port": "9000", "consistency": "Strong", "data": "here", "ready_json": True}
    options = make_options(asked, Path("a.toml"), None)
    assert options == [
        *("--data", "here", "--port", "9000", "--consistency", "Strong", "--log-level", "warning"),
        *("--config", "a.toml"),
    ]


def test_a_temporary_folder_takes_the_place_of_memory() -> None:
    options = make_options(NONE, None, "/tmp/x")
    assert options[:3] == ["--data", "/tmp/x", "--no-memory"]


def test_a_wrong_setting_is_told_before_anything_starts() -> None:
    result = CliRunner().invoke(command, ["run", "--port", "x", "--", "true"])
    assert (result.exit_code, result.output.count("\n")) == (2, 1)


def test_a_command_is_needed() -> None:
    assert CliRunner().invoke(command, ["run"]).exit_code == 2


def test_programs_find_the_server_by_four_variables() -> None:
    server = Server("https://127.0.0.1:1/", "http://127.0.0.1:1/", "a2V5")
    assert server.environment == {
        "ARMILLARY_ENDPOINT": "https://127.0.0.1:1/",
        "ARMILLARY_HTTP_ENDPOINT": "http://127.0.0.1:1/",
        "ARMILLARY_KEY": "a2V5",
        "ARMILLARY_CONNECTION_STRING": "AccountEndpoint=https://127.0.0.1:1/;AccountKey=a2V5;",
    }


def test_a_server_that_does_not_start_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    result = CliRunner().invoke(command, ["run", "--data", str(file / "below"), "--", "true"])
    assert result.exit_code == 5
    assert "before it was ready" in result.output
