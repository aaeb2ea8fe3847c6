"""`armillary serve`: the one place where engine, database, API and server meet."""

import ctypes
import json
import signal
import sys
from pathlib import Path
from typing import Final

import click

from armillary import __version__
from armillary.cli.exits import CommandError, Exit
from armillary.cli.options import add_settings, load_settings
from armillary.cli.running import Running, forget_running, note_running
from armillary.config import Settings
from armillary.server.application import make_app, make_jobs, prepare
from armillary.server.start import Ready, serve

__all__ = ["command", "describe_ready"]

_PR_SET_PDEATHSIG: Final = 1
_SNIPPET: Final = """\
from azure.cosmos import CosmosClient, PartitionKey
client = CosmosClient("{http}", "{key}")
orders = client.create_database_if_not_exists("shop").create_container_if_not_exists("orders", PartitionKey("/who"))
orders.upsert_item({{"id": "1001", "who": "ada", "total": 42.5}})
print(orders.read_item("1001", partition_key="ada"))"""


@add_settings()
@click.command(name="serve")
@click.option("--with-parent", is_flag=True, help="Stop when the process that started this one ends (Linux only).")
def command(config_file: Path | None, with_parent: bool, **flags: str | bool | None) -> None:
    """Start the server, and serve until it is told to stop (SIGTERM, Ctrl-C).

    HTTP and HTTPS are served on the same port, on this machine only unless --host says otherwise. Every option can be
    set by a variable or in a file as well: see `armillary config`.

    \b
    Examples:
      armillary serve
      armillary serve --memory --port 0
      armillary serve --data /var/lib/armillary --host 0.0.0.0 --log-format json
      armillary serve --memory --port 0 --ready-json > ready.json &

    Exit codes: 0 stopped as told, 2 a wrong setting, 3 the data folder cannot be used, 4 the address cannot be used.
    """
    settings, _ = load_settings(flags, config_file)
    if with_parent:
        _follow_parent()
    started = False

    def announce(ready: Ready) -> None:
        nonlocal started
        started = True
        if ready.data is not None:
            note_running(ready.data, Running(ready.endpoint, ready.http, ready.key, ready.pid))
        click.echo(json.dumps(show_ready(ready)) if settings.ready_json else describe_ready(ready))

    try:
        code = serve(settings, make_app, announce, make_jobs, prepare)
    except OSError as error:
        if started:
            raise
        raise CommandError(_explain(settings, error), Exit.DATA) from None
    finally:
        if started and not settings.memory:
            forget_running(settings.data)
    sys.exit(code)


def show_ready(ready: Ready) -> dict[str, object]:
    """The line for programs."""
    return {"ready": True, "endpoint": ready.endpoint, "http": ready.http, "key": ready.key, "pid": ready.pid}


def describe_ready(ready: Ready) -> str:
    """The lines for people: what a client needs to know, and a first program."""
    data = "in memory, gone when the server stops" if ready.data is None else str(ready.data.resolve())
    return "\n".join((
        f"endpoint    {ready.endpoint} (and {ready.http})",
        f"key         {ready.key}",
        f"data        {data}",
        f"connection  {ready.connection_string}",
        "",
        _SNIPPET.format(http=ready.http, key=ready.key),
        "",
        f"armillary {__version__} serves until Ctrl-C",
    ))  # fmt: skip


def _follow_parent() -> None:
    """Be told to stop when the parent ends, also when it is killed and can tell nobody."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _explain(settings: Settings, error: OSError) -> str:
    blocked = isinstance(error, FileExistsError | NotADirectoryError)
    reason = "a file is in its place" if blocked else (error.strerror or str(error)).lower()
    return f"the data folder {settings.data} cannot be used: {reason}; choose another with --data, or use --memory"
