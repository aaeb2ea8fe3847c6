"""The page of the results: counts for each file, and every test that fails, one by one, with its reason."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from tests.compat.reasons import find_reason
from tests.compat.suite import NAME, VERSION
from tests.compat.witness import Ending

_DRAWN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

Results = Mapping[str, Mapping[str, Sequence[Ending]]]

_HEAD: Final = f"""\
# The Python client's own tests

The source distribution of `{NAME}` {VERSION} carries the tests of its authors. `make compat` fetches it, runs the files
below, unchanged, against a live server, and writes this page.

A failed test is named with what it needs and this version does not have. That is read from the request that the server
refused in this test, in the server's own words, not judged by hand.
"""


def draw_page(results: Results) -> str:
    parts = [_HEAD, *_draw_counts(results), *_draw_failed(results), *_draw_skipped(results)]
    return "\n".join(parts)


def find_unexplained(results: Results) -> list[Ending]:
    """Failed tests that no refusal explains."""
    return [ending for ending in _pick(results, "failed") if not find_reason(ending)]


def _draw_counts(results: Results) -> list[str]:
    lines = ["## Files", "", "| Topic | File | Passed | Failed | Skipped |", "| --- | --- | --- | --- | --- |"]
    total: Counter[str] = Counter()
    for topic, files in results.items():
        for name, endings in files.items():
            counts = Counter(ending.outcome for ending in endings)
            total += counts
            lines.append(f"| {topic} | `{name}` | {_draw_numbers(counts)} |")
    return [*lines, f"| | all | {_draw_numbers(total)} |", ""]


def _draw_numbers(counts: Counter[str]) -> str:
    return " | ".join(str(counts[outcome]) for outcome in ("passed", "failed", "skipped"))


def _draw_failed(results: Results) -> list[str]:
    failed = _pick(results, "failed")
    if not failed:
        return ["## Failed", "", "None.", ""]
    reasons = Counter(find_reason(ending) or "unexplained" for ending in failed)
    lines = ["## Failed", "", "| Needs | Tests |", "| --- | --- |"]
    lines += [f"| {reason} | {count} |" for reason, count in reasons.most_common()]
    lines += ["", "| Test | Needs |", "| --- | --- |"]
    for ending in failed:
        reason = find_reason(ending) or f"unexplained: {_show(ending.message)}"
        lines.append(f"| `{_name(ending)}` | {reason} |")
    return [*lines, ""]


def _draw_skipped(results: Results) -> list[str]:
    skipped = _pick(results, "skipped")
    lines = ["## Skipped", "", "By the suite itself, in its own words.", "", "| Test | Words |", "| --- | --- |"]
    lines += [f"| `{_name(ending)}` | {_show(ending.message.partition(': ')[2])} |" for ending in skipped]
    return [*lines, ""] if skipped else []


def _name(ending: Ending) -> str:
    """The name of a test, without what it draws anew for every run."""
    return _DRAWN.sub("*", ending.test)


def _show(message: str) -> str:
    return message.replace("|", "\\|").replace("`", "'")


def _pick(results: Results, outcome: str) -> list[Ending]:
    return [
        ending
        for files in results.values()
        for endings in files.values()
        for ending in endings
        if ending.outcome == outcome
    ]
