"""What a plan asks of storage: a protocol that `database` implements and tests implement over lists.

The source decides how many items a batch has, and so how long the work between two batches lasts: a batch is a slice.
It may stop early, between two batches; what has been handed out by then is the position to go on from. Streams give
all rows of a batch before they ask for the next one (`plan.is_stream`), so a source that hands out one item at a time
knows the item of every row.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from armillary.query.functions import Context


class Source(Protocol):
    """The items of a container, or of the part of it that a query is asked about."""

    def scan(self) -> Iterator[Sequence[object]]:
        """All items as JSON values, in batches; none is handed out twice."""


class Listed(NamedTuple):
    """A source over items in memory."""

    items: Iterable[object]
    size: int = 100

    def scan(self) -> Iterator[Sequence[object]]:
        batch: list[object] = []
        for item in self.items:
            batch.append(item)
            if len(batch) >= self.size:
                yield batch
                batch = []
        if batch:
            yield batch


class Run(NamedTuple):
    """One execution of a plan: what its rows begin with."""

    source: Source
    parameters: Mapping[str, object]
    context: Context


NOTHING = Listed(())


def start_run(
    source: Source, parameters: Mapping[str, object], now: Callable[[], int], draw: Callable[[], float]
) -> Run:
    """A run that begins now; the clock is in units of 100 ns since 1970."""
    return Run(source, parameters, Context(now(), now, draw))
