"""What is said to Cassandra: tables, statements, what a cluster's settings mean, and the seam to the driver.

    items        (partition) key          written only by conditional batches; `lsn` and `fence` are one per partition
                   key ''                 the header
                   key 00 + LSN           the commit that began at this LSN
                   key 01 .. ff           rows
    terms        (partition, generation) term, number       plain writes with our own timestamps; never a commit
                   term '', number -1     the watermark and the last stamp
    generations  (partition)              which generation of terms counts
    partitions   (space) id               the list

No table is written both ways: a plain write carries the clock of a machine and would be lost, or win, against commits.
Ids are never used again, so what is dropped is deleted at a moment no write will ever reach (`FOREVER`): a request that
arrives late finds nothing, and leaves nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from armillary.errors import Kind, Refusal
from armillary.kv.engine import Limits

FOREVER: Final = 2**62

# In all texts `@` stands for the keyspace.
TABLES: Final = {
    "items": """CREATE TABLE IF NOT EXISTS @items (partition blob, key blob, value blob,
        lsn bigint STATIC, fence blob STATIC, PRIMARY KEY (partition, key))
        WITH compaction = {'class': 'UnifiedCompactionStrategy'}""",
    "terms": """CREATE TABLE IF NOT EXISTS @terms (partition blob, generation bigint, term blob, number bigint,
        watermark bigint, stamp bigint, PRIMARY KEY ((partition, generation), term, number))
        WITH compaction = {'class': 'UnifiedCompactionStrategy'}""",
    "generations": "CREATE TABLE IF NOT EXISTS @generations (partition blob PRIMARY KEY, generation bigint)",
    "partitions": "CREATE TABLE IF NOT EXISTS @partitions (space text, id blob, PRIMARY KEY (space, id))",
}


_SLICE: Final = (
    " FROM @terms WHERE partition = :partition AND generation = :generation"
    " AND (term, number) >= (:start, :start_number) AND (term, number) < (:stop, :stop_number)"
)


class Statement(Enum):
    """Everything that is ever prepared."""

    CREATE = (
        "INSERT INTO @items (partition, key, value, lsn, fence)"
        " VALUES (:partition, 0x, :header, 0, :fence) IF NOT EXISTS"
    )
    ADVANCE = (
        "UPDATE @items SET lsn = :next, fence = :fence WHERE partition = :partition IF lsn = :lsn AND fence = :found"
    )
    PUT = "INSERT INTO @items (partition, key, value) VALUES (:partition, :key, :value)"
    DELETE = "DELETE FROM @items WHERE partition = :partition AND key = :key"
    FORGET = "DELETE FROM @items WHERE partition = :partition AND key >= :start AND key < :stop"
    HEAD = "SELECT value, lsn, fence FROM @items WHERE partition = :partition AND key = 0x"
    GET = "SELECT key, value, lsn FROM @items WHERE partition = :partition AND key IN (0x, :key)"
    OWNER = "SELECT key, value, lsn, fence FROM @items WHERE partition = :partition AND key IN (0x, :key)"
    SCAN = "SELECT key, value, lsn FROM @items WHERE partition = :partition AND key >= :start AND key < :stop"
    SCAN_BACK = SCAN + " ORDER BY key DESC"
    DROP = f"DELETE FROM @items USING TIMESTAMP {FOREVER} WHERE partition = :partition"

    ADD_TERM = (
        "INSERT INTO @terms (partition, generation, term, number) VALUES (:partition, :generation, :term, :number)"
        " USING TIMESTAMP :stamp"
    )
    REMOVE_TERM = (
        "DELETE FROM @terms USING TIMESTAMP :stamp"
        " WHERE partition = :partition AND generation = :generation AND term = :term AND number = :number"
    )
    RESERVE = (
        "INSERT INTO @terms (partition, generation, term, number, stamp)"
        " VALUES (:partition, :generation, 0x, -1, :stamp) USING TIMESTAMP :stamp"
    )
    MARK = (
        "INSERT INTO @terms (partition, generation, term, number, watermark, stamp)"
        " VALUES (:partition, :generation, 0x, -1, :watermark, :stamp) USING TIMESTAMP :stamp"
    )
    MARKED = (
        "SELECT watermark, writetime(watermark), stamp FROM @terms"
        " WHERE partition = :partition AND generation = :generation AND term = 0x AND number = -1"
    )
    TERMS = "SELECT term, number" + _SLICE
    TERMS_BACK = TERMS + " ORDER BY term DESC, number DESC"
    COUNT_TERMS = "SELECT count(*)" + _SLICE
    SEEK_TERM = (
        "SELECT term, number FROM @terms WHERE partition = :partition AND generation = :generation"
        " AND (term, number) >= (:start, :start_number) LIMIT 1"
    )
    DROP_TERMS = (
        f"DELETE FROM @terms USING TIMESTAMP {FOREVER} WHERE partition = :partition AND generation = :generation"
    )

    # Written with its own number as the timestamp: the highest wins, in whatever order they arrive.
    SET_GENERATION = (
        "INSERT INTO @generations (partition, generation) VALUES (:partition, :generation) USING TIMESTAMP :generation"
    )
    GENERATION = "SELECT generation FROM @generations WHERE partition = :partition"
    DROP_GENERATION = f"DELETE FROM @generations USING TIMESTAMP {FOREVER} WHERE partition = :partition"

    LIST = "INSERT INTO @partitions (space, id) VALUES (:space, :partition) USING TIMESTAMP 1"
    LISTED = "SELECT id FROM @partitions WHERE space = :space"
    UNLIST = f"DELETE FROM @partitions USING TIMESTAMP {FOREVER} WHERE space = :space AND id = :partition"


Values: TypeAlias = Mapping[str, object]
Command: TypeAlias = tuple[Statement, Values]
Batch: TypeAlias = Sequence[Command]
Found: TypeAlias = tuple[Any, ...]


class DoubtError(Exception):
    """A conditional batch may have been applied, may yet be, or may not."""


class UnreachedError(Exception):
    """A conditional batch was turned away before anything was done: too few replicas are alive."""


class Link(Protocol):
    """A session with a cluster, in the words of this engine.

    Reads and plain writes are repeated until `until` (a moment of `monotonic`; None: the link's own patience), then
    refused with `STORE_BROKEN`. A conditional batch is tried exactly once.
    """

    limits: Limits
    wall: int
    durable: str
    patience: float
    monotonic: Callable[[], float]

    def read(
        self, statement: Statement, values: Values, *, serial: bool = False, until: float | None = None
    ) -> list[Found]: ...

    def read_page(
        self, statement: Statement, values: Values, size: int, position: bytes | None
    ) -> tuple[list[Found], bytes | None]:
        """At most `size` rows from a position, and the position after them: None at the end."""

    def attempt(self, batch: Batch) -> Values | None:
        """One conditional batch: None when it was applied, else the columns that stood against it."""

    def write(self, batches: Iterable[Batch]) -> None:
        """Plain batches that may be repeated, in no order."""

    def pause(self, attempt: int) -> None:
        """Wait a moment before another attempt, longer each time."""

    def close(self) -> None: ...


class Traits(NamedTuple):
    """What a node's settings say about its cluster."""

    paxos: str
    commit_log: str
    wall: int


_UNITS: Final = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_WALLS: Final = ("batch_size_fail_threshold", "max_mutation_size", "native_transport_max_message_size")
_LARGEST: Final = 8 << 20
_SHARE: Final = 7 / 8


def read_traits(settings: Mapping[str, str | None]) -> Traits:
    """The traits of one node, from its `system_views.settings`.

    A batch is a message, a mutation, and inside a row of the Paxos table once more: an eighth is left for what
    surrounds it.
    """
    walls = [parse_size(text) for name in _WALLS if (text := settings.get(name)) and text != "None"]
    period = settings.get("commitlog_sync_period")
    sync = str(settings.get("commitlog_sync"))
    return Traits(
        paxos=str(settings.get("paxos_variant")),
        commit_log=f"{sync}, every {period}" if sync == "periodic" else sync,
        wall=int(min([*walls, _LARGEST]) * _SHARE),
    )


def parse_size(text: str) -> int:
    found = re.fullmatch(r"(\d+)(\w+)", text)
    if found is None or found[2] not in _UNITS:
        raise Refusal(Kind.STORE_BROKEN, detail=f"Cassandra states a size that is not understood: {text!r}")
    return int(found[1]) * _UNITS[found[2]]


def merge_traits(nodes: Mapping[str, Traits]) -> Traits:
    """What holds on every node; refuses a cluster on which outcomes cannot be decided."""
    wrong = sorted(name for name, traits in nodes.items() if traits.paxos != "v2")
    if wrong:
        raise Refusal(
            Kind.STORE_BROKEN,
            detail=f"the Cassandra node {wrong[0]} runs paxos_variant {nodes[wrong[0]].paxos}; this engine needs v2 on"
            " every node (set `paxos_variant: v2` and `paxos_state_purging: repaired` in cassandra.yaml)",
        )
    logs = sorted({traits.commit_log for traits in nodes.values()})
    return Traits("v2", " or ".join(logs), min(traits.wall for traits in nodes.values()))


# Cassandra takes longer keys, but what fits one engine shall fit the others.
_KEY_BYTES: Final = 511
_COMMIT_WORKS: Final = 100


def derive_limits(wall: int) -> Limits:
    """The limits that a batch of at most `wall` bytes allows."""
    commit = wall * 7 // 8
    return Limits(
        key_bytes=_KEY_BYTES,
        value_bytes=commit - 2 * _KEY_BYTES,
        commit_bytes=commit,
        commit_works=_COMMIT_WORKS,
        term_bytes=_KEY_BYTES,
    )
