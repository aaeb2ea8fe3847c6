"""Who may go on: offers become the allowances of partitions, and an operation over one is refused before its work.

    gate = admission.gate(container row, database row, range)
    ticket = gate.admit(wish, key, values)     refused with THROTTLED, MINUTE_SPENT or BUCKET_SPENT
    ticket.charge(units, bytes)                once it is known what it cost, whatever came of it

A container's units are divided evenly over its partitions, and none has more than one partition serves. An implicit
offer is metered only, unless the settings make it real. Containers without an offer of their own draw on the one of
their database, each of their partitions as far as others leave something. A bucket is a budget of its own with a part
of the partition's; metadata has one for the account.

A worker learns of a changed offer within a second: whenever a second begins that has traffic, it looks whether the
catalog has moved on, and if so everything known is looked up again. Leaves out: what operations cost (`units`) and how
a budget works (`budget`).
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, inf
from typing import Final, NamedTuple

from armillary.budget import CEILING, PLAIN, Allowance, Limit, Wish, allow
from armillary.config import Settings
from armillary.errors import Kind, Refusal
from armillary.hotkeys import SHOWN, Hot, merge_hot
from armillary.json import dump
from armillary.kv.engine import Engine
from armillary.limits import USUAL, Limits, limits_of
from armillary.meter import Meter, MeterMap, Meters
from armillary.store import catalog
from armillary.store.catalog import ContainerRow, DatabaseRow, OfferRow, Range
from armillary.store.layout import CATALOG
from armillary.store.rids import RidKind, parse_rid
from armillary.units import price_refusal
from armillary.values import UNDEFINED, KeyValue

__all__ = ["METADATA", "Admission", "Gate", "Options", "Ticket", "bucket_name", "pool_name", "read_options"]

METADATA: Final = b"account metadata"
_LONGEST_KEY: Final = 100
_FEW: Final = 256  # partitions that are metered where no server prepared the memory


class Options(NamedTuple):
    """What the settings say about throughput; a bucket has a part of 1."""

    limits: Limits = USUAL
    default_throughput: int = 0
    metadata: float = inf
    burst: bool = False
    priority: bool = False
    buckets: Mapping[int, float] = {}


def read_options(settings: Settings) -> Options:
    parts = (part.partition("=") for part in settings.throughput_buckets.split(",") if part)
    return Options(
        limits_of(settings),
        settings.default_throughput,
        settings.metadata_throughput or inf,
        settings.burst,
        settings.priority,
        {int(bucket): int(percent) / 100 for bucket, _, percent in parts},
    )


def pool_name(database: int) -> bytes:
    """The meter of a database whose containers share its throughput."""
    return b"database" + database.to_bytes(8, "big")


def bucket_name(partition: bytes, bucket: int) -> bytes:
    """The meter of a throughput bucket in a partition."""
    return partition[:-1] + bytes((partition[-1] ^ bucket,))


class Admission:
    """The gates of one worker."""

    def __init__(self, engine: Engine, meters: Meters | None = None, options: Options | None = None) -> None:
        self.meters = meters or Meters(MeterMap(slots=_FEW))
        self.options = options or Options()
        self.on_change: Callable[[], None] = self.forget
        self._engine = engine
        self._lsn = -1
        self._gates: dict[bytes, Gate] = {}
        self.meters.show = show_key
        self.meters.on_second = self._look

    def gate(self, container: ContainerRow, owner: DatabaseRow, place: Range) -> "Gate":
        """The gate of a partition."""
        gate = self._gates.get(place.partition)
        if gate is None or gate.meter.detached or (gate.others and gate.is_broken()):
            gate = self._gates[place.partition] = self._open(container, owner, place)
        return gate

    def metadata(self) -> "Gate":
        """The gate of everything that is no item."""
        gate = self._gates.get(METADATA)
        if gate is None or gate.meter.detached:
            meter = self.meters.open(METADATA)
            meter.adopt(Allowance(self.options.metadata))
            gate = self._gates[METADATA] = Gate(self, meter, (), "the account's metadata")
        return gate

    def forget(self) -> None:
        """Look every offer up again."""
        self._gates.clear()

    def find_offer(self, container: ContainerRow, owner: DatabaseRow) -> OfferRow | None:
        """The offer that a container draws on: its own, or its database's."""
        number = container.offer if container.offer is not None else owner.offer
        if number is None:
            return None
        with self._engine.read(CATALOG) as reader:
            return catalog.find_offer(reader, number)

    def divide(self, offer: OfferRow, container: ContainerRow) -> float:
        """What a partition of this container has of an offer, in units a second; of a shared one all, at most."""
        parts = 1 if container.offer is None else len(container.ranges)
        return min(offer.throughput / parts, self.options.limits.partition_throughput)

    def list_payers(self, offer: OfferRow) -> list[ContainerRow]:
        """The containers whose throughput this offer is: one, or those of a database that share it."""
        rid = parse_rid(offer.owner)
        assert rid is not None
        with self._engine.read(CATALOG) as reader:
            if rid.kind is RidKind.CONTAINER:
                row = catalog.get_container(reader, rid.database, rid.container)
                return [] if row is None else [row]
            return [row for row in catalog.list_containers(reader, rid.database) if row.offer is None]

    def hottest(self, meter: Meter) -> list[Hot]:
        """The hottest keys of a partition as all workers know them, heaviest first."""
        return merge_hot([meter.top(SHOWN), *meter.read_others()])

    def _open(self, container: ContainerRow, owner: DatabaseRow, place: Range) -> "Gate":
        offer = self.find_offer(container, owner)
        meter = self.meters.open(place.partition)
        pooled = offer is not None and container.offer is None
        if offer is None or (offer.implicit and not self.options.default_throughput):
            meter.adopt(Allowance())
        elif pooled:
            meter.adopt(Allowance(self.divide(offer, container)))
        else:
            meter.adopt(self._allow(offer, self.divide(offer, container)))
        return Gate(self, meter, self._others(meter, owner, offer if pooled else None), _where(container, owner, place))

    def _allow(self, offer: OfferRow, rate: float) -> Allowance:
        ceiling = CEILING * self.options.limits.scale
        return allow(rate, per_minute=offer.per_minute, burst=self.options.burst, ceiling=ceiling)

    def _others(self, meter: Meter, owner: DatabaseRow, shared: OfferRow | None) -> "tuple[_Other, ...]":
        """The budgets beside a partition's own: its database's, and those of buckets."""
        others = []
        if shared is not None:
            pool = self.meters.open(pool_name(owner.number))
            pool.adopt(self._allow(shared, shared.throughput))
            others.append(_Other(pool, 0, f"the database {owner.id!r}, which its containers share"))
        for bucket, part in self.options.buckets.items():
            found = self.meters.open(bucket_name(meter.name, bucket))
            found.adopt(Allowance(part * meter.allowance.rate))
            others.append(_Other(found, bucket, f"throughput bucket {bucket} ({part:.0%})"))
        return tuple(others)

    def _look(self) -> None:
        """Once a second: has the catalog moved on?"""
        with self._engine.read(CATALOG) as reader:
            lsn = reader.lsn
        if lsn != self._lsn:
            self._lsn = lsn
            self.on_change()


