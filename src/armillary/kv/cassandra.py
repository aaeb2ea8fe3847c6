"""The distributed engine's driver: the only module that imports it. Sessions, prepared statements, errors in our words.

What the driver does by default and must not: wait 40 ms for a delayed acknowledgement (TCP_NODELAY is set here), retry
commits by itself (the engine decides), notice a frozen node after 30 s (the heartbeat is 2 s), and send the commits of
one partition through any coordinator (coordinators that compete for one partition time each other out: always the first
replica). Its error for a conditional write of unknown outcome (0x1700) has no class and comes as a bare `ErrorMessage`.

Left out: several data centres (LOCAL_QUORUM), TLS and passwords; servers of other makers that speak the same language.
"""

import random
import re
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

from cassandra import ConsistencyLevel, DriverException, RequestValidationException, Unavailable
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.connection import ConnectionBusy, ConnectionException
from cassandra.policies import (
    ConstantReconnectionPolicy,
    FallthroughRetryPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.protocol import ErrorMessage
from cassandra.query import BatchStatement, BatchType, BoundStatement, tuple_factory

from armillary.clock import Clock
from armillary.errors import Kind, Refusal
from armillary.kv.cassandra_cql import (
    TABLES,
    Batch,
    DoubtError,
    Found,
    Statement,
    Traits,
    UnreachedError,
    Values,
    derive_limits,
    merge_traits,
    read_traits,
)
from armillary.kv.cassandra_engine import LinkedEngine

FAILURES: Final = (DriverException, NoHostAvailable, ConnectionException, ConnectionBusy, ErrorMessage)
IN_FLIGHT: Final = 4
SLOW: Final = 60.0

Result = TypeVar("Result")


class CassandraLink:
    """One session: prepared statements, and what this engine means by reading and writing."""

    def __init__(
        self, hosts: Sequence[str], port: int, keyspace: str, *, replication: int | None = None, patience: float = 10.0
    ) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,47}", keyspace):
            raise Refusal(Kind.BAD_NAME, name=keyspace, reason="a keyspace is a lower-case word")
        clock = Clock()
        self.monotonic = clock.monotonic
        self.patience = patience
        self._cluster = open_cluster(hosts, port)
        try:
            self._session = self._cluster.connect()
            traits = merge_traits(ask_traits(self._cluster, self._session))
            make_tables(self._cluster, self._session, keyspace, replication)
            self._prepared = {
                name: self._session.prepare(name.value.replace("@", f"{keyspace}.")) for name in Statement
            }
        except FAILURES as error:
            self._cluster.shutdown()
            raise Refusal(Kind.STORE_BROKEN, detail=describe_failure(error)) from error
        except Refusal:
            self._cluster.shutdown()
            raise
        self.wall = traits.wall
        self.limits = derive_limits(traits.wall)
        self.durable = f"the commit logs of a majority of the replicas (synced: {traits.commit_log})"

    def read(
        self, statement: Statement, values: Values, *, serial: bool = False, until: float | None = None
    ) -> list[Found]:
        bound = self._bind(statement, values)
        if serial:
            bound.consistency_level = ConsistencyLevel.SERIAL
        return self._insist(lambda: list(self._session.execute(bound)), until)

    def read_page(
        self, statement: Statement, values: Values, size: int, position: bytes | None
    ) -> tuple[list[Found], bytes | None]:
        bound = self._bind(statement, values)
        bound.fetch_size = size

        def ask() -> tuple[list[Found], bytes | None]:
            found = self._session.execute(bound, paging_state=position)
            return found.current_rows, found.paging_state

        return self._insist(ask, None)

    def attempt(self, batch: Batch) -> Values | None:
        try:
            answer = self._session.execute(self._build(batch))
        except Unavailable as error:
            raise UnreachedError(describe_failure(error)) from error
        except RequestValidationException as error:
            raise Refusal(Kind.STORE_BROKEN, detail=describe_failure(error)) from error
        except FAILURES as error:
            raise DoubtError(describe_failure(error)) from error
        columns = dict(zip(answer.column_names, answer.one(), strict=True))
        return None if columns["[applied]"] else columns

    def write(self, batches: Iterable[Batch]) -> None:
        rest = iter(batches)
        while several := [self._build(batch) for batch in islice(rest, IN_FLIGHT)]:
            waiting = [(statement, self._session.execute_async(statement)) for statement in several]
            for statement, future in waiting:
                self._finish(statement, future)

    def pause(self, attempt: int) -> None:
        time.sleep(random.uniform(0.5, 1.0) * min(0.2, 0.002 * 2**attempt))

    def close(self) -> None:
        self._cluster.shutdown()

    def _finish(self, statement: BatchStatement, future: Any) -> None:
        """The answer of a plain write on its way; what failed is sent again."""
        try:
            future.result()
        except RequestValidationException as error:
            raise Refusal(Kind.STORE_BROKEN, detail=describe_failure(error)) from error
        except FAILURES:
            self._insist(lambda: self._session.execute(statement), None)

    def _insist(self, ask: Callable[[], Result], until: float | None) -> Result:
        """Repeat what may be repeated, until it is answered or the time is over."""
        limit = self.monotonic() + self.patience if until is None else until
        attempt = 0
        while True:
            try:
                return ask()
            except FAILURES as error:
                if isinstance(error, RequestValidationException) or self.monotonic() > limit:
                    raise Refusal(Kind.STORE_BROKEN, detail=describe_failure(error)) from error
            attempt += 1
            self.pause(attempt)

    def _bind(self, statement: Statement, values: Values) -> BoundStatement:
        return self._prepared[statement].bind(values)

    def _build(self, batch: Batch) -> BatchStatement:
        built = BatchStatement(BatchType.UNLOGGED)
        for statement, values in batch:
            built.add(self._bind(statement, values))
        return built


