"""`python -m bench.throttle`: how exactly budgets are kept, by a server that runs and clients that want more.

    budget       operations of 1, 6, 100 and 500 RU, offered at 1.5 x 400 RU/s, with one worker and with four
    retries      an official client writes at 1.1 x the budget: its own retries finish every write
    neighbours   a container at three times its budget, and one beside it that never meets its own
    hot key      four partitions, one key that everybody wants: its partition refuses and names it, the others serve on

Load is open: operation n is sent at its time whether or not the one before it came through, evenly paced. A mean is
over whole seconds after two of warm-up, from the charges that the answers carry.
"""

import argparse
import http.client
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from armillary.cli.child import NotReadyError, Server, start_server
from bench.requests import VERSION, sign

RATE: Final = 400
WARM_UP: Final = 2.0
TOLERANCE: Final = 0.05
SECONDS: Final = 60.0
CONNECTIONS: Final = 8
TRIES: Final = 50
KB: Final = 1024
SYSTEM_BYTES: Final = 400  # more than a server adds to an item

Send = Callable[[http.client.HTTPConnection, int], "Reply"]


class Reply(NamedTuple):
    """What came back, when, counted from the start of the load."""

    at: float
    status: int
    charge: float
    message: str


class Finding(NamedTuple):
    """One line of the report."""

    title: str
    workers: int
    text: str
    kept: bool


class House:
    """A server under test, and what is asked of it."""

    def __init__(self, server: Server, workers: int) -> None:
        self.server = server
        self.workers = workers
        self.met: set[int] = set()  # the workers that the load has reached
        self.ask("POST", "/dbs", "dbs", "", {"id": "throttle"})

    def connect(self, wanted: int = 0) -> http.client.HTTPConnection:
        """A connection, to this worker if there is a number, as far as chance allows: who accepts it is not ours."""
        host, port = self.server.http.removeprefix("http://").rstrip("/").rsplit(":", 1)
        for _ in range(TRIES):
            connection = http.client.HTTPConnection(host, int(port), timeout=60)
            connection.request("GET", "/_armillary/health")
            worker = json.loads(connection.getresponse().read())["worker"]
            if worker == wanted or not wanted:
                break
            connection.close()
        self.met.add(worker)
        return connection

    def ask(self, verb: str, path: str, kind: str, link: str, body: object, **headers: str) -> Reply:
        connection = self.connect()
        reply = send(connection, verb, path, kind, link, json.dumps(body).encode(), headers)
        connection.close()
        assert reply.status < 300, reply
        return reply

    def create(self, container: str, throughput: int) -> str:
        key = {"paths": ["/pk"], "kind": "Hash", "version": 2}
        body = {"id": container, "partitionKey": key}
        self.ask("POST", "/dbs/throttle/colls", "colls", "dbs/throttle", body, x_ms_offer_throughput=str(throughput))
        return container


def send(
    connection: http.client.HTTPConnection,
    verb: str,
    path: str,
    kind: str,
    link: str,
    body: bytes,
    headers: dict[str, str],
) -> Reply:
    """One signed request."""
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
    every = {"x-ms-date": date, "x-ms-version": VERSION, "authorization": sign(verb, kind, link, date)}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(verb, path, body or None, {**every, **named})
    answer = connection.getresponse()
    content = answer.read()
    message = json.loads(content)["message"] if answer.status >= 400 else ""
    return Reply(time.monotonic(), answer.status, float(answer.headers["x-ms-request-charge"]), message)


# ---- load


