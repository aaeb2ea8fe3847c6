"""`armillary load`: items from a file or a pipe into a container, over many connections.

Records are sent by a pool of threads and answered for in the order of the file: so a checkpoint is one number, and bad
lines are told in their order. Sending something twice is harmless (an upsert, or a create whose 409 is understood), so
a load may be interrupted anywhere and repeated.
"""

import json
import os
import re
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Final, NamedTuple

import click

from armillary.cli.account import Container, add_container
from armillary.cli.checkpoint import Checkpoint
from armillary.cli.client import Account, Answer, Client, ServerError, name_path
from armillary.cli.exits import CommandError, Exit
from armillary.cli.meter import open_meter
from armillary.cli.records import Record, RecordsError, iter_records
from armillary.errors import Refusal
from armillary.json import parse_object
from armillary.keys import KeyDefinition, read_definition
from armillary.values import UNDEFINED

__all__ = ["command"]

_IN_FLIGHT: Final = 16  # records under way for each connection
_MOST_TOLD: Final = 100
_CHECKPOINT_EVERY: Final = 1.0
_CONFLICT: Final = 409
# The next record would fare no better: not let in, nothing there, or the server itself in trouble.
_HOPELESS: Final = frozenset((401, 404, 429, 449))


class Outcome(NamedTuple):
    """What became of a record: what it cost, and what was wrong with it."""

    charge: float
    problem: str = ""


