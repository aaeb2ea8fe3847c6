"""How far a load or dump has come: counts that threads add to, a bar while it runs, one line at the end.

The bar is drawn on stderr and only where somebody can see it; a log gets the last line alone.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

__all__ = ["Meter", "open_meter"]

_REDRAW: Final = 0.1


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
    if not sys.stderr.isatty():
        yield Meter(lambda _done, _counts: None)
        return
    # Imported where a bar is drawn: it takes as long to load as the rest of the command line.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, counts="")
        yield Meter(lambda done, counts: bar.update(task, completed=done, counts=counts))
