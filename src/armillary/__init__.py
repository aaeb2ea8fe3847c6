"""Armillary: a partitioned, multi-model database that speaks the wire protocols of Azure Cosmos DB.

Bytes become events, events become operations, text becomes plans, plans become scans, scans become keys: each arrow is
one package, and none looks up. A request in five steps:

 1. `server` hands the bytes of a connection to `wire`, which makes an event of them.
 2. `api` finds the handler of the operation and checks what the caller sent.
 3. `database` finds the container and the partition, and turns the operation into reads or one work.
 4. `store` runs the work: item, log, records, unique keys and expiry change together; `kv` commits them.
 5. `api` makes an event of the result, with its charge from `units`; `wire` makes bytes of it.
"""

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    """`__version__`, looked up when somebody asks: finding it costs more than everything else here."""
    if name != "__version__":
        raise AttributeError(name)
    from importlib.metadata import version  # late: slow to import

    return version("armillary")
