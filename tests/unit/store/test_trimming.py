"""The log of a partition is trimmed by its writers, each entry once."""

from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.database import Database
from armillary.json import dump
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import drive
from armillary.store.items import Draft, Mode


def test_an_entry_is_not_counted_twice_when_its_item_is_replaced_in_the_same_transaction() -> None:
    """The entry of the version before goes with it; trimming meets it beside a tombstone, and does not count it."""
    ticks = [10**15]
    engine = MemoryEngine()
    database = Database(engine, Clock(ticks=lambda: ticks[0]))
    drive(engine, database.recover())
    owner = drive(engine, database.create_database("db", None))
    definition = {"partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}, "defaultTtl": -1}
    container = drive(engine, database.create_container(owner, "c", "nosql", definition, None))
    for ttl, mode, seconds in ((1, Mode.CREATE, 0), (0, Mode.CREATE, 2), (0, Mode.REPLACE, 0)):
        ticks[0] += seconds * TICKS_PER_SECOND
        item = {"id": "i", "pk": "k", "at": ticks[0]}
        draft = Draft(dump(item)[:-1], ttl, item)
        drive(engine, database.write_item(container, ("k",), "i", draft, mode))
        assert database.check().complaints == []