def open_cluster(hosts: Sequence[str], port: int) -> Cluster:
    profile = ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False),
        retry_policy=FallthroughRetryPolicy(),
        consistency_level=ConsistencyLevel.QUORUM,
        serial_consistency_level=ConsistencyLevel.SERIAL,
        request_timeout=2.0,
        row_factory=tuple_factory,
    )
    return Cluster(
        list(hosts),
        port=port,
        protocol_version=5,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        sockopts=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        idle_heartbeat_interval=2,
        idle_heartbeat_timeout=2,
        reconnection_policy=ConstantReconnectionPolicy(0.5, None),
        connect_timeout=5,
    )


def ask_traits(cluster: Cluster, session: Session) -> dict[str, Traits]:
    """The traits of every node that is not known to be down: settings belong to nodes, not to clusters."""
    found: dict[str, Traits] = {}
    for host in cluster.metadata.all_hosts():
        if host.is_up is not False:
            rows = session.execute("SELECT name, value FROM system_views.settings", host=host, timeout=SLOW)
            found[str(host.endpoint)] = read_traits(dict(rows))
    return found


def make_tables(cluster: Cluster, session: Session, keyspace: str, replication: int | None) -> None:
    """What is not there yet. Looked for first: two servers that make one table at once make it twice."""
    query = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = %s"
    present = {name for (name,) in session.execute(query, (keyspace,), timeout=SLOW)}
    if not present:
        factor = replication or min(3, len(cluster.metadata.all_hosts()))
        session.execute(
            f"CREATE KEYSPACE IF NOT EXISTS {keyspace}"
            f" WITH replication = {{'class': 'NetworkTopologyStrategy', 'replication_factor': {factor}}}",
            timeout=SLOW,
        )
    for name, text in TABLES.items():
        if name not in present:
            session.execute(text.replace("@", f"{keyspace}."), timeout=SLOW)


def describe_failure(error: Exception) -> str:
    return f"Cassandra: {type(error).__name__}: {error}"


class CassandraEngine(LinkedEngine):
    """Partitions in a keyspace of a Cassandra 5 cluster. `space` tells several databases in one keyspace apart."""

    def __init__(
        self,
        hosts: Sequence[str],
        port: int = 9042,
        keyspace: str = "armillary",
        *,
        space: str = "main",
        replication: int | None = None,
        patience: float = 10.0,
    ) -> None:
        self._own = CassandraLink(hosts, port, keyspace, replication=replication, patience=patience)
        super().__init__(self._own, space)

    def close(self) -> None:
        self._own.close()
