"""The engine over a link to Cassandra: one Cassandra partition for each of ours, and a list of them.

The list holds at least every partition there is: it is written first when one is made and last when one is dropped, so
nothing that takes space is ever out of sight. What a crash leaves between is listed and missing; it may be dropped
again.
"""

import secrets
from collections.abc import Sequence

from armillary.errors import Kind, Refusal
from armillary.kv.cassandra_cql import DoubtError, Link, Statement, UnreachedError
from armillary.kv.cassandra_reads import CassandraReader
from armillary.kv.cassandra_terms import TermTable, drop_generation, open_generation
from armillary.kv.cassandra_writer import Committer
from armillary.kv.engine import Outcome, Unknown, Work


class LinkedEngine:
    """Partitions of one space of a keyspace."""

    local = False

    def __init__(self, link: Link, space: str) -> None:
        self._link = link
        self._space = space
        self._committers: dict[bytes, Committer] = {}
        self._tables: dict[bytes, TermTable] = {}
        self.durable = link.durable
        self.limits = link.limits

    def create(self, partition: bytes, header: bytes) -> None:
        self._link.write([[(Statement.LIST, {"space": self._space, "partition": partition})]])
        open_generation(self._link, partition, 1)
        self._insert(partition, header)
        # An id that was dropped takes the insert and shows nothing of it, for ever.
        if not self._link.read(Statement.HEAD, {"partition": partition}):
            raise Refusal(Kind.PARTITION_EXISTS, partition=partition.hex())

    def _insert(self, partition: bytes, header: bytes) -> None:
        """The conditional insert, until it is decided; an own fence tells our row from another's."""
        fence = secrets.token_bytes(16)
        values = {"partition": partition, "header": header, "fence": fence}
        until = self._link.monotonic() + self._link.patience
        attempt = 0
        while self._link.monotonic() <= until:
            try:
                against = self._link.attempt([(Statement.CREATE, values)])
            except (DoubtError, UnreachedError):
                attempt += 1
                self._link.pause(attempt)
            else:
                if against is None or against.get("fence") == fence:
                    return
                raise Refusal(Kind.PARTITION_EXISTS, partition=partition.hex())
        raise Refusal(Kind.STORE_BROKEN, detail=f"Cassandra did not say whether {partition.hex()} was made")

    def drop(self, partition: bytes) -> None:
        found = self._link.read(Statement.GENERATION, {"partition": partition})
        for generation in range(1, (found[0][0] if found else 0) + 1):
            drop_generation(self._link, partition, generation)
        self._link.write([[(Statement.DROP_GENERATION, {"partition": partition})]])
        self._link.write([[(Statement.DROP, {"partition": partition})]])
        self._link.write([[(Statement.UNLIST, {"space": self._space, "partition": partition})]])
        self._tables.pop(partition, None)
        if committer := self._committers.pop(partition, None):
            committer.forget()

    def partitions(self) -> list[bytes]:
        return [row[0] for row in self._link.read(Statement.LISTED, {"space": self._space})]

    def read(self, partition: bytes) -> CassandraReader:
        return CassandraReader(self._link, partition)

    def write(self, partition: bytes, works: Sequence[Work]) -> list[Outcome]:
        return self._find_committer(partition).write(works)

    def settle(self, partition: bytes, unknown: Unknown) -> Outcome:
        return self._find_committer(partition).settle(unknown)

    def terms(self, partition: bytes) -> TermTable:
        # `setdefault` is one step for all threads: every one of them gets the same lock.
        return self._tables.get(partition) or self._tables.setdefault(partition, TermTable(self._link, partition))

    def close(self) -> None:
        """The link belongs to whoever made it."""

    def _find_committer(self, partition: bytes) -> Committer:
        found = self._committers.get(partition)
        return found or self._committers.setdefault(partition, Committer(self._link, partition))
