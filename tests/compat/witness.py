"""A plug-in of the pytest that runs the suite: writes down how each test ended, and what the server refused meanwhile.

One line of JSON for each test, as its last phase ends. A refusal is what the client makes of an answer of 400 or more;
it counts for the test that runs when the client sees it, and one that ends a test is found in its exception and in what
led to that.
"""

import json
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from azure.cosmos import exceptions

_LONGEST: Final = 300


class Ending(NamedTuple):
    """How a test ended; `raised` are the refusals in the exception that ended it, `refused` all that came before."""

    test: str
    outcome: str
    message: str
    raised: list[str]
    refused: list[str]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--witness", type=Path, help="the file for what was seen")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("witness")
    if path is not None:
        config.pluginmanager.register(Witness(path), "witness-of-the-suite")


class Witness:
    """Collects what belongs to the test that runs."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._refused: list[str] = []
        self._worst = ("passed", "", list[str]())
        _listen(self._refused)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._refused.clear()
        self._worst = ("passed", "", [])
        result = yield
        ending = Ending(item.nodeid, *self._worst, list(dict.fromkeys(self._refused)))
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(ending._asdict()) + "\n")
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.outcome != "passed" and self._worst[0] != "failed":
            error = call.excinfo.value if call.excinfo else None
            raised = [
                _describe(found) for found in _chain(error) if isinstance(found, exceptions.CosmosHttpResponseError)
            ]
            self._worst = (report.outcome, _first_line(error), raised)
        return report


def _listen(refused: list[str]) -> None:
    """Let the client's own error note each answer it is made of."""
    kind: Any = exceptions.CosmosHttpResponseError
    make = kind.__init__

    def note(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        refused.append(_describe(self))

    kind.__init__ = note


def _describe(error: Any) -> str:
    """Status, substatus, and the server's own words without the activity."""
    text = str(error.http_error_message or error.message or "")
    with suppress(ValueError, TypeError, KeyError):
        text = str(json.loads(text)["message"])
    return f"{error.status_code}/{error.sub_status or 0} {text.splitlines()[0] if text else ''}"[:_LONGEST]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _first_line(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:_LONGEST] if error is not None else ""
