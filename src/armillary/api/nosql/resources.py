"""Databases, containers, ranges and the account, as clients see them."""

from typing import Any, Final

from armillary.api.nosql.call import LEVELS
from armillary.container import Container
from armillary.json import dump
from armillary.store.catalog import DatabaseRow, Range, Stamp
from armillary.store.rids import RidKind, child_rid

_QUERY_ENGINE: Final = dump(
    {
        "maxSqlQueryInputLength": 524288,
        "maxJoinsPerSqlQuery": 10,
        "maxLogicalAndPerSqlQuery": 500,
        "maxLogicalOrPerSqlQuery": 500,
        "maxUdfRefPerSqlQuery": 10,
        "maxInExpressionItemsCount": 16000,
        "queryMaxInMemorySortDocumentCount": 500,
        "maxQueryRequestTimeoutFraction": 0.9,
        "sqlAllowNonFiniteNumbers": False,
        "sqlAllowAggregateFunctions": True,
        "sqlAllowSubQuery": True,
        "sqlAllowScalarSubQuery": True,
        "allowNewKeywords": True,
        "sqlAllowLike": True,
        "sqlAllowTop": True,
        "enableSpatialIndexing": True,
        "maxSpatialQueryCells": 12,
        "spatialMaxGeometryPointCount": 256,
    }
).decode()


def render_account(address: str, level: int) -> dict[str, Any]:
    """The account, at the address that the client used: clients connect to what they find here."""
    location = [{"name": "Local", "databaseAccountEndpoint": address}]
    replicas = {"minReplicaSetSize": 1, "maxReplicasetSize": 1}
    return {
        "_self": "",
        "id": "armillary",
        "_rid": "armillary-local.sql.cosmos.azure.com",
        "media": "//media/",
        "addresses": "//addresses/",
        "_dbs": "//dbs/",
        "writableLocations": location,
        "readableLocations": location,
        "enableMultipleWriteLocations": False,
        "continuousBackupEnabled": False,
        "enableNRegionSynchronousCommit": False,
        "enablePerPartitionFailoverBehavior": False,
        "disableCrossRegionalHedging": True,
        "userReplicationPolicy": {"asyncReplication": False, **replicas},
        "userConsistencyPolicy": {"defaultConsistencyLevel": LEVELS[level]},
        "systemReplicationPolicy": replicas,
        "readPolicy": {"primaryReadCoefficient": 1, "secondaryReadCoefficient": 1},
        "queryEngineConfiguration": _QUERY_ENGINE,
    }


def render_database(row: DatabaseRow) -> dict[str, Any]:
    own = {"_colls": "colls/", "_users": "users/"}
    return {"id": row.id, **render_system(row.rid, f"dbs/{row.rid}/", row.stamp), **own}


def render_container(container: Container) -> dict[str, Any]:
    row = container.row
    system = render_system(row.rid, f"dbs/{container.owner.rid}/colls/{row.rid}/", row.stamp)
    own = {
        "_docs": "docs/",
        "_sprocs": "sprocs/",
        "_triggers": "triggers/",
        "_udfs": "udfs/",
        "_conflicts": "conflicts/",
    }
    return {"id": row.id, **row.definition, **system, **own}


def render_statistics(usage: list[tuple[Range, int, int]]) -> list[dict[str, Any]]:
    """How full each range is: items, and kilobytes begun."""
    return [{"id": place.id, "sizeInKB": -(-size // 1024), "documentCount": items} for place, items, size in usage]


def render_ranges(container: Container, after: int = 0) -> list[dict[str, Any]]:
    """The map as routers read it, or what a later version than one they know brought to it."""
    row = container.row
    fraction = 1 / len(row.ranges)
    rows = []
    for place in row.ranges:
        if place.since <= after:
            continue
        rid = child_rid(row.database, row.number, RidKind.RANGE, place.birth)
        rows.append(
            {
                "id": place.id,
                **render_system(rid, f"dbs/{container.owner.rid}/colls/{row.rid}/pkranges/{rid}/", row.stamp),
                "minInclusive": place.low,
                "maxExclusive": place.high,
                "ridPrefix": place.birth,
                "throughputFraction": fraction,
                "status": "online",
                "parents": list(place.parents),
                "ownedArchivalPKRangeIds": [],
                "_lsn": row.version,
                "lsn": row.version,
            }
        )
    return rows


def render_system(rid: str, link: str, stamp: Stamp) -> dict[str, Any]:
    """The properties that every resource has."""
    return {"_rid": rid, "_self": link, "_etag": f'"{stamp.etag}"', "_ts": stamp.ts}


def render_feed(owner: str, name: str, rows: list[dict[str, Any]]) -> bytes:
    return dump({"_rid": owner, name: rows, "_count": len(rows)})
