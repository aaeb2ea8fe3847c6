"""How far something long has come: counts that threads add to, a bar while it runs, one line at the end.

The bar is drawn on stderr and only where somebody can see it; a log gets the last line alone.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final, TypeAlias

__all__ = ["Draw", "Meter", "open_bar", "open_meter", "take_pauses"]

_REDRAW: Final = 0.1
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0

Draw: TypeAlias = Callable[[int, str, int | None], object]  # how much is done, in words, and of how much


class Meter:
    """Items, request units and seconds so far; `draw` gets the bytes done and the counts in words."""

    def __init__(self, draw: Callable[[int, str], object]) -> None:
        self._draw = draw
        self._lock = Lock()
        self._start = self._drawn = time.monotonic()
        self.items = 0
        self.units = 0.0

    def add(self, items: int, units: float, done: int = 0) -> None:
        with self._lock:
            self.items += items
            self.units += units
            now = time.monotonic()
            if now - self._drawn >= _REDRAW:
                self._drawn = now
                self._draw(done, f"{self.items:,} items  {self.rate:,.0f}/s  {self.units:,.0f} RU")

    @property
    def rate(self) -> float:
        """Items per second since the start."""
        return self.items / max(time.monotonic() - self._start, 0.001)

    def describe(self) -> str:
        """The one line of the end."""
        seconds = time.monotonic() - self._start
        return f"{self.items:,} items in {seconds:,.1f} s, {self.rate:,.0f} items/s, {self.units:,.2f} RU"


@contextmanager
def open_meter(title: str, total: int | None) -> Iterator[Meter]:
    """A meter, with a bar over `total` bytes (None: unknown) for as long as the block lasts."""
    with open_bar(title) as draw:
        yield Meter(lambda done, counts: draw(done, counts, total))


@contextmanager
def open_bar(title: str) -> Iterator[Draw]:
    """A bar for as long as the block lasts; without a terminal nothing is drawn."""
    if not sys.stderr.isatty():
        yield lambda _done, _words, _total: None
        return
    # Imported where a bar is drawn: it takes as long to load as the rest of the command line.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, words="")
        yield lambda done, words, total: bar.update(task, completed=done, total=total, words=words)


def take_pauses() -> Iterator[float]:
    """The seconds waited so far, for as often as somebody has to look again: at once, then less and less often."""
    start = time.monotonic()
    pause = _FIRST_PAUSE
    while True:
        yield time.monotonic() - start
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
