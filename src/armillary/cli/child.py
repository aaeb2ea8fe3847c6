"""A server as a child process: started, waited for until ready, stopped by its process id.

Used by `armillary run` and by the pytest plugin, which loads in every pytest run of the machine: this module imports
nothing but small parts of the standard library. The child has a session of its own, so that an interrupt typed at the
terminal reaches the program under test and not the server it still needs; where the system allows it, the child ends
with its parent even if that is killed.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import Final, NamedTuple

__all__ = ["NotReadyError", "Server", "start_server"]

READY_WITHIN: Final = 30.0
STOPPED_WITHIN: Final = 30.0


class NotReadyError(RuntimeError):
    """The child ended, or said nothing in time, before it was ready; its own words are on stderr."""


class Server(NamedTuple):
    """A server that is ready: what a client needs to know."""

    endpoint: str
    http: str
    key: str

    @property
    def connection_string(self) -> str:
        return f"AccountEndpoint={self.endpoint};AccountKey={self.key};"

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a program finds this server."""
        return {
            "ARMILLARY_ENDPOINT": self.endpoint,
            "ARMILLARY_HTTP_ENDPOINT": self.http,
            "ARMILLARY_KEY": self.key,
            "ARMILLARY_CONNECTION_STRING": self.connection_string,
        }


@contextmanager
def start_server(options: Sequence[str]) -> Iterator[Server]:
    """A server started with these options of `serve`, as long as the block lasts."""
    # -P keeps the working folder off the search path: a file `json.py` in it must not reach the server.
    command = [sys.executable, "-P", "-m", "armillary.cli", "serve", *options, "--ready-json", "--with-parent"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            yield _await_ready(process)
        finally:
            _stop(process)


def _await_ready(process: "subprocess.Popen[bytes]") -> Server:
    assert process.stdout is not None
    timer = Timer(READY_WITHIN, process.kill)
    timer.start()
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()
    if not line.endswith(b"\n"):
        raise NotReadyError(f"armillary serve ended with exit code {process.wait()} before it was ready")
    ready = json.loads(line)
    return Server(ready["endpoint"], ready["http"], ready["key"])


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOPPED_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
