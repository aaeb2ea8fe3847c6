"""What every partition uses, second by second, in memory that all workers of a server share.

The parent maps it before it forks. Each worker has an area of its own and is the only one that writes there; everybody
reads everything. No locks: a number is an aligned double, which is never half written.

    area    (epoch, count)  ids of 16 bytes  slots                             one area for each worker
    slot    64 cells of 8 doubles, the second modulo 64  |  board of hot keys  one slot for each open partition
    cell    second, units, requests, refused, bytes, time, credit, minute      one cell for each second

`second` is written last when a cell is taken for a new second, so a reader never counts an old second's numbers as the
present one's. `credit` and `minute` are the budget's state at the start of that second, so a worker that has not seen a
partition for long goes on from where the others are. A board is checked by its sum. The directory only grows within an
epoch; a slot that is given to another partition begins a new epoch, and readers look everything up again.

Seconds are those of a steady clock: the time of day when the server started, carried on by the monotonic clock. Setting
the time of day moves nothing here. An id is a partition's, or whatever else of 16 bytes has a budget.

The memory is anonymous: a mapped file would end a worker when it touches a new page on a full disk. Leaves out: what is
kept for longer than a minute (the keeper's business), and what a budget is for (`admission`).
"""

import mmap
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from zlib import crc32

from armillary.budget import (
    MINUTE,
    PLAIN,
    Allowance,
    Limit,
    State,
    Window,
    Wish,
    carry,
    judge,
    measure_wait,
    open_window,
)
from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.hotkeys import SHOWN, Hot, HotKeys, Use
from armillary.json import dump, load

SECONDS: Final = 64
SLOTS: Final = 4_096
_CELL: Final = 8
_RING: Final = SECONDS * _CELL
_BOARD: Final = 256
_SLOT: Final = _RING + _BOARD
_ID: Final = 2
_HEAD: Final = 8
_BATCH: Final = 1_000
_DOUBLE: Final = 8
_SECOND, _UNITS, _REQUESTS, _REFUSED, _BYTES, _TIME, _CREDIT, _MINUTE = range(_CELL)


class Cell(NamedTuple):
    """What one worker, or all of them, did in one second."""

    second: int
    units: float = 0.0
    requests: float = 0.0
    refused: float = 0.0
    bytes: float = 0.0
    time: float = 0.0


class MeterMap:
    """The shared memory: made once, before any fork."""

    def __init__(self, workers: int = 1, clock: Clock | None = None, slots: int = SLOTS) -> None:
        clock = clock or Clock()
        self.workers = workers
        self.slots = slots
        self._monotonic = clock.monotonic
        self._start = clock.ticks() / TICKS_PER_SECOND - clock.monotonic()
        self._area = _HEAD + slots * (_ID + _SLOT)
        memory = memoryview(mmap.mmap(-1, max(1, workers) * self._area * _DOUBLE))
        self.bytes = memory
        self.cells = memory.cast("d")

    def now(self) -> float:
        """Seconds since 1970, of a clock that nobody sets."""
        return self._monotonic() + self._start

    @property
    def steady(self) -> tuple[Callable[[], float], float]:
        """The clock in two parts, for whoever adds them up in place."""
        return self._monotonic, self._start

    def directory(self, worker: int) -> int:
        """Where the area of a worker begins."""
        return worker * self._area

    def slot(self, worker: int, number: int) -> int:
        return worker * self._area + _HEAD + self.slots * _ID + number * _SLOT

    def read_id(self, worker: int, number: int) -> bytes:
        at = (worker * self._area + _HEAD + number * _ID) * _DOUBLE
        return bytes(self.bytes[at : at + 16])

    def write_id(self, worker: int, number: int, name: bytes) -> None:
        at = (worker * self._area + _HEAD + number * _ID) * _DOUBLE
        self.bytes[at : at + 16] = name


class _Directory:
    """Which slots one worker has given to whom, as somebody else knows it."""

    def __init__(self, shared: MeterMap, worker: int) -> None:
        self._shared = shared
        self._worker = worker
        self._epoch = -1.0
        self._known = 0
        self._slots: dict[bytes, int] = {}

    def find(self, name: bytes) -> int | None:
        """Where the ring of this name begins."""
        head = self._shared.directory(self._worker)
        epoch, count = self._shared.cells[head], int(self._shared.cells[head + 1])
        if epoch != self._epoch:
            self._slots, self._known, self._epoch = {}, 0, epoch
        for number in range(self._known, count):
            self._slots[self._shared.read_id(self._worker, number)] = self._shared.slot(self._worker, number)
        self._known = count
        return self._slots.get(name)


