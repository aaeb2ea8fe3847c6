"""What a campaign came to: a few words for people, and a line in the table of past ones."""

from datetime import UTC, datetime
from statistics import quantiles
from typing import Final

from tests.crash.family import ROOT
from tests.crash.kills import Tally

PAGE: Final = ROOT / "docs" / "results" / "crash.md"
_HEAD: Final = """\
# Kills under load

What `make crash` found: three clients write to a real server over kept connections while the server is killed with
SIGKILL, restarted, and compared with what the clients were told. A kill is *in flight* when a request was never
answered, *between* when it was at the failpoint between commit and answer and an unanswered write is in the store.
Restart times are seconds from the start of the process to readiness: half of them, 95 % of them and all of them took no
longer; the processor time is that of all its processes, for half of them and for all. No line is written when anything
is wrong.

| Date | Workers | Seed | Kills | In flight | Between | Acknowledged | Restart 50 / 95 / 100 % | Processor 50 / 100 % |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def describe_tally(tally: Tally) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.kills.items()))
    times = (("restart", tally.restarts), ("restart, processor", tally.restart_cpu), ("worker", tally.replacements))
    return "\n".join((
        f"seed {tally.seed}, {tally.workers} workers: {tally.killed} kills ({kinds})",
        f"{tally.in_flight} with writes in flight, {tally.between} between commit and answer",
        f"{tally.acknowledged} writes acknowledged, {tally.landed} unanswered ones found",
        *(f"{name}: {describe_times(each)} s" for name, each in times),
        *tally.complaints,
    ))  # fmt: skip


def describe_times(times: list[float]) -> str:
    """What half, 95 % and all of them do not exceed."""
    if len(times) < 2:
        return " ".join(f"{each:.2f}" for each in times) or "none"
    steps = quantiles(times, n=20, method="inclusive")
    return f"{steps[9]:.2f} / {steps[18]:.2f} / {max(times):.2f}"


def write_result(tally: Tally) -> None:
    """Add a line to the page."""
    halves = describe_times(tally.restart_cpu).split(" / ")
    cells = (
        datetime.now(UTC).date().isoformat(),
        str(tally.workers),
        str(tally.seed),
        str(tally.killed),
        str(tally.in_flight),
        str(tally.between),
        str(tally.acknowledged),
        describe_times(tally.restarts),
        f"{halves[0]} / {halves[2]}",
    )
    text = PAGE.read_text() if PAGE.exists() else _HEAD
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(f"{text}| {' | '.join(cells)} |\n")
