"""One split from its record in the catalog to its end, one transaction at a step.

    HOLD -> COPY -> FOLLOW -> SEAL -> REST -> OPEN -> FINISH -> CLOSE -> OVER

The law: the catalog alone decides. Until FINISH has changed the map, anybody may cancel the split there; then the
parent is the only owner and is opened again. Whoever dies in between leaves a record, a seal, or neither; the first is
taken up again, the second resolved by whoever meets it. No moment is stored anywhere.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Final

from armillary.clock import Clock
from armillary.errors import Kind, Refusal
from armillary.keys.ranges import read_range
from armillary.kv.engine import Applied, Changes, Engine, Rejected, View, Work
from armillary.kv.steps import Block, Pause, Steps
from armillary.store.catalog import (
    ContainerRow,
    Range,
    Split,
    cancel_split,
    finish_split,
    get_container,
    renew_container,
)
from armillary.store.header import GONE, ONLINE, SEALED, Header, header_lsn, header_seal, header_state
from armillary.store.layout import CATALOG
from armillary.store.reading import scope_of
from armillary.store.rules import Rules
from armillary.store.split import (
    NEARLY,
    Progress,
    fill,
    hold,
    open_child,
    read_followers,
    read_piece,
    read_progress,
    release,
    seal,
)
from armillary.store.transaction import Moment


class Phase(Enum):
    """What the next step does."""

    HOLD = "hold"
    COPY = "copy"
    FOLLOW = "follow"
    SEAL = "seal"
    REST = "rest"
    OPEN = "open"
    FINISH = "finish"
    CLOSE = "close"
    OVER = "over"


class Splitting:
    """A split that is under way; `moment` gives each work its time and randomness."""

    def __init__(
        self, engine: Engine, row: ContainerRow, split: Split, rules: Rules, moment: Callable[[], Moment]
    ) -> None:
        self.split = split
        self.phase = Phase.HOLD
        self.was_done = False
        self._engine = engine
        self._row = row
        self._rules = rules
        self._moment = moment
        self._parent = next(place for place in row.ranges if place.id == split.parent)
        self._seal = bytes.fromhex(split.id)
        self._held = 0
        self._last = 0
        self._scopes = {child: scope_of(read_range(child.low, child.high)) for child in split.children}
        self._waiting = list(split.children)

    def step(self) -> Phase:
        """Take one step; the phase that comes next."""
        try:
            _STEPS[self.phase](self)
        except Refusal as refused:
            if refused.kind not in _UNDONE:
                raise
            if self.phase is Phase.CLOSE:
                self.phase = Phase.OVER  # the parent is closed already, or dropped with its container
            else:
                self._undo()
        return self.phase

    def _hold(self) -> None:
        with self._engine.read(self._parent.partition) as reader:
            sealed = header_state(reader.header)[0] == SEALED and header_seal(reader.header) == self._seal
            header = Header(reader.header)
            last = header_lsn(reader.header, reader.lsn)
        if sealed:  # by this very split, before somebody died
            self._held, self._last = header.held, last
            self._turn_to(Phase.REST)
            return
        self._held = self._write(self._parent, hold(self._parent.partition, self._rules, self._moment()))
        self._turn_to(Phase.COPY)

    def _copy(self) -> None:
        child = self._waiting[0]
        progress = self._progress(child)
        if progress.is_copied:
            self._next_child(Phase.FOLLOW)
            return
        with self._engine.read(self._parent.partition) as reader:
            piece = read_piece(reader, progress.cursor, self._scopes[child].stop)
        self._write(child, fill(child.partition, self._rules, self._moment(), piece))

    def _follow(self) -> None:
        """Follow each child once; seal when none of them is far behind any more."""
        child = self._waiting[0]
        if self._follow_child(child) < NEARLY:
            self._next_child(Phase.SEAL)

    def _seal_parent(self) -> None:
        """No seal for a split that was cancelled meanwhile: it would only make writers wait."""
        if not self._is_recorded():
            raise Refusal(Kind.SPLIT_OVER, id=self.split.id)
        work = seal(self._parent.partition, self._rules, self._moment(), self._seal)
        self._last = self._write(self._parent, work)
        self._turn_to(Phase.REST)

    def _rest(self) -> None:
        child = self._waiting[0]
        if self._is_open(child) or self._progress(child).followed >= self._last:
            self._next_child(Phase.OPEN)
        else:
            self._follow_child(child)

    def _open(self) -> None:
        child = self._waiting[0]
        if not self._is_open(child):
            with self._engine.read(self._parent.partition) as reader:
                time = Header(reader.header).time
            self._write(child, open_child(child.partition, self._rules, self._moment(), self._last, time))
        self._next_child(Phase.FINISH)

    def _finish(self) -> None:
        _commit(self._engine, CATALOG, finish_split(self._row, self.split.id))
        self.was_done = True
        self.phase = Phase.CLOSE

    def _close(self) -> None:
        """The parent has no owner's rights any more; readers that began before still have their snapshots."""
        self._write(self._parent, _mark_gone)
        self.phase = Phase.OVER

    def _undo(self) -> None:
        """Give up, unless it turns out that the split was done: first in the catalog, then in the parent."""
        self.was_done = not give_up(self._engine, self._row, self._parent, self.split.id)
        self.phase = Phase.CLOSE if self.was_done else Phase.OVER

    def _is_recorded(self) -> bool:
        row = _find_row(self._engine, self._row)
        return row is not None and any(split.id == self.split.id for split in row.splits)

    def _follow_child(self, child: Range) -> int:
        progress = self._progress(child)
        with self._engine.read(self._parent.partition) as reader:
            piece, remaining = read_followers(reader, progress.followed, self._scopes[child])
        if piece.followed != progress.followed:
            self._write(child, fill(child.partition, self._rules, self._moment(), piece))
        return remaining

    def _is_open(self, child: Range) -> bool:
        with self._engine.read(child.partition) as reader:
            return header_state(reader.header)[0] == ONLINE

    def _progress(self, child: Range) -> Progress:
        with self._engine.read(child.partition) as reader:
            return read_progress(reader, self._scopes[child], self._held)

    def _next_child(self, phase: Phase) -> None:
        self._waiting.pop(0)
        if not self._waiting:
            self._turn_to(phase)

    def _turn_to(self, phase: Phase) -> None:
        self.phase = phase
        self._waiting = list(self.split.children)

    def _write(self, place: Range, work: Work) -> int:
        return int(_commit(self._engine, place.partition, work).result or 0)


