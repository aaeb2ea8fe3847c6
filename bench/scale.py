"""Our server alone: the same requests with a thousand and with a million items, at rest, and from start to ready."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, NamedTuple

from bench import blocks, family, fill, peers, wrk

SMALL: Final = 1_000
CONNECTIONS: Final = 16
SETTLE: Final = 2.0


class Scale(NamedTuple):
    """The blocks hold both sizes as if they were two servers; charges are those of one read of 1 KB."""

    items: int
    reads: blocks.Block
    creates: blocks.Block
    charges: dict[str, str]


class Rest(NamedTuple):
    """A server nobody asks anything: bytes of memory in proportion, and seconds from start to ready, sorted."""

    memory: int
    ready: list[float]


def name_size(items: int) -> str:
    return f"{items:,} items"


def measure_scale(plan: blocks.Plan, items: int, tell: Callable[[str], object]) -> Scale:
    """Reads and creates in turn on two servers that differ only in what they hold."""
    ours = next(peer for peer in peers.PEERS if peer.name == peers.OURS)
    with ExitStack() as stack:
        servers = []
        for count in (SMALL, items):
            tell(f"filling {name_size(count)}")
            started = stack.enter_context(peers.start(ours, plan.folder / f"scale-{count}"))
            fill.make_container(started.port, "items")
            fill.fill(started.port, "items", 0, count, plan.seed)
            servers.append(started._replace(name=name_size(count)))
        charges = {
            server.name: fill.check_read(server.port, "items", SMALL - 1).headers["x-ms-request-charge"]
            for server in servers
        }
        found = {}
        for at, workload in enumerate((blocks.Workload("reads", 0, "items"), blocks.Workload("creates", 100, "items"))):
            tell(f"{workload.name} at both sizes")
            found[workload.name] = _run_both(servers, workload, plan, at + 100, items)
        return Scale(items, found["reads"], found["creates"], charges)


def _run_both(
    servers: list[peers.Server], workload: blocks.Workload, plan: blocks.Plan, at: int, items: int
) -> blocks.Block:
    """Like any block, but each server is asked for items spread over all that it holds."""
    merged = blocks.Block(workload, CONNECTIONS, {server.name: [] for server in servers}, [])
    for turn in range(plan.rounds):
        for server, count in zip(servers, (SMALL, items), strict=True):
            numbers = range(0, count, max(1, count // blocks.ITEMS))
            load = blocks.write_load(workload, plan, (at + turn) * blocks.STEP, numbers)
            merged.results[server.name].append(wrk.run_block(server, load, CONNECTIONS, plan.seconds))
    return merged


def measure_rest(plan: blocks.Plan) -> Rest:
    ready = peers.measure_ready(plan.folder / "ready")
    with peers.start(peers.USUAL, plan.folder / "rest") as server:
        time.sleep(SETTLE)
        return Rest(family.read_proportional_bytes(server.pid), ready)