class _Other(NamedTuple):
    """A budget beside a partition's own; `bucket` 0 is for everybody."""

    meter: Meter
    bucket: int
    title: str


class Gate:
    """The way into one partition, in this worker."""

    __slots__ = ("_admission", "_hottest", "_told", "_where", "meter", "now", "others", "per_minute", "start")

    def __init__(self, admission: Admission, meter: Meter, others: tuple[_Other, ...], where: str) -> None:
        self.meter = meter
        self.per_minute = meter.allowance.minute > 0.0
        self._admission = admission
        self.others = others
        self._where = where
        self._told = -1
        self._hottest = ""
        self.now, self.start = admission.meters.shared.steady

    def admit(self, wish: Wish = PLAIN, key: bytes | None = None, values: Sequence[KeyValue] = ()) -> "Ticket":
        """Let an operation in, or refuse it; `key` is the code of its key value, None when it is about several."""
        now = self.now() + self.start
        if wish is not PLAIN and not self._admission.options.priority:
            wish = wish._replace(low=False)
        limit = self.meter.refuse(now, wish)
        if limit is not None:
            raise self._refuse(now, limit, key, values)
        for other in self.others:
            if other.bucket in (0, wish.bucket):
                limit = other.meter.refuse(now, wish)
                if limit is not None:
                    other.meter.note_refusal(None, None)
                    raise self._refuse(now, limit, key, values, other)
        return Ticket(self, now, wish, key, values)

    def is_broken(self) -> bool:
        """Whether a budget beside the partition's own has lost its meter."""
        return any(other.meter.detached for other in self.others)

    def _refuse(
        self, now: float, limit: Limit, key: bytes | None, values: Sequence[KeyValue], other: _Other | None = None
    ) -> Refusal:
        self.meter.note_refusal(key, values)
        meter = self.meter if other is None else other.meter
        kind = Kind.THROTTLED
        what = f"the {meter.allowance.rate:g} RU/s of {other.title if other else self._where}"
        if other is not None:
            what += f", asked for by {self._where},"
            kind = Kind.BUCKET_SPENT if other.bucket else Kind.THROTTLED
        elif limit is Limit.MINUTE:
            what += f" and its {meter.allowance.minute:g} RU of this minute"
            kind = Kind.MINUTE_SPENT
        elif limit is Limit.LOW:
            what += ", as far as others leave them to low priority,"
        what += self._admission.options.limits.note
        wait = max(1, ceil(1000 * meter.wait(now)))
        return Refusal(kind, limit=what, key=self._tell_hottest(int(now)), wait=wait)

    def _tell_hottest(self, second: int) -> str:
        """The hottest key in words, found out once a second."""
        if second != self._told:
            self._told = second
            hot = self._admission.hottest(self.meter)
            self._hottest = hot[0].key if hot else "not known"
        return self._hottest


