"""What a plan asks of storage: a protocol that `database` implements over partitions and tests implement over lists.

    source.partitions(range)               the partitions that cover a range of effective keys now, in order, cut to it
    partition.open(wish, after, again)     its items, in batches, from a position on

A **wish** says what is wanted: conditions that every wanted item meets, and an order. A partition may use one of the
conditions, several or none to leave items out (the plan filters again, so an index may be lossy), and it may hand items
out in the order or not; the stream says whether it does. So a source chooses its index alone, and one without any is
right from the first day.

An **entry** is (position, identity, item). Positions are bytes; each belongs to the access that the partition chose for
this wish, and `open(wish, after)` with the same wish goes on behind it: also in a child of the partition after a split,
also when the item at the position is gone. Identities are the same for ever and differ between any two items: they
decide between items that an ORDER BY calls equal. Within one stream no item comes twice.

A batch is a slice of work: between two of them a run can be left alone for as long as anybody likes, or for good. What
is read between two batches stays in no transaction.

The law: an item that nobody touches while a run goes on comes exactly once, whatever is split, merged or left alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from armillary.keys import EVERYTHING, EpkRange
from armillary.query.functions import Context
from armillary.values import UNDEFINED

Path: TypeAlias = tuple[str, ...]
Entry: TypeAlias = tuple[bytes, bytes, object]
POSITION: Final = 0
IDENTITY: Final = 1
ITEM: Final = 2
EACH: Final = "[]"  # in a path: any element of the array there


class Interval(NamedTuple):
    """Values from `low` to `high` in the order of types; undefined is a bound that is not there.

    With one bound, only values of its type belong to it; `across` goes on through the types behind (or before) it.
    With `prefix`, it is the strings that begin with `low`. Without any bound it is every value, but not undefined.
    """

    low: object = UNDEFINED
    high: object = UNDEFINED
    with_low: bool = True
    with_high: bool = True
    across: bool = False
    prefix: bool = False


class Condition(NamedTuple):
    """What every wanted item has at a path: a value in one of the intervals; no interval, no item."""

    path: Path
    intervals: tuple[Interval, ...]


class Wish(NamedTuple):
    """What a plan wants of the items; `order` names paths with whether they descend."""

    conditions: tuple[Condition, ...] = ()
    order: tuple[tuple[Path, bool], ...] = ()


class Stream(NamedTuple):
    """What a partition hands out, and whether that is in the wished order (what has no value there may be missing)."""

    batches: Iterator[Sequence[Entry]]
    is_ordered: bool = False


class Partition(Protocol):
    """One partition, or the part of it that lies in a range."""

    @property
    def range(self) -> EpkRange:
        """The effective keys that it has been cut to."""

    def open(self, wish: Wish, after: bytes | None, *, again: bool) -> Stream:
        """Its items behind a position that a stream for the same wish handed out, or from the beginning.

        With `again`, the item at the position comes once more, if it is still there.
        """


class Source(Protocol):
    """The items of a container, or of the part of it that a query is asked about."""

    def partitions(self, within: EpkRange) -> Sequence[Partition]:
        """The partitions that cover the range now, in the order of their keys, each cut to it."""


class Listed(NamedTuple):
    """A source over items in memory: one partition, in the order given; a position is a place in the list."""

    items: Iterable[object]
    size: int = 100
    range: EpkRange = EVERYTHING

    def partitions(self, within: EpkRange) -> Sequence[Partition]:
        return (self._replace(range=within),)

    def open(self, wish: Wish, after: bytes | None, *, again: bool) -> Stream:  # noqa: ARG002 - there is no index
        return Stream(self._read(0 if after is None else int.from_bytes(after, "big") + (not again)))

    def _read(self, start: int) -> Iterator[Sequence[Entry]]:
        batch: list[Entry] = []
        for number, item in enumerate(self.items):
            if number >= start:
                place = number.to_bytes(8, "big")
                batch.append((place, place, item))
                if len(batch) >= self.size:
                    yield batch
                    batch = []
        if batch:
            yield batch


class Progress(NamedTuple):
    """How far a part of the source has been read: what is left is behind a position, or everything.

    With `taken`, so many values of the item at the position itself have been given, and it may have more.
    """

    range: EpkRange
    after: bytes | None = None  # what a stream handed out
    taken: int = 0


class Reading:
    """Where a run stands in its source; `pending` is what is still to be read, from the present partition on."""

    __slots__ = ("_left", "_source", "_start", "is_ordered", "marks", "pending")

    def __init__(self, source: Source, pending: Sequence[Progress] = (Progress(EVERYTHING),)) -> None:
        self._source = source
        self._start = tuple(pending)
        self._left = False
        self.pending = list(pending)
        self.is_ordered = False
        self.marks = 0

    def read(self, wish: Wish) -> Iterator[Sequence[Entry]]:
        """All entries to come. After each batch comes an empty one, and `marks` counts it: then everything that was
        handed out before is behind those who read, and `pending` says what is not.
        """
        while self.pending:
            whole = self.pending[0]
            partition = self._source.partitions(whole.range)[0]
            rest = EpkRange(partition.range.stop, whole.range.stop)
            others = self.pending[1:]
            if rest.start < rest.stop:
                others.insert(0, whole._replace(range=rest))
            self.pending = [whole._replace(range=partition.range), *others]
            stream = partition.open(wish, whole.after, again=whole.taken > 0)
            self.is_ordered, self._left = stream.is_ordered, False
            for batch in stream.batches:
                yield batch
                if self._left:
                    break
                if batch:
                    self.pending = [Progress(partition.range, batch[-1][POSITION]), *others]
                self.marks += 1
                yield ()
            self.pending = others
            self.marks += 1
            yield ()

    def again(self) -> "Reading":
        """The same, from the beginning."""
        return Reading(self._source, self._start)

    def leave(self) -> None:
        """Want nothing more of the present partition."""
        self._left = True


class Run(NamedTuple):
    """One execution of a plan: what its rows begin with.

    `listed` are the paths whose index lists items without a value too: only there ORDER BY keeps them. `left` is what a
    page that goes on with an order needs of its first path.
    """

    reading: Reading
    parameters: Mapping[str, object]
    context: Context
    listed: frozenset[Path] = frozenset()
    left: tuple[Interval, ...] = ()


def start_run(
    source: Source, parameters: Mapping[str, object], now: Callable[[], int], draw: Callable[[], float]
) -> Run:
    """A run that begins now, at the beginning; the clock is in units of 100 ns since 1970."""
    return Run(Reading(source), parameters, Context(now(), now, draw))