class MeterReader:
    """Everybody's figures, for pages and the keeper."""

    def __init__(self, shared: MeterMap) -> None:
        self.shared = shared
        self._directories = [_Directory(shared, worker) for worker in range(shared.workers)]

    def read_seconds(self, name: bytes, since: int, until: int) -> list[Cell]:
        """What was used in each second of [since, until), of which the last 60 are known; idle ones are empty."""
        found = [[second, 0.0, 0.0, 0.0, 0.0, 0.0] for second in range(since, until)]
        cells = self.shared.cells
        for ring in self._rings(name):
            for entry in found:
                at = ring + int(entry[0]) % SECONDS * _CELL
                if cells[at] == entry[0]:
                    for figure in range(_UNITS, _CREDIT):
                        entry[figure] += cells[at + figure]
        return [Cell(int(entry[0]), *entry[1:]) for entry in found]

    def read_hot(self, name: bytes) -> list[list[Hot]]:
        """The hot keys that each worker has shown."""
        minute = int(self.shared.now()) // MINUTE
        return [read_board(self.shared, ring + _RING, minute) for ring in self._rings(name)]

    def _rings(self, name: bytes) -> list[int]:
        return [ring for directory in self._directories if (ring := directory.find(name)) is not None]


class Meters:
    """One worker's side: its meters, open until their slots are needed for others."""

    def __init__(self, shared: MeterMap, worker: int = 0, show: Callable[[Any], str] = str) -> None:
        self.shared = shared
        self.show = show
        self.on_second: Callable[[], None] = _do_nothing
        self._worker = worker
        self._second = -1
        self._open: dict[bytes, Meter] = {}
        self._unshown: set[Meter] = set()
        self._directories = [_Directory(shared, other) for other in range(shared.workers) if other != worker]
        head = shared.directory(worker)
        # Whoever had this area before, if anybody, died: his numbers go on to count.
        for number in range(int(shared.cells[head + 1])):
            name = shared.read_id(worker, number)
            self._open[name] = Meter(self, name, shared.slot(worker, number))

    def open(self, name: bytes) -> "Meter":
        """The meter of this name."""
        meter = self._open.get(name)
        if meter is None:
            meter = self._open[name] = Meter(self, name, self._take_slot(name))
        return meter

    def begin_second(self, second: int) -> None:
        """Once a second with any traffic: publish what became hot before it, and let the owner look around."""
        if second != self._second:
            self._second = second
            self.publish()
            self.on_second()

    def publish(self) -> None:
        """Let everybody read which keys are hot, up to now."""
        for meter in self._unshown:
            meter.publish()
        self._unshown.clear()

    def note_unshown(self, meter: "Meter") -> None:
        """This meter has figures of keys that are not on its board."""
        self._unshown.add(meter)

    def find_others(self, name: bytes) -> list[int]:
        """The rings of the same name at the other workers."""
        return [ring for directory in self._directories if (ring := directory.find(name)) is not None]

    def _take_slot(self, name: bytes) -> int:
        shared, head = self.shared, self.shared.directory(self._worker)
        number = int(shared.cells[head + 1])
        if number == shared.slots:
            oldest = min(self._open.values(), key=lambda meter: meter.second)
            number = (oldest.ring - shared.slot(self._worker, 0)) // _SLOT
            del self._open[oldest.name]
            oldest.detach()
            ring = shared.slot(self._worker, number) * _DOUBLE
            shared.bytes[ring : ring + _SLOT * _DOUBLE] = bytes(_SLOT * _DOUBLE)
            shared.write_id(self._worker, number, name)
            shared.cells[head] += 1.0
        else:
            shared.write_id(self._worker, number, name)
            shared.cells[head + 1] += 1.0
        return shared.slot(self._worker, number)