class Report:
    """The records that were refused: told as they are found, counted beyond that."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, place: str, problem: str) -> None:
        self.count += 1
        if self.count <= _MOST_TOLD:
            click.echo(f"{place}: {problem}", err=True)
        elif self.count == _MOST_TOLD + 1:
            click.echo("more is wrong than is shown here; the rest is counted", err=True)


@click.command(name="load")
@click.argument("source", type=click.File("rb"))
@add_container
@click.option("--connections", type=click.IntRange(1, 256), default=8, help="Connections used at once.  [8]")
@click.option(
    "--existing",
    type=click.Choice(("replace", "keep", "refuse")),
    default="replace",
    help="What happens to an item that is there already.  [replace]",
)
@click.option("--partition-key", metavar="PATHS", help="Make database and container with this key where missing.")
@click.option("--checkpoint", type=click.Path(path_type=Path), metavar="FILE", help="Go on from here after a stop.")
def command(
    source: BufferedReader,
    target: Container,
    connections: int,
    existing: str,
    partition_key: str | None,
    checkpoint: Path | None,
) -> None:
    """Load the items of SOURCE, a file of JSON lines or one JSON array; - is standard input.

    What cannot be loaded is told by its line (or its place in the array) and does not stop the rest. Throttled requests
    are sent again. With --checkpoint, the same command goes on where the last one stopped. When an id stands in SOURCE
    twice, either may win, unless --connections is 1.

    \b
    Examples:
      armillary load orders.jsonl -d shop -c orders
      armillary load orders.json -d shop -c orders --partition-key /customer
      armillary load big.jsonl -d shop -c orders --connections 32 --checkpoint big.done
      armillary dump -d shop -c orders --endpoint URL --key KEY | armillary load - -d shop -c orders

    Exit codes: 0 all loaded, 1 some records were refused, 2 wrong usage, 5 the server cannot be reached or refused.
    """
    if partition_key is not None:
        _make_container(target, partition_key)
    definition = _read_definition(target)
    keep = Checkpoint(checkpoint, {"load": source.name, "into": target.account.endpoint.rstrip("/") + target.path})
    done, report = _done_before(keep), Report()
    loader = Loader(target, definition, existing)
    with open_meter("loading", _size_of(source)) as meter, _keep_number(keep, done) as advance:
        for record, outcome in loader.send_all(_records(source, done, report), connections):
            if outcome.problem:
                report.add(record.place, outcome.problem)
            meter.add(0 if outcome.problem else 1, outcome.charge, record.read)
            advance(record.number)
    keep.remove()
    click.echo(meter.describe(), err=True)
    if report.count:
        raise CommandError(f"{report.count:,} records were not loaded", Exit.WRONG)


class Loader:
    """Sends records; every thread has a connection of its own."""

    def __init__(self, target: Container, definition: KeyDefinition, existing: str) -> None:
        self._account: Account = target.account
        self._path = target.path + "/docs"
        self._definition = definition
        self._existing = existing
        self._threads = threading.local()

    def send_all(self, records: Iterator[Record], connections: int) -> Iterator[tuple[Record, Outcome]]:
        """Each record with what became of it, in the order of the records."""
        pool = ThreadPoolExecutor(connections)
        waiting: deque[tuple[Record, Future[Outcome]]] = deque()
        try:
            for record in records:
                waiting.append((record, pool.submit(self.send, record.body)))
                while len(waiting) >= connections * _IN_FLIGHT or (waiting and waiting[0][1].done()):
                    first, future = waiting.popleft()
                    yield first, future.result()
            for first, future in waiting:
                yield first, future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def send(self, body: bytes) -> Outcome:
        """Send one record."""
        try:
            item = parse_object(body)
            key: list[object] = [{} if value is UNDEFINED else value for value in self._definition.values_of(item)]
        except Refusal as refusal:
            return Outcome(0.0, str(refusal))
        headers = {"x-ms-documentdb-partitionkey": json.dumps(key)}  # in a header: escaped, not UTF-8
        if self._existing == "replace":
            headers["x-ms-documentdb-is-upsert"] = "true"
        return self._judge(self._client().send("POST", self._path, headers | {"Prefer": "return=minimal"}, body))

    def _judge(self, answer: Answer) -> Outcome:
        if answer.status < 300 or (answer.status == _CONFLICT and self._existing == "keep"):
            return Outcome(answer.charge)
        if answer.status in _HOPELESS or answer.status >= 500:
            raise ServerError(f"the server answered {answer.status}: {answer.message}")
        return Outcome(answer.charge, f"{answer.status} {answer.message}")

    def _client(self) -> Client:
        client: Client | None = getattr(self._threads, "client", None)
        if client is None:
            client = self._threads.client = Client(self._account)
        return client


def _records(source: BufferedReader, done: int, report: Report) -> Iterator[Record]:
    """The records after those done before; what makes the rest unreadable is told like a bad record."""
    try:
        yield from (record for record in iter_records(source) if record.number > done)
    except RecordsError as error:
        report.add(source.name, str(error))


@contextmanager
def _keep_number(keep: Checkpoint, done: int) -> Iterator[Callable[[int], None]]:
    """Call it with what is done: kept now and then, and once more when the block is left by an error."""
    last = time.monotonic()

    def advance(number: int) -> None:
        nonlocal done, last
        done = number
        if time.monotonic() - last > _CHECKPOINT_EVERY:
            last = time.monotonic()
            keep.write({"number": done})

    try:
        yield advance
    except BaseException:
        keep.write({"number": done})
        raise


def _done_before(keep: Checkpoint) -> int:
    number = keep.read().get("number", 0)
    return number if isinstance(number, int) else 0


def _size_of(source: BufferedReader) -> int | None:
    """The bytes of a file, also of one that is piped in; None where nobody can know."""
    status = os.fstat(source.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _read_definition(target: Container) -> KeyDefinition:
    client = Client(target.account)
    try:
        return read_definition(parse_object(client.must_send("GET", target.path).body).get("partitionKey"))
    finally:
        client.close()


def _make_container(target: Container, partition_key: str) -> None:
    paths = re.split(",(?=/)", partition_key)
    kind = "MultiHash" if len(paths) > 1 else "Hash"
    definition = {"id": target.name, "partitionKey": {"paths": paths, "kind": kind, "version": 2}}
    client = Client(target.account)
    try:
        for path, body in (("/dbs", {"id": target.database}), (name_path("dbs", target.database, "colls"), definition)):
            answer = client.send("POST", path, body=json.dumps(body).encode())
            if answer.status >= 400 and answer.status != _CONFLICT:
                raise ServerError(f"POST {path} answered {answer.status}: {answer.message}")
    finally:
        client.close()
