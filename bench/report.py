"""The dated page: ratios to the floor, what counts, and each goal beside what was measured."""

import platform
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench import peers, scale, store
from bench.blocks import STEADY, Block, Plan


class Goal(NamedTuple):
    """What was promised, and what came of it; `met` is None when the run cannot say."""

    text: str
    found: str
    met: bool | None


class Findings(NamedTuple):
    """Everything a run has measured."""

    plan: Plan
    missing: dict[str, str]
    bare: store.Figures
    blocks: Sequence[Block]
    scale: scale.Scale | None
    rest: scale.Rest


def draw_page(findings: Findings) -> str:
    sections = (
        draw_head(findings),
        "## Goals\n\n" + draw_goals(findings),
        "## Blocks\n\n" + "\n".join(map(draw_block, findings.blocks)),
        draw_bare(findings.bare),
        draw_rest(findings),
    )
    return "\n".join(sections)


def draw_head(findings: Findings) -> str:
    plan = findings.plan
    notes = [f"- **{peer.name}**: {findings.missing.get(peer.name) or peer.note}" for peer in peers.PEERS]
    return "\n".join([
        f"# {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {_describe_commit()}", "",
        f"{_describe_machine()}. {plan.rounds} rounds of {plan.seconds:g} s, seed {plan.seed}, 20,000 items of 1 KB,",
        "signed requests, keep-alive, plain HTTP, wrk with one thread, everything in one network namespace.",
        "Ratios inside one block compare; figures of different runs do not.", "",
        *notes, "",
    ])  # fmt: skip


def _describe_commit() -> str:
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=peers.ROOT, capture_output=True, text=True, check=False
    )
    return described.stdout.strip() or "unknown"


def _describe_machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    load = Path("/proc/loadavg").read_text().split()[0]
    name = f"{len(models)} cores ({models[0]})" if models else platform.machine()
    return f"{name}, Linux {platform.release()}, Python {platform.python_version()}, load {load} at the end"


def draw_block(block: Block) -> str:
    doubts = block.doubts()
    sync = f"; one sync of the disk {median(block.sync):.0f} us" if block.workload.share else ""
    lines = [
        f"### {block.workload.name}, {block.connections} connections",
        "",
        f"{'Counts' if not doubts else 'Does not count: ' + '; '.join(doubts)}{sync}.",
        "",
        "| server | to the floor | requests/s | CPU us | p50 ms | p99 ms | bytes |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rounds in block.results.items():
        figures = (
            f"{block.rate(name) / block.rate(peers.FLOOR):.2f}", f"{block.rate(name):,.0f}",
            f"{block.processor(name):.1f}",
            f"{median(result.p50 for result in rounds) / 1000:.2f}", f"{block.p99(name) / 1000:.2f}",
            f"{median(result.bytes for result in rounds):.0f}",
        )  # fmt: skip
        lines.append(f"| {name} | {' | '.join(figures)} |")
    return "\n".join([*lines, ""])


def draw_bare(bare: store.Figures) -> str:
    return "\n".join([
        "## The bare store", "",
        f"LMDB in one process: a get {bare.get:.1f} us, a put in a synced commit of its own {bare.put:.0f} us,",
        f"in one of {store.GROUP} {bare.grouped:.1f} us; one appended page synced {bare.sync:.0f} us.", "",
    ])  # fmt: skip


def draw_rest(findings: Findings) -> str:
    rest = findings.rest
    lines = [
        "## Size and start", "",
        f"At rest the family takes {rest.memory / 1e6:.0f} MB (proportional set size). From start to ready:",
        f"{', '.join(f'{seconds:.2f}' for seconds in rest.ready)} s.", "",
    ]  # fmt: skip
    if findings.scale:
        lines += ["| | " + " | ".join(findings.scale.charges) + " |", "|---|---|---|"]
        for block in (findings.scale.reads, findings.scale.creates):
            cells = (f"{block.rate(name):,.0f}/s, {block.processor(name):.1f} us" for name in block.results)
            lines.append(f"| {block.workload.name} | {' | '.join(cells)} |")
        lines += [f"| charge of a read | {' | '.join(findings.scale.charges.values())} |", ""]
    return "\n".join(lines)


def draw_goals(findings: Findings) -> str:
    lines = ["| goal | measured | |", "|---|---|---|"]
    for goal in list_goals(findings):
        verdict = {True: "met", False: "**missed**", None: "not measured"}[goal.met]
        lines.append(f"| {goal.text} | {goal.found} | {verdict} |")
    return "\n".join([*lines, ""])


def list_goals(findings: Findings) -> Iterator[Goal]:
    for block in findings.blocks:
        if block.workload.share == 0:
            yield from _judge_reads(block)
        if block.workload.share == 100:
            yield from _judge_creates(block)
    rest = findings.rest
    yield Goal("at rest under 100 MB", f"{rest.memory / 1e6:.0f} MB", rest.memory < 100e6)
    yield Goal("ready in under 0.5 s", f"{median(rest.ready):.2f} s", median(rest.ready) < 0.5)
    if findings.scale:
        yield from _judge_scale(findings.scale)


def _judge_reads(block: Block) -> Iterator[Goal]:
    where = f"point reads, {block.connections} connections"
    times = block.processor(peers.OURS) / block.processor(peers.FLOOR)
    yield Goal(f"{where}: at most 4 x the CPU of the floor", f"{times:.2f} x", _judge(block, times <= 4))
    yield _compare(block, where, peers.OURS, "cosmium", 0.9)
    yield _compare(block, where, peers.OURS, "vercel", 2.0)
    if "cosmium" in block.results:
        ours, theirs = block.p99(peers.OURS) / 1000, block.p99("cosmium") / 1000
        yield Goal(f"{where}: p99 below cosmium's", f"{ours:.2f} ms to {theirs:.2f} ms", _judge(block, ours < theirs))


def _judge_creates(block: Block) -> Iterator[Goal]:
    where = f"synced creates, {block.connections} connections"
    used = block.processor(peers.OURS)
    yield Goal(f"{where}: at most 90 us CPU", f"{used:.1f} us", _judge(block, used <= 90))
    if block.connections == 64:
        yield _compare(block, where, peers.OURS, "vercel", 1.0)
        yield _compare(block, where, peers.OURS, "cosmium", 0.4)
    yield _compare(block, f"creates in memory, {block.connections} connections", peers.MEMORY, "cosmium", 0.5)


def _compare(block: Block, where: str, ours: str, theirs: str, goal: float) -> Goal:
    text = f"{where}: at least {goal:g} x {theirs}"
    if theirs not in block.results:
        return Goal(text, f"{theirs} is not here", None)
    found = block.rate(ours) / block.rate(theirs)
    return Goal(text, f"{found:.2f} x", _judge(block, found >= goal))


def _judge(block: Block, met: bool) -> bool | None:
    return None if block.doubts() else met


def _judge_scale(found: scale.Scale) -> Iterator[Goal]:
    small, large = found.charges
    for block, share in ((found.reads, 0.15), (found.creates, 0.40)):
        ratio = block.rate(large) / block.rate(small)
        text = f"{block.workload.name} with {large} within {share:.0%} of those with {small}"
        steady = max(map(block.spread, block.results)) < STEADY
        yield Goal(text, f"{ratio:.2f} x", ratio >= 1 - share if steady else None)
    charges = sorted(set(found.charges.values()))
    yield Goal("a read of 1 KB is charged 1.00 at both sizes", ", ".join(charges), {*map(float, charges)} == {1.0})