def give_up(engine: Engine, row: ContainerRow, parent: Range, name: str) -> bool:
    """Cancel a split in the catalog, if that has not been decided yet, and open its parent again, if it still owns.

    A name that is no split's is a deletion's: the container gets a new version, by which it cannot be decided.
    """
    try:
        _commit(engine, CATALOG, cancel_split(row, name))
    except Refusal as refused:
        if refused.kind not in (Kind.SPLIT_OVER, Kind.CONTAINER_MISSING):
            raise
    now = _find_row(engine, row)
    if now is None or parent not in now.ranges:
        return False
    if all(ended.id != name for ended in now.ended):
        try:
            _commit(engine, CATALOG, renew_container(row))
        except Refusal as refused:
            if refused.kind is not Kind.CONTAINER_MISSING:
                raise
            return False
    _open(engine, now, parent, bytes.fromhex(name))
    return True


def resolve_seal(engine: Engine, row: ContainerRow, seal: bytes) -> None:
    """Open partitions again that were sealed by a split or a deletion which nobody goes on with; it may turn out to be
    done.
    """
    for place in _list_sealed(engine, row, seal):
        give_up(engine, row, place, seal.hex())


def open_again(engine: Engine, row: ContainerRow, seal: bytes) -> None:
    """Take back seals of one's own, that nothing was decided by and nothing will."""
    for place in _list_sealed(engine, row, seal):
        now = _find_row(engine, row)
        if now is not None:
            _open(engine, now, place, seal)


def _list_sealed(engine: Engine, row: ContainerRow, seal: bytes) -> list[Range]:
    found = []
    for place in row.ranges:
        try:
            with engine.read(place.partition) as reader:
                if header_state(reader.header)[0] == SEALED and header_seal(reader.header) == seal:
                    found.append(place)
        except Refusal as refused:
            if refused.kind is not Kind.PARTITION_MISSING:
                raise  # else it was split or deleted, and is gone
    return found


def _open(engine: Engine, now: ContainerRow, place: Range, seal: bytes) -> None:
    """A split that runs there and is not the one of this seal keeps its log."""
    _commit(engine, place.partition, release(seal, keep=any(split.parent == place.id for split in now.splits)))


def _find_row(engine: Engine, row: ContainerRow) -> ContainerRow | None:
    with engine.read(CATALOG) as reader:
        return get_container(reader, row.database, row.number)


class SealWatch:
    """Waits for seals, a moment at a time. Whoever set one may have died: one that was watched for long enough, on this
    process's own clock, is resolved.
    """

    def __init__(self, clock: Clock, resolve: Callable[[bytes], None]) -> None:
        self._clock = clock
        self._resolve = resolve
        self._seal = b""
        self._since = 0.0

    def wait(self, seal: bytes) -> Steps[None]:
        now = self._clock.monotonic()
        if seal != self._seal:
            self._seal, self._since = seal, now
        if now - self._since <= _PATIENCE:
            yield Pause(_PAUSE)
            return
        yield Block(partial(self._resolve, seal))
        self._since = self._clock.monotonic()


def _commit(engine: Engine, partition: bytes, work: Work) -> Applied:
    outcome = engine.write(partition, [work])[0]
    if isinstance(outcome, Rejected):
        raise outcome.error
    if not isinstance(outcome, Applied):
        raise Refusal(Kind.OUTCOME_UNKNOWN)
    return outcome


_PAUSE: Final = 0.005
_PATIENCE: Final = 2.0
_UNDONE: Final = frozenset((Kind.SPLIT_OVER, Kind.CONTAINER_MISSING, Kind.PARTITION_MISSING, Kind.PARTITION_CLOSED))


def _mark_gone(view: View) -> Changes:
    header = Header(view.header)
    header.state = GONE
    return Changes({}, header.pack())


_STEPS: Final[dict[Phase, Callable[[Splitting], None]]] = {
    Phase.HOLD: Splitting._hold,
    Phase.COPY: Splitting._copy,
    Phase.FOLLOW: Splitting._follow,
    Phase.SEAL: Splitting._seal_parent,
    Phase.REST: Splitting._rest,
    Phase.OPEN: Splitting._open,
    Phase.FINISH: Splitting._finish,
    Phase.CLOSE: Splitting._close,
    Phase.OVER: lambda _: None,
}
