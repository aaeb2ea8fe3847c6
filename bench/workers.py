"""What workers cost and bring: `python -m bench.workers` drives our server with one worker and with several, in turns.

Point reads, the same for all: processor time for each read, which more workers must not make dearer, and reads in a
second, beside the floor and the peers of the same run. On few cores the load generator and the workers get in each
other's way, so the time of a read is the figure to look at.
"""

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bench import blocks, fill, peers

READS: Final = blocks.WORKLOADS[0]
DEARER: Final = 1.10
BESIDE: Final = (("cosmium", 1.1), ("vercel", 3.0))


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.workers", description=__doc__)
    parser.add_argument("--workers", type=int, default=2, help="how many beside one")
    parser.add_argument("--rounds", type=int, default=5, help="turns of every server in a block")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a turn")
    parser.add_argument("--connections", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--no-peers", action="store_true", help="our server and the floor alone")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    if not shutil.which("wrk"):
        sys.exit("wrk is not installed; it drives every server here (package `wrk` of most systems)")
    arguments = read_arguments()
    others = [] if arguments.no_peers else [peer for peer in peers.PEERS if peer.name in dict(BESIDE)]
    missing = {peer.name: reason for peer in others if (reason := peer.fetch())}
    peers.enter_namespace()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that every server started here is stopped too
    peers.CACHE.mkdir(parents=True, exist_ok=True)
    floor = next(peer for peer in peers.PEERS if peer.name == peers.FLOOR)
    chosen = [floor, peers.ours_with(1), peers.ours_with(arguments.workers)]
    chosen += [peer for peer in others if peer.name not in missing]
    with tempfile.TemporaryDirectory(dir=peers.CACHE) as folder, ExitStack() as stack:
        plan = blocks.Plan(arguments.rounds, arguments.seconds, arguments.connections, arguments.seed, Path(folder))
        servers = [stack.enter_context(start(peer, plan)) for peer in chosen]
        for at, connections in enumerate(plan.connections):
            block = blocks.run_block(servers, READS, connections, plan, at)
            print("\n".join(describe(block, arguments.workers)), flush=True)
    for name, reason in missing.items():
        print(f"{name} is not here: {reason}")


@contextmanager
def start(peer: peers.Peer, plan: blocks.Plan) -> Iterator[peers.Server]:
    """A server with the items that are read."""
    with peers.start(peer, plan.folder / peer.name.replace(" ", "")) as server:
        if peer.name != peers.FLOOR:
            fill.make_container(server.port, READS.container)
            fill.fill(server.port, READS.container, 0, blocks.ITEMS, plan.seed)
            fill.check_read(server.port, READS.container, blocks.ITEMS - 1)
        yield server


def describe(block: blocks.Block, workers: int) -> Iterator[str]:
    """The figures of one block, and what they say of each goal."""
    one, many = peers.name_workers(1), peers.name_workers(workers)
    yield f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {block.connections} connections"
    for name in block.results:
        times = " ".join(f"{result.processor:.1f}" for result in block.results[name])
        yield (
            f"  {name:22} {block.rate(name):8,.0f}/s  p99 {block.p99(name) / 1000:6.2f} ms  "
            f"{block.processor(name):6.1f} us of processor ({times})"
        )
    ratio = block.processor(many) / block.processor(one)
    yield f"  a read with {workers} workers costs {ratio:.2f} x one with 1 (at most {DEARER:g})"
    for name, goal in BESIDE:
        if name in block.results:
            yield f"  {block.rate(many) / block.rate(name):.2f} x the rate of {name} (at least {goal:g})"
    yield from (f"  does not count: {doubt}" for doubt in block.doubts())


if __name__ == "__main__":
    main()