class Ticket:
    """One operation that was let in."""

    __slots__ = ("_gate", "began", "drawn", "key", "values", "wish")

    def __init__(self, gate: Gate, began: float, wish: Wish, key: bytes | None, values: Sequence[KeyValue]) -> None:
        self._gate = gate
        self.began = began
        self.wish = wish
        self.key = key
        self.values = values
        # Whether it draws on the minute; None where there is none.
        self.drawn = gate.meter.is_spent() if gate.per_minute else None

    def charge(self, units: float, size: int = 0) -> None:
        """Book what the operation cost and the bytes it moved."""
        gate = self._gate
        now = gate.now() + gate.start
        gate.meter.book(self.began, now, units, size, self.key, self.values)
        for other in gate.others:
            if other.bucket in (0, self.wish.bucket):
                other.meter.book(self.began, now, units, size, None, None)

    def refuse(self, refused: Refusal) -> Refusal:
        """Book the look-up that found out what the state forbids, and hand the refusal back to be raised."""
        units = price_refusal(refused.kind)
        if units:
            self.charge(units)
        return refused


def show_key(values: Sequence[KeyValue]) -> str:
    """Key values as the header has them, cut where they are long."""
    text = dump([{} if value is UNDEFINED else value for value in values]).decode()
    return text if len(text) <= _LONGEST_KEY else text[: _LONGEST_KEY - 1] + "…"


def _where(container: ContainerRow, owner: DatabaseRow, place: Range) -> str:
    return f"partition key range {place.id} of {owner.id}/{container.id}"
