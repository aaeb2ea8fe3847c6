"""`check` finds what is wrong: each family is damaged in turn, and the complaint names it."""

from collections.abc import Callable
from typing import Any

import pytest

from armillary.clock import Clock
from armillary.container import Container
from armillary.database import Database
from armillary.json import dump
from armillary.kv.engine import Applied, Changes
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import drive
from armillary.store import layout
from armillary.store.header import Header
from armillary.store.items import Draft, Mode
from armillary.store.layout import family_end

DEFINITION: dict[str, Any] = {
    "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
    "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/mark"]}]},
    "defaultTtl": 1000,
}


@pytest.fixture
def database() -> Database:
    engine = MemoryEngine()
    made = Database(engine, Clock(ticks=lambda: 10**15))
    drive(engine, made.recover())
    owner = drive(engine, made.create_database("d", None))
    drive(engine, made.create_container(owner, "c", "nosql", DEFINITION, None))
    for number, ttl in enumerate((0, 50, -1)):
        item = {"id": str(number), "pk": "a", "mark": number}
        draft = Draft(dump(item)[:-1], ttl, item)
        drive(engine, made.write_item(container_of(made), ("a",), str(number), draft, Mode.CREATE))
    drive(engine, made.delete_item(container_of(made), ("a",), "2"))
    return made


def container_of(database: Database) -> Container:
    return database.container("d", "c")


def damage(database: Database, effects: dict[bytes, bytes | None], header: bytes | None = None) -> None:
    partition = container_of(database).row.ranges[0].partition
    assert isinstance(database.engine.write(partition, [lambda _: Changes(effects, header)])[0], Applied)


def rows_of(database: Database, family: bytes) -> list[tuple[bytes, bytes]]:
    with database.engine.read(container_of(database).row.ranges[0].partition) as reader:
        return [row for page in reader.scan(family, family_end(family)) for row in page.rows]


def test_nothing_is_wrong_at_first(database: Database) -> None:
    report = database.check()
    assert (report.containers, report.partitions, report.items, report.complaints) == (1, 1, 2, [])


@pytest.mark.parametrize(
    "family", [layout.ITEM, layout.NUMBER, layout.LOGICAL, layout.LOG, layout.UNIQUE, layout.DUE, layout.AGE]
)
def test_a_missing_row_is_found(database: Database, family: bytes) -> None:
    damage(database, {rows_of(database, family)[0][0]: None})
    assert any(database.check().complaints)


@pytest.mark.parametrize(
    ("family", "name"),
    [(layout.NUMBER, "number"), (layout.UNIQUE, "unique"), (layout.DUE, "due"), (layout.AGE, "age")],
)
def test_a_row_of_nobody_is_found(database: Database, family: bytes, name: str) -> None:
    key, value = rows_of(database, family)[0]
    damage(database, {key[:-1] + bytes((key[-1] ^ 0x80,)): value})
    assert any(f"{name} entry" in complaint for complaint in database.check().complaints)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda header: setattr(header, "items", header.items + 1), "the header says 3 items, there are 2"),
        (lambda header: setattr(header, "bytes", 0), "the header says 0 bytes"),
        (lambda header: setattr(header, "loose", 5), "the header says 5 log entries to trim"),
        (lambda header: setattr(header, "counter", 1), "was not given out yet"),
        (lambda header: setattr(header, "version", 9), "follows version 9"),
        (lambda header: setattr(header, "unusual", 1), "1 logical partitions are not plain"),
        (lambda header: setattr(header, "birth", 3), "birth"),
        (lambda header: setattr(header, "time", 0), "before the last log entry"),
    ],
)
def test_a_wrong_header_is_found(database: Database, change: Callable[[Header], None], words: str) -> None:
    with database.engine.read(container_of(database).row.ranges[0].partition) as reader:
        header = Header(reader.header)
    change(header)
    damage(database, {}, header.pack())
    assert any(words in complaint for complaint in database.check().complaints)


def test_an_unknown_family_is_found(database: Database) -> None:
    damage(database, {b"\x77x": b""})
    assert any("no known family: 7778" in complaint for complaint in database.check().complaints)


def test_an_item_in_the_wrong_place_is_found(database: Database) -> None:
    (key, record), *_ = rows_of(database, layout.ITEM)
    damage(database, {key: record.replace(b'"pk":"a"', b'"pk":"b"')})
    assert any("does not live where" in complaint for complaint in database.check().complaints)


def test_a_missing_partition_is_found(database: Database) -> None:
    database.engine.drop(container_of(database).row.ranges[0].partition)
    assert any("does not exist" in complaint for complaint in database.check().complaints)


def test_a_partition_of_nobody_is_a_note(database: Database) -> None:
    database.engine.create(b"nobody", b"")
    report = database.check()
    assert (report.complaints, len(report.notes)) == ([], 1)
