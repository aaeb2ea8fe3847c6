"""`armillary run -- COMMAND`: a fresh server around one command, and the exit code of the command."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Final

import click

from armillary.cli.child import NotReadyError, start_server
from armillary.cli.exits import CommandError, Exit
from armillary.cli.options import add_settings, load_settings, repeat_flags

__all__ = ["command", "make_options"]

_FORWARDED: Final = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_NOT_FOUND: Final = 127
_NOT_EXECUTABLE: Final = 126


@add_settings()
@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("--disk", is_flag=True, help="Keep the data in a temporary folder instead of memory.")
@click.argument("arguments", metavar="-- COMMAND...", nargs=-1, required=True)
def command(config_file: Path | None, disk: bool, arguments: tuple[str, ...], **flags: str | bool | None) -> None:
    """Start a fresh server, run COMMAND against it, stop the server, and end with the command's exit code.

    The server keeps its data in memory and listens on a free port of this machine, unless options say otherwise. The
    command finds it by ARMILLARY_ENDPOINT (HTTPS), ARMILLARY_HTTP_ENDPOINT, ARMILLARY_KEY and
    ARMILLARY_CONNECTION_STRING. Signals are passed on to the command; the server outlives it, always.

    \b
    Examples:
      armillary run -- pytest
      armillary run --disk -- npm test
      armillary run --port 8081 --consistency Strong -- ./integration-tests.sh

    Exit codes: the command's own; 128 + N when signal N ended it; 126 or 127 when it cannot be started; 5 when the
    server was not ready.
    """
    load_settings(flags, config_file)  # what is wrong is said here, once, and not by the child
    with TemporaryDirectory(prefix="armillary-") as folder:
        options = make_options(flags, config_file, folder if disk else None)
        try:
            with start_server(options) as server:
                code = _run(arguments, os.environ | server.environment)
        except NotReadyError as error:
            raise CommandError(str(error), Exit.SERVER) from None
    sys.exit(code)


def make_options(flags: dict[str, str | bool | None], config_file: Path | None, folder: str | None) -> list[str]:
    """The options of the server: fresh and out of the way where nothing else was asked for."""
    chosen = dict(flags)
    if folder is not None:
        chosen |= {"data": folder, "memory": False}
    elif chosen["data"] is None and chosen["memory"] is None:
        chosen["memory"] = True
    chosen["port"] = chosen["port"] or "0"
    chosen["log_level"] = chosen["log_level"] or "warning"
    chosen["ready_json"] = None
    return repeat_flags(chosen) + (["--config", str(config_file)] if config_file else [])


def _run(arguments: Sequence[str], environment: dict[str, str]) -> int:
    try:
        process = subprocess.Popen(arguments, env=environment)
    except FileNotFoundError:
        click.echo(f"armillary: the command {arguments[0]!r} is not found", err=True)
        return _NOT_FOUND
    except OSError as error:
        click.echo(f"armillary: the command {arguments[0]!r} cannot be started: {error.strerror}", err=True)
        return _NOT_EXECUTABLE
    with _forward_signals(process):
        code = process.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _forward_signals(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Pass signals on to the command while it runs; we end when it ends.

    An interrupt typed at the terminal reaches the command by itself, as it is in our process group: passing it on would
    deliver it twice, which many programs take for impatience. Without a terminal it is passed on like the others.
    """

    def forward(number: int, _frame: FrameType | None) -> None:
        process.send_signal(number)

    typed = sys.stdin is not None and sys.stdin.isatty()
    handlers: dict[int, Callable[[int, FrameType | None], None] | signal.Handlers] = {
        getattr(signal, name): forward for name in _FORWARDED if hasattr(signal, name)
    }
    handlers[signal.SIGINT] = signal.SIG_IGN if typed else forward
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
