"""`armillary check`: walk everything that is stored and say what is wrong.

A folder that nobody uses is opened and walked here. One in use is walked by the server that uses it, found by the file
it left in the folder: the same walk, the same lines, the same exit code.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import click

from armillary.cli.client import Account, Client
from armillary.cli.exits import CommandError, Exit
from armillary.cli.options import add_settings, load_settings
from armillary.cli.running import CHECK_PAGE, find_running
from armillary.clock import Clock
from armillary.database import Database
from armillary.errors import Kind, Refusal
from armillary.kv.lmdb import LmdbEngine
from armillary.store.check import Report

__all__ = ["command"]


@add_settings("data")
@click.command(name="check")
def command(config_file: Path | None, data: str | None) -> None:
    """Check a data folder, in use or not: items, logs, records, numbers, unique keys, expiry and maps must agree.

    \b
    Examples:
      armillary check
      armillary check --data /var/lib/armillary

    Exit codes: 0 nothing is wrong, 1 something is, 3 the folder cannot be used, 5 its server does not answer.
    """
    settings, _ = load_settings({"data": data}, config_file)
    if not (settings.data / "format").is_file():  # opening it would make one
        raise CommandError(f"{settings.data} is not a data folder: name one with --data", Exit.DATA)
    try:
        report = _check_here(settings.data)
    except Refusal as refusal:
        if refusal.kind is not Kind.FOLDER_IN_USE:
            raise
        report = _ask_server(settings.data)
    for line in describe_report(report):
        click.echo(line)
    if report.complaints:
        raise CommandError(f"{len(report.complaints)} things are wrong in {settings.data}", Exit.WRONG)


def describe_report(report: Report) -> Iterator[str]:
    """The lines of a report: what is wrong, what is worth a note, what was looked at."""
    yield from report.complaints
    yield from (f"note: {note}" for note in report.notes)
    counts = f"{report.containers} containers, {report.partitions} partitions, {report.items} items"
    yield f"{counts}: {'nothing is wrong' if not report.complaints else f'{len(report.complaints)} wrong'}"


def _check_here(folder: Path) -> Report:
    engine = LmdbEngine(folder)
    try:
        return Database(engine, Clock()).check()
    finally:
        engine.close()


def _ask_server(folder: Path) -> Report:
    running = find_running(folder)
    client = Client(Account(running.http, running.key))
    try:
        return Report(**json.loads(client.must_send("GET", CHECK_PAGE).body))
    finally:
        client.close()
