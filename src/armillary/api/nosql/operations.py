"""Every operation of the document API: how it is asked for, and whether it is there.

The registry decides what is answered and what the support table says, so neither can promise what the other lacks. A
path is its kinds of resource: `dbs/colls/docs` is the feed, `dbs/colls/docs/*` one item.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from armillary.api.nosql import (
    changefeed,
    conflicts,
    containers,
    databases,
    feeds,
    items,
    listqueries,
    offers,
    queries,
)
from armillary.api.nosql.call import Call
from armillary.kv.steps import Steps
from armillary.wire.http import Response

Handler: TypeAlias = Callable[[Call], Response | Steps[Response]]

BUILT: Final = "built"
NOT_BUILT: Final = "not built"

_GATEWAY: Final = (
    "use gateway mode: `ConnectionMode.Gateway` in .NET, `.gatewayMode()` in Java; addresses of replicas (direct mode)"
)
# What the service says where an account has no such feature: clients and their tests know these words.
_DELETE_BY_KEY: Final = "the partition key delete feature is disabled; deleting by partition key"


class Operation(NamedTuple):
    """One operation; `flag` is the header that makes it another one than its method says."""

    name: str
    method: str
    path: str
    handler: Handler | None = None
    flag: bytes = b""
    note: str = ""

    @property
    def state(self) -> str:
        return BUILT if self.handler is not None else NOT_BUILT


QUERY: Final = b"x-ms-documentdb-isquery"
_PLAN: Final = b"x-ms-cosmos-is-query-plan-request"
_BATCH: Final = b"x-ms-cosmos-is-batch-request"

OPERATIONS: Final = (
    Operation("read the account", "GET", "", databases.read_account),
    Operation("create a database", "POST", "dbs", databases.create_database),
    Operation("list databases", "GET", "dbs", feeds.read_databases),
    Operation("query databases", "POST", "dbs", listqueries.query_databases, flag=QUERY),
    Operation("read a database", "GET", "dbs/*", databases.read_database),
    Operation("delete a database", "DELETE", "dbs/*", databases.delete_database),
    Operation("create a container", "POST", "dbs/colls", containers.create_container),
    Operation("list containers", "GET", "dbs/colls", feeds.read_containers),
    Operation("query containers", "POST", "dbs/colls", listqueries.query_containers, flag=QUERY),
    Operation("read a container", "GET", "dbs/colls/*", containers.read_container),
    Operation("replace a container", "PUT", "dbs/colls/*", containers.replace_container),
    Operation("delete a container", "DELETE", "dbs/colls/*", containers.delete_container),
    Operation("list partition key ranges", "GET", "dbs/colls/pkranges", feeds.read_ranges),
    Operation("create or upsert an item", "POST", "dbs/colls/docs", items.create_item),
    Operation("list items", "GET", "dbs/colls/docs", feeds.read_items),
    Operation(
        "read the change feed",
        "GET",
        "dbs/colls/docs",
        changefeed.read_changes,
        flag=b"a-im",
        note="latest version; by key or range",
    ),
    Operation("ask for a query plan", "POST", "dbs/colls/docs", queries.plan_query, flag=_PLAN),
    Operation("query items", "POST", "dbs/colls/docs", queries.query_items, flag=QUERY, note="by scans: no index yet"),
    Operation("batch and bulk", "POST", "dbs/colls/docs", flag=_BATCH),
    Operation("read an item", "GET", "dbs/colls/docs/*", items.read_item),
    Operation("replace an item", "PUT", "dbs/colls/docs/*", items.replace_item),
    Operation("patch an item", "PATCH", "dbs/colls/docs/*", items.patch_item),
    Operation("delete an item", "DELETE", "dbs/colls/docs/*", items.delete_item),
    Operation("delete by partition key", "POST", "dbs/colls/operations/*", note=_DELETE_BY_KEY),
    Operation("list conflicts", "GET", "dbs/colls/conflicts", conflicts.read_conflicts, note="there are none"),
    Operation("query conflicts", "POST", "dbs/colls/conflicts", listqueries.query_conflicts, flag=QUERY),
    Operation("read a conflict", "GET", "dbs/colls/conflicts/*", conflicts.find_conflict),
    Operation("delete a conflict", "DELETE", "dbs/colls/conflicts/*", conflicts.find_conflict),
    Operation("list offers", "GET", "offers", offers.read_offers),
    Operation("query offers", "POST", "offers", listqueries.query_offers, flag=QUERY),
    Operation("read an offer", "GET", "offers/*", offers.read_offer),
    Operation("replace an offer", "PUT", "offers/*", offers.replace_offer, note="throttles within a second"),
    Operation("addresses of replicas", "GET", "addresses", note=_GATEWAY),
)

_KINDS_NOT_BUILT: Final = {
    "dbs/users": "users",
    "dbs/users/permissions": "permissions",
    "dbs/clientencryptionkeys": "client encryption keys",
    "dbs/colls/sprocs": "stored procedures",
    "dbs/colls/triggers": "triggers",
    "dbs/colls/udfs": "user-defined functions",
    "dbs/colls/docs/attachments": "attachments",
    "dbs/colls/schemas": "schemas",
    "media": "media",
}

UNBUILT: Final = {
    **_KINDS_NOT_BUILT,
    **{f"{path}/*": name for path, name in _KINDS_NOT_BUILT.items()},
}
PATHS: Final = frozenset(found.path for found in OPERATIONS)
PLAIN: Final = {(found.method.encode(), found.path): found for found in OPERATIONS if not found.flag}
FLAGGED: Final = {
    key: [found for found in OPERATIONS if found.flag and (found.method.encode(), found.path) == key]
    for key in {(found.method.encode(), found.path) for found in OPERATIONS if found.flag}
}
