"""Lines on stderr: one for each request that was refused or failed, in two forms."""

import json
import logging
from collections.abc import Iterator

import pytest

from armillary.server.log import LOG, find_header, log_failure, log_request, set_up
from armillary.wire.http import Request, Response

HEAD = b"x-ms-activity-id: one-two\r\nX-MS-Substatus: 1002\r\n"


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    before = LOG.handlers[:], LOG.propagate, LOG.level
    yield
    LOG.handlers[:], LOG.propagate = before[:2]
    LOG.setLevel(before[2])


def make_request() -> Request:
    request = Request()
    request.method, request.path = b"GET", b"/dbs/a%0Ab"
    return request


def test_text_lines(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("info", "text")
    log_request(make_request(), Response(404, HEAD), 0.00123)
    (line,) = capsys.readouterr().err.splitlines()
    assert "Z info refused " in line
    assert line.endswith("status=404 substatus=1002 method=GET path=/dbs/a%0Ab activity=one-two ms=1.23")


def test_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("info", "json")
    log_request(make_request(), Response(500, HEAD), 0.00123)
    try:
        raise LookupError("gone")
    except LookupError as error:
        log_failure(make_request(), "an-activity", error)
    failed, fault = map(json.loads, capsys.readouterr().err.splitlines())
    assert (failed["level"], failed["message"], failed["status"], failed["substatus"]) == (
        "error",
        "failed",
        500,
        "1002",
    )
    assert fault["activity"] == "an-activity"
    assert "LookupError: gone" in fault["traceback"]


@pytest.mark.parametrize(("level", "lines"), [("info", 2), ("warning", 1), ("error", 1)])
def test_levels(capsys: pytest.CaptureFixture[str], level: str, lines: int) -> None:
    set_up(level, "text")
    log_request(make_request(), Response(404, HEAD), 0)
    log_request(make_request(), Response(503, HEAD), 0)
    LOG.debug("nobody sees this")
    assert len(capsys.readouterr().err.splitlines()) == lines


def test_setting_up_twice_writes_once(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("info", "text")
    set_up("info", "text")
    LOG.info("once")
    assert capsys.readouterr().err.count("once") == 1
    assert LOG.level == logging.INFO


def test_headers_of_an_answer_are_found() -> None:
    assert find_header(Response(200, HEAD), b"x-ms-substatus") == "1002"
    assert find_header(Response(200, HEAD), b"x-ms") == ""