def offer(house: House, make: Send, per_second: float, seconds: float) -> list[Reply]:
    """Send operations at an even pace for so long, over a few connections; the replies, in any order."""
    replies: list[Reply] = []
    start = time.monotonic() + 0.1

    def drive(first: int) -> None:
        connection = house.connect(first % house.workers + 1)
        for number in range(first, int(per_second * seconds), CONNECTIONS):
            pause = start + number / per_second - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            found = make(connection, number)
            replies.append(found._replace(at=found.at - start))
        connection.close()

    threads = [threading.Thread(target=drive, args=(first,)) for first in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return replies


def make_write(container: str, size: int, key: Callable[[int], str] = lambda number: f"k{number % 50}") -> Send:
    """Creations of items of this size, each another one."""
    link, filler = f"dbs/throttle/colls/{container}", "x" * max(0, size - SYSTEM_BYTES)

    def write(connection: http.client.HTTPConnection, number: int) -> Reply:
        value = key(number)
        body = json.dumps({"id": f"{time.monotonic_ns()}", "pk": value, "filler": filler}).encode()
        headers = {"x-ms-documentdb-partitionkey": json.dumps([value])}
        return send(connection, "POST", f"/{link}/docs", "docs", link, body, headers)

    return write


def make_read(house: House, container: str) -> Send:
    """Reads of one item of 1 KB."""
    link = f"dbs/throttle/colls/{container}"
    body = {"id": "one", "pk": "k", "filler": "x" * (KB - SYSTEM_BYTES)}
    key = {"x-ms-documentdb-partitionkey": '["k"]'}
    house.ask("POST", f"/{link}/docs", "docs", link, body, **key)

    def read(connection: http.client.HTTPConnection, _: int) -> Reply:
        return send(connection, "GET", f"/{link}/docs/one", "docs", f"{link}/docs/one", b"", key)

    return read


# ---- what is to be shown


def measure_budget(house: House, cost: int, seconds: float) -> Finding:
    """Operations of about this cost at 1.5 x the budget."""
    container = house.create(f"budget-{cost}", RATE)
    size = int((cost - 4.8) / 0.45 * KB) + SYSTEM_BYTES  # 5.25 for the first KB, 0.45 for each one more
    make = make_read(house, container) if cost == 1 else make_write(container, size)
    house.met.clear()
    replies = offer(house, make, 1.5 * RATE / cost, WARM_UP + seconds)
    through = [reply for reply in replies if reply.status < 300 and WARM_UP <= reply.at < WARM_UP + seconds]
    mean = sum(reply.charge for reply in through) / seconds
    refused = sum(reply.status == 429 for reply in replies)
    per_second = [0.0] * int(seconds)
    for reply in through:
        per_second[min(int(reply.at - WARM_UP), len(per_second) - 1)] += reply.charge
    # One operation for each worker may be on its way when the budget is spent, and more than a second's worth.
    slack = TOLERANCE * RATE + house.workers * max((reply.charge for reply in through), default=0.0) / seconds
    kept = abs(mean - RATE) <= slack and all(reply.status in (200, 201, 429) for reply in replies)
    seconds_seen = f"seconds {min(per_second):.0f} to {max(per_second):.0f}"
    text = f"{mean:6.1f} RU/s, {mean / RATE:6.1%}; {seconds_seen}; {refused} x 429, by {len(house.met)} workers"
    return Finding(f"budget, {cost} RU", house.workers, text, kept)


def measure_retries(house: House, seconds: float) -> Finding:
    """An official client at 1.1 x the budget."""
    from azure.cosmos import CosmosClient  # late: the rest needs no client library

    container = house.create("retries", RATE)
    writers, cost = 8, 5.25
    total = int(1.1 * RATE / cost * seconds)
    failures: list[str] = []
    start = time.monotonic()

    def write(first: int) -> None:
        client = CosmosClient(house.server.http, house.server.key)
        items = client.get_database_client("throttle").get_container_client(container)
        for number in range(first, total, writers):
            pause = start + number * cost / (1.1 * RATE) - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            try:
                items.create_item({"id": str(number), "pk": f"k{number % 50}"})
            except Exception as error:  # noqa: BLE001 - reported: every write is to succeed
                failures.append(f"{type(error).__name__}: {str(error)[:200]}")

    threads = [threading.Thread(target=write, args=(first,)) for first in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = time.monotonic() - start
    text = f"{total - len(failures)} of {total} writes in {taken:.1f} s {failures[:1] or ''}"
    return Finding("retries at 1.1 x", house.workers, text, not failures)


def measure_neighbours(house: House, seconds: float) -> Finding:
    """One container far over its budget, another at half of its own."""
    loud, quiet = house.create("loud", RATE), house.create("quiet", RATE)
    found: list[Reply] = []
    noise = threading.Thread(target=lambda: found.extend(offer(house, make_write(loud, KB), 3 * RATE / 5.25, seconds)))
    noise.start()
    calm = offer(house, make_write(quiet, KB), 0.5 * RATE / 5.25, seconds)
    noise.join()
    refused = [sum(reply.status == 429 for reply in replies) for replies in (found, calm)]
    text = f"{refused[0]} of {len(found)} refused in the loud one, {refused[1]} of {len(calm)} in the quiet one"
    return Finding("neighbours", house.workers, text, refused[0] > 0 and refused[1] == 0)


def measure_hot_key(house: House, seconds: float) -> Finding:
    """Four partitions; the hot key alone wants more than its partition has, the others want half of theirs."""
    container = house.create("hot", 24_000)
    hot: list[Reply] = []
    heavy = make_write(container, 200 * KB, lambda _: "hot")
    rush = threading.Thread(target=lambda: hot.extend(offer(house, heavy, 100, seconds)))
    rush.start()
    cold = offer(house, make_write(container, KB), 100, seconds)
    rush.join()
    refused = [reply.message for reply in (*hot, *cold) if reply.status == 429]
    places = {message.partition("partition key range ")[2].partition(" ")[0] for message in refused}
    named = sum('the hottest key is ["hot"]' in message for message in refused)
    served = sum(reply.status == 201 for reply in cold) / len(cold)
    text = f"{len(refused)} refused, {named} name the key, on {len(places)} of 4 ranges; {served:.0%} of others served"
    kept = named == len(refused) > 0 and len(places) == 1 and served > 0.5
    return Finding("hot key", house.workers, text, kept)


# ---- the run


@contextmanager
def open_house(workers: int, *options: str) -> Iterator[House]:
    """A fresh server on disk."""
    with tempfile.TemporaryDirectory() as folder:
        every = ["--data", folder, "--port", "0", "--log-level", "error", "--workers", str(workers), *options]
        with start_server(every) as server:
            yield House(server, workers)


def run(workers: Sequence[int], costs: Sequence[int], seconds: float) -> list[Finding]:
    """Everything, on a fresh server for each number of workers."""
    return [finding for count in workers for finding in measure_house(count, costs, seconds)]


def measure_house(workers: int, costs: Sequence[int], seconds: float) -> list[Finding]:
    with open_house(workers) as house:
        found = [tell(measure_budget(house, cost, seconds)) for cost in costs]
        others = (measure_retries, measure_neighbours, measure_hot_key)
        return found + [tell(measure(house, min(seconds, 20.0))) for measure in others]


def tell(finding: Finding) -> Finding:
    print(
        f"{'kept' if finding.kept else 'NOT KEPT':8} {finding.workers} x {finding.title:18} {finding.text}", flush=True
    )
    return finding


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.throttle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="whole seconds of each mean")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--costs", type=int, nargs="+", default=[1, 6, 100, 500])
    arguments = parser.parse_args()
    try:
        findings = run(arguments.workers, arguments.costs, arguments.seconds)
    except NotReadyError as error:
        sys.exit(f"the server did not start: {error}")
    sys.exit(0 if all(finding.kept for finding in findings) else 1)


if __name__ == "__main__":
    main()