class Meter:
    """One partition in one worker: admits by what all workers used, books what this one does."""

    __slots__ = (
        "_allowance",
        "_at",
        "_base",
        "_cells",
        "_elders",
        "_ends",
        "_hot",
        "_meters",
        "_others",
        "_refused",
        "_requests",
        "_size",
        "_spent",
        "_state",
        "_time",
        "_units",
        "_window",
        "detached",
        "name",
        "plain",
        "ring",
        "second",
    )

    def __init__(self, meters: Meters, name: bytes, ring: int) -> None:
        self.name = name
        self.ring = ring
        self.second = -1
        self.plain = 0.0
        self.detached = False  # whether its slot belongs to somebody else by now
        self._meters = meters
        self._cells = meters.shared.cells
        self._allowance = Allowance()
        self._state = State()
        self._base: tuple[int, State] | None = None
        self._window = Window(0.0, 0.0)
        self._ends = 0.0  # of the running second
        self._elders: list[int] = []  # the rings of the other workers
        self._others: tuple[int, ...] = ()  # their cells of this second
        self._at = ring
        self._units = self._requests = self._size = self._time = 0.0
        self._hot = HotKeys()
        self._spent: dict[bytes, Use] = {}
        self._refused: dict[bytes, Use] = {}

    # ---- before and after an operation

    def refuse(self, now: float, wish: Wish) -> Limit | None:
        """The limit that refuses an operation now, or None."""
        if now >= self._ends:
            self._turn(int(now))
        used = self._units if not self._others else self.used()
        if used < self.plain and (wish is PLAIN or not wish.low):
            return None
        return judge(self._window, used, now - self.second, wish)

    def book(self, began: float, now: float, units: float, size: int, key: bytes | None, name: object) -> None:
        """Count an operation that was done: what it cost, the bytes it moved, and for which key."""
        if now >= self._ends:
            self._turn(int(now))
        cells, at = self._cells, self._at
        self._units += units
        cells[at + _UNITS] = self._units
        self._requests += 1.0
        cells[at + _REQUESTS] = self._requests
        self._size += size
        cells[at + _BYTES] = self._size
        self._time += now - began
        cells[at + _TIME] = self._time
        if key is not None:
            use = self._spent.get(key)
            if use is not None:
                use[0] += units
                use[1] += size
            else:
                self._spent[key] = [units, size, name]
                self._bound(self._spent)

    def note_refusal(self, key: bytes | None, name: object) -> None:
        """Count an operation that was refused in this second."""
        self._cells[self._at + _REFUSED] += 1.0
        if key is not None:
            use = self._refused.get(key)
            if use is not None:
                use[0] += 1.0
            else:
                self._refused[key] = [1.0, 0.0, name]
                self._bound(self._refused)

    # ---- what it knows

    @property
    def allowance(self) -> Allowance:
        return self._allowance

    def adopt(self, allowance: Allowance) -> None:
        """Work by another allowance from now on; what was used under the old one was judged by that."""
        if allowance != self._allowance and self.second >= 0:
            # This second's use is forgiven: it may be far over what was never a limit until now.
            self._turn(int(self._meters.shared.now()))
            self._state = State(min(self._state.credit, allowance.bank) + self.used(), allowance.minute)
            self._base = (self.second, self._state)
        self._allowance = allowance
        self._open_window()

    def used(self) -> float:
        """What all workers used in the running second, as far as this one has looked."""
        used, cells, second = self._units, self._cells, self.second
        for at in self._others:
            if cells[at] == second:
                used += cells[at + _UNITS]
        return float(used)

    def wait(self, now: float) -> float:
        """Seconds until an operation is worth another try."""
        return measure_wait(self._state, self._allowance, self.used(), now - self.second)

    def is_spent(self) -> bool:
        """Whether nothing is left of this second but the minute."""
        return self.used() >= self.plain

    def read_others(self) -> list[list[Hot]]:
        """The hot keys that the other workers have shown."""
        minute = self.second // MINUTE
        return [read_board(self._meters.shared, ring + _RING, minute) for ring in self._elders]

    def top(self, most: int) -> list[Hot]:
        """The hottest keys here, newest figures included."""
        self._absorb()
        show = self._meters.show
        return [Hot(show(name), *figures) for name, *figures in self._hot.top(self.second // MINUTE, most)]

    def publish(self) -> None:
        """Let everybody read them."""
        write_board(self._meters.shared, self.ring + _RING, self.second // MINUTE, self.top(SHOWN))

    def detach(self) -> None:
        """Give the slot away; what is still booked goes nowhere."""
        self.detached = True
        self._meters = Meters(MeterMap(slots=1), show=self._meters.show)
        self._cells = self._meters.shared.cells
        self.ring, self._others = self._meters.shared.slot(0, 0), ()
        self._at = self.ring

    # ---- once a second

    def _turn(self, second: int) -> None:
        """Begin a second: settle the past, take a cell, look for others with a ring of this name."""
        if second <= self.second:
            return  # begun already; another processor's clock may be a tick behind
        self._meters.begin_second(second)
        fresh = self.second < 0
        self._elders = self._meters.find_others(self.name)
        self._settle(second)
        self.second, self._ends = second, second + 1.0
        self._take_cell(second, fresh)
        self._others = tuple(ring + second % SECONDS * _CELL for ring in self._elders)
        self._open_window()

    def _settle(self, second: int) -> None:
        """The state at the start of a second, from what all workers used before it.

        The last second may still be booked by a worker that read the clock just before it ended, so the base that is
        kept for the next time lies before it.
        """
        if self._base is None or second - self._base[0] >= SECONDS - 1:
            self._base = self._find_base(second)
        since, state = self._base
        spent = [self._sum_units(at) for at in range(since, min(second, since + SECONDS))]
        kept = max(since, second - 2)
        if kept > since:
            self._base = (kept, carry(state, self._allowance, since, spent[: kept - since], kept))
        self._state = carry(state, self._allowance, since, spent, second)

    def _find_base(self, second: int) -> tuple[int, State]:
        """The newest second that any worker has a cell of, with its state; else this one, with nothing owed."""
        newest, state = second, State(0.0, self._allowance.minute)
        found = -1.0
        for ring in (self.ring, *self._elders):
            numbers = self._cells[ring : ring + _RING].tolist()
            for at in range(0, _RING, _CELL):
                if found < numbers[at] < second and numbers[at] > 0.0:
                    found, newest = numbers[at], int(numbers[at])
                    state = State(numbers[at + _CREDIT], numbers[at + _MINUTE])
        return newest, state

    def _sum_units(self, second: int) -> float:
        cells, place = self._cells, second % SECONDS * _CELL
        rings = (self.ring, *self._elders)
        return float(sum(cells[ring + place + _UNITS] for ring in rings if cells[ring + place] == second))

    def _take_cell(self, second: int, fresh: bool) -> None:
        cells, at = self._cells, self.ring + second % SECONDS * _CELL
        self._at = at
        if fresh and cells[at] == second:  # a worker that died had this area a moment ago
            self._units, self._requests = cells[at + _UNITS], cells[at + _REQUESTS]
            self._size, self._time = cells[at + _BYTES], cells[at + _TIME]
            return
        self._units = self._requests = self._size = self._time = 0.0
        for figure in range(_UNITS, _CREDIT):
            cells[at + figure] = 0.0
        cells[at + _CREDIT], cells[at + _MINUTE] = self._state
        cells[at] = float(second)

    def _open_window(self) -> None:
        self._window = open_window(self._state, self._allowance)
        self.plain = self._window.plain

    # ---- hot keys

    def _bound(self, batch: dict[bytes, Use]) -> None:
        """A batch has got another key."""
        if len(batch) == 1:
            self._meters.note_unshown(self)
        elif len(batch) > _BATCH:
            self._absorb()

    def _absorb(self) -> None:
        self._hot.absorb(self.second // MINUTE, self._spent, self._refused)
        self._spent, self._refused = {}, {}


def _do_nothing() -> None:
    """Nobody wants to look around."""


def write_board(shared: MeterMap, at: int, minute: int, hot: Sequence[Hot]) -> None:
    """Publish as many of the hottest keys as have room: check sum, length, JSON of the minute and the keys."""
    start, room = at * _DOUBLE, _BOARD * _DOUBLE - 8
    shown = [[found.key, *(round(figure, 2) for figure in found[1:])] for found in hot]
    while len(data := dump([minute, shown])) > room:
        shown.pop()
    shared.bytes[start + 8 : start + 8 + len(data)] = data
    shared.bytes[start : start + 8] = crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")


def read_board(shared: MeterMap, at: int, minute: int) -> list[Hot]:
    """What a worker published in this minute or the last; nothing when it is just being written."""
    start = at * _DOUBLE
    head = bytes(shared.bytes[start : start + 8])
    size = int.from_bytes(head[4:], "little")
    data = bytes(shared.bytes[start + 8 : start + 8 + size]) if size <= _BOARD * _DOUBLE else b""
    if not data or crc32(data).to_bytes(4, "little") != head[:4]:
        return []
    found, shown = load(data)
    return [Hot(*entry) for entry in shown] if found >= minute - 1 else []
