"""`python -m bench`: the whole run, or the parts of it that are asked for."""

import argparse
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from bench import blocks, peers, report, scale, store


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="turns of every server in a block")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of a turn")
    parser.add_argument("--connections", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--items", type=int, default=1_000_000, help="items of the large container; 0 leaves it out")
    parser.add_argument("--no-blocks", action="store_true", help="our server alone: size, start, scale")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="the page to write; by default bench/results/<today>.md")
    return parser.parse_args()


def main() -> None:
    if not shutil.which("wrk"):
        sys.exit("wrk is not installed; it drives every server here (package `wrk` of most systems)")
    arguments = read_arguments()
    missing = {peer.name: reason for peer in peers.PEERS if (reason := peer.fetch())}
    peers.enter_namespace()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that every server started here is stopped too
    peers.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=peers.CACHE) as folder:
        plan = blocks.Plan(arguments.rounds, arguments.seconds, arguments.connections, arguments.seed, Path(folder))
        rest = scale.measure_rest(plan)
        bare = store.measure_store(plan.folder / "store", plan.seed)
        found = [] if arguments.no_blocks else measure_blocks(plan, missing)
        large = scale.measure_scale(plan, arguments.items, tell) if arguments.items else None
        findings = report.Findings(plan, missing, bare, found, large, rest)
    page = arguments.out or peers.ROOT / "bench" / "results" / f"{datetime.now(UTC):%Y%m%d}.md"
    page.write_text(report.draw_page(findings), encoding="utf-8")
    print(report.draw_goals(findings), page, sep="\n")


def measure_blocks(plan: blocks.Plan, missing: dict[str, str]) -> list[blocks.Block]:
    """All servers, started and filled one after the other, then measured in turns."""
    with ExitStack() as stack:
        servers = []
        for peer in peers.PEERS:
            if peer.name not in missing:
                tell(f"starting {peer.name}")
                servers.append(stack.enter_context(peers.start(peer, plan.folder / peer.name.replace(" ", ""))))
                blocks.prepare(servers[-1], blocks.ITEMS, plan.seed)
        return blocks.run_blocks(servers, plan, tell)


def tell(what: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
