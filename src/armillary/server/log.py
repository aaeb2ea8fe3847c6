"""What is worth a line on stderr: refused and failed requests, and the life of the processes.

Two forms, text and JSON, each line whole in itself. Requests that went well cost nothing here; a refused one costs its
line only where the level asks for it: refusals are `info`, failures of the server `error`.
"""

import logging
import sys
import time
import traceback
from typing import Final

from armillary.json import dump
from armillary.wire.http import Request, Response

__all__ = ["LOG", "find_header", "log_failure", "log_request", "set_up"]

LOG: Final = logging.getLogger("armillary")


def set_up(level: str, form: str) -> None:
    """Send lines of this level and above to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLine() if form == "json" else _TextLine())
    LOG.handlers[:] = [handler]
    LOG.propagate = False
    LOG.setLevel(level.upper())


def log_request(request: Request, response: Response, seconds: float) -> None:
    """One line for a request that was refused or failed."""
    level = logging.ERROR if response.status >= 500 else logging.INFO
    if LOG.isEnabledFor(level):
        fields = {
            "status": response.status,
            "substatus": find_header(response, b"x-ms-substatus") or "0",
            "method": request.method.decode("latin-1"),
            "path": request.path.decode("latin-1"),
            "activity": find_header(response, b"x-ms-activity-id"),
            "ms": round(seconds * 1000, 2),
        }
        LOG.log(level, "failed" if response.status >= 500 else "refused", extra={"fields": fields})


def log_failure(request: Request, activity: str, error: BaseException) -> None:
    """A fault of ours while a request was answered: where it happened."""
    fields = {
        "method": request.method.decode("latin-1"),
        "path": request.path.decode("latin-1"),
        "activity": activity,
    }
    LOG.error("fault", exc_info=error, extra={"fields": fields})


def find_header(response: Response, name: bytes) -> str:
    """The value of a header of an answer; empty where it has none."""
    for line in response.head.split(b"\r\n"):
        found, _, value = line.partition(b":")
        if found.lower() == name:
            return value.strip().decode("latin-1")
    return ""


def _describe(record: logging.LogRecord) -> dict[str, object]:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    described: dict[str, object] = {"time": f"{moment}.{int(record.msecs):03}Z", "level": record.levelname.lower()}
    described["message"] = record.getMessage()
    described["pid"] = record.process
    described.update(getattr(record, "fields", {}))
    return described


class _JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        described = _describe(record)
        if record.exc_info:
            described["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return dump(described).decode()


class _TextLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        described = _describe(record)
        line = f"{described.pop('time')} {described.pop('level')} {described.pop('message')}"
        line += "".join(f" {name}={value}" for name, value in described.items())
        if record.exc_info:
            line += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
        return line
