"""Where the time of one request goes: the server's own code in one thread, without sockets, stage by stage.

`python -m bench.profile` prints processor microseconds of each stage and then the functions that cost most. Stages add
up to the processor time of a served request less the event loop and the system's share of the sockets.
"""

import argparse
import cProfile
import pstats
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from armillary.config import Settings
from armillary.kv.engine import Engine
from armillary.kv.lmdb import LmdbEngine
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import drive
from armillary.meter import MeterMap
from armillary.server.application import make_app, prepare
from armillary.server.heatlog import HeatLog
from armillary.server.keys import Keys
from armillary.server.plan import Traffic
from armillary.wire.http import HttpLimits, Request, RequestReader, Response
from bench import peers, requests

ITEMS: Final = 2_000
ROUNDS: Final = 5
TOP: Final = 30


class Bench:
    """One application over one engine, called as the server calls it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.reader = RequestReader(HttpLimits())
        prepare(engine)
        self.app = make_app(engine, Settings(), Keys(*[requests.KEY] * 4), Traffic(MeterMap(), HeatLog()))

    def parse(self, data: bytes) -> Request:
        (request,) = self.reader.receive(data)
        assert isinstance(request, Request)
        return request

    def ask(self, request: Request) -> Response:
        answer = self.app.handle(request)
        return answer if isinstance(answer, Response) else drive(self.engine, answer)

    def must_ask(self, data: bytes, status: int) -> Response:
        answer = self.ask(self.parse(data))
        if answer.status != status:
            raise RuntimeError(f"answered {answer.status} in place of {status}: {answer.body[:300]!r}")
        return answer


def time_each(call: Callable[[bytes], object], inputs: Sequence[bytes]) -> float:
    """Processor microseconds of one call; the fastest of several rounds, since another program can only slow it."""
    taken = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        for data in inputs:
            call(data)
        taken.append(time.process_time() - begun)
    return min(taken) / len(inputs) * 1e6


def measure(name: str, engine: Engine, show: bool) -> None:
    bench = Bench(engine)
    bench.must_ask(requests.build_database(), 201)
    bench.must_ask(requests.build_container("items"), 201)
    template = requests.build_template("items", 1)
    creates = [requests.build_create(template, number) for number in range(ITEMS)]
    begun = time.process_time()
    for data in creates:
        bench.must_ask(data, 201)
    create = (time.process_time() - begun) / ITEMS * 1e6
    reads = [requests.build_read("items", number) for number in range(ITEMS)]
    bench.must_ask(reads[0], 200)
    parsed = time_each(bench.parse, reads)
    whole = time_each(lambda data: bench.ask(bench.parse(data)), reads)
    print(
        f"{name}: parse {parsed:.1f} us; point read, parsed and answered {whole:.1f} us; create alone {create:.0f} us"
    )
    if show:
        asked = [bench.parse(data) for data in reads]
        show_functions("point read", lambda: [bench.app.handle(request) for request in asked])
        more = [bench.parse(requests.build_create(template, ITEMS + number)) for number in range(ITEMS)]
        show_functions("create", lambda: [bench.ask(request) for request in more])


def show_functions(name: str, call: Callable[[], object]) -> None:
    profile = cProfile.Profile()
    profile.runcall(call)
    print(f"\n{name}: functions by their own time, {ITEMS:,} requests")
    pstats.Stats(profile, stream=sys.stdout).strip_dirs().sort_stats("tottime").print_stats(TOP)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("--functions", action="store_true", help="also list the functions that cost most")
    show = parser.parse_args().functions
    peers.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=peers.CACHE) as folder:
        measure("memory", MemoryEngine(), show=False)
        measure("lmdb", LmdbEngine(Path(folder) / "data"), show)


if __name__ == "__main__":
    main()
