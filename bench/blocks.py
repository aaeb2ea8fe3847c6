"""The interleaved run: every server takes its turn in every round of every block."""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench import fill, requests, store, wrk
from bench.peers import FLOOR, Server

ITEMS: Final = 20_000
LEAD: Final = 1.5  # the floor to the fastest server: below it, the load generator was measured
STEADY: Final = 1.5  # the fastest round to the slowest: above it, the machine was busy with something else
STEP: Final = 10_000_000  # the creates of two blocks never share a number


class Workload(NamedTuple):
    """A mix of point reads and creates, and the container it goes to."""

    name: str
    share: int
    container: str


WORKLOADS: Final = (
    Workload("point reads", 0, "items"),
    Workload("95 reads, 5 creates", 5, "mixed"),
    Workload("50 reads, 50 creates", 50, "mixed"),
    Workload("creates", 100, "creates"),
)


class Block(NamedTuple):
    """One workload at one number of connections: the results of each server, round by round."""

    workload: Workload
    connections: int
    results: dict[str, list[wrk.Result]]
    sync: list[float]

    def middle(self, name: str, figure: Callable[[wrk.Result], float]) -> float:
        return statistics.median(map(figure, self.results[name]))

    def rate(self, name: str) -> float:
        return self.middle(name, lambda result: result.rate)

    def processor(self, name: str) -> float:
        return self.middle(name, lambda result: result.processor)

    def p99(self, name: str) -> float:
        return self.middle(name, lambda result: result.p99)

    def spread(self, name: str) -> float:
        """The fastest round to the slowest."""
        rates = [result.rate for result in self.results[name]]
        return max(rates) / min(rates)

    def doubts(self) -> list[str]:
        """Why the block does not count; none when it does."""
        others = [name for name in self.results if name != FLOOR]
        lead = self.rate(FLOOR) / max(map(self.rate, others))
        spread = self.spread(FLOOR)
        bad = [name for name, rounds in self.results.items() if any(result.bad for result in rounds)]
        return [
            *(["fewer than three rounds"] if len(self.results[FLOOR]) < 3 else []),
            *([f"the floor is only {lead:.2f} times the fastest server"] if lead < LEAD else []),
            *([f"the floor's fastest round is {spread:.2f} times its slowest"] if spread >= STEADY else []),
            *([f"refused or broken answers: {', '.join(bad)}"] if bad else []),
        ]


class Plan(NamedTuple):
    """How much is measured."""

    rounds: int
    seconds: float
    connections: Sequence[int]
    seed: int
    folder: Path


def prepare(server: Server, items: int, seed: int) -> None:
    """The containers of all workloads, with items where reads want them."""
    if server.name == FLOOR:
        return
    for container in dict.fromkeys(workload.container for workload in WORKLOADS):
        fill.make_container(server.port, container)
        if container != "creates":
            fill.fill(server.port, container, 0, items, seed)
            fill.check_read(server.port, container, items - 1)


def run_blocks(servers: Sequence[Server], plan: Plan, tell: Callable[[str], object]) -> list[Block]:
    """All workloads at all numbers of connections."""
    kinds = [(workload, connections) for workload in WORKLOADS for connections in plan.connections]
    blocks = []
    for at, (workload, connections) in enumerate(kinds):
        tell(f"{workload.name}, {connections} connections")
        blocks.append(run_block(servers, workload, connections, plan, at + 1))
    return blocks


def run_block(
    servers: Sequence[Server], workload: Workload, connections: int, plan: Plan, at: int, items: int = ITEMS
) -> Block:
    """One block; the order of the servers turns with the rounds."""
    block = Block(workload, connections, {server.name: [] for server in servers}, [])
    for turn in range(plan.rounds):
        load = write_load(workload, plan, (at * plan.rounds + turn) * STEP, range(items))
        block.sync.append(store.measure_sync(plan.folder))
        first = turn % len(servers)
        for server in (*servers[first:], *servers[:first]):
            block.results[server.name].append(wrk.run_block(server, load, connections, plan.seconds))
    return block


def write_load(workload: Workload, plan: Plan, first: int, numbers: Sequence[int]) -> wrk.Load:
    """Freshly signed requests: a signature holds for a quarter of an hour."""
    reads = (requests.build_read(workload.container, number) for number in numbers)
    template = (part.encode() for part in requests.build_template(workload.container, plan.seed))
    return wrk.Load(
        wrk.write_records(plan.folder / "reads", reads),
        wrk.write_records(plan.folder / "template", template),
        first,
        workload.share,
    )
