"""What an image of a whole store lacks, by the lines that `store_load` wrote until then.

The store recovers, its own check finds nothing, and everything in it is as it was acknowledged last, or as the step
that was open makes it: each resource of that step wholly or not at all. Then it goes on: a write into each container.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.container import Container
from armillary.database import Database
from armillary.errors import Refusal
from armillary.json import dump, load
from armillary.kv.lmdb import LmdbEngine
from armillary.kv.steps import drive
from armillary.store.catalog import partitions_of
from armillary.store.items import Draft, Mode
from armillary.store.layout import CATALOG, ITEM, family_end
from armillary.store.reading import read_stretch
from armillary.store.splitting import Phase, Splitting
from armillary.store.transaction import Moment

State = dict[str, Any] | None


class Expected:
    """What was acknowledged, and what was open."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.states: dict[str, State] = {}
        self.open: dict[str, State] = {}
        self.ticks = 0
        asked: list[tuple[str, State]] = []
        for line in lines:
            sign, self.ticks, what = json.loads(line)
            if sign == "?":
                asked = [(path, self._date(state)) for path, state in what]
                self.open = dict(asked)
                continue
            self.open = {}
            for at in what:
                self._set(*asked[at])

    def _date(self, state: State) -> State:
        return None if state is None else {**state, "written": self.ticks}

    def _set(self, path: str, state: State) -> None:
        self.states[path] = state
        if state is None:  # and everything in it
            for below in [known for known in self.states if known.startswith(f"{path}/")]:
                self.states[below] = None

    def judge(self, path: str, found: State, default: int | None) -> str | None:
        """What is wrong with one resource; `default` is the ttl of the container it is in."""
        allowed = [self.states.get(path)]
        for holder, state in self.open.items():
            if path == holder:
                allowed.append(state)
            elif path.startswith(f"{holder}/") and state is None:
                allowed.append(None)
        seen = [self._see(state, default) for state in allowed]
        return None if found in seen else f"{path} is {found}, not one of {seen}"

    def _see(self, state: State, default: int | None) -> State:
        """A state as a reader sees it now."""
        if state is None:
            return None
        seconds = (state.get("ttl") or default or -1) if default is not None else -1
        if seconds > 0 and state["written"] + seconds * TICKS_PER_SECOND <= self.ticks:
            return None
        return {name: value for name, value in state.items() if name not in ("written", "ttl")}


def check(folder: Path, acknowledged: Sequence[bytes]) -> list[str]:
    """What is wrong with an image."""
    expected = Expected(acknowledged)
    try:
        engine = LmdbEngine(folder / "data")
    except (Refusal, OSError) as error:
        return [f"does not open: {error}"]
    try:
        database = Database(engine, Clock(ticks=lambda: expected.ticks))
        drive(engine, database.recover())
        return [*_check_whole(database), *_compare(database, expected), *_go_on(database)]
    except Refusal as error:
        return [f"refuses: {error}"]
    finally:
        engine.close()


def _check_whole(database: Database) -> Iterator[str]:
    yield from database.check().complaints
    named = {partition for container in database.every_container() for partition in partitions_of(container.row)}
    for left in set(database.engine.partitions()) - named - {CATALOG}:
        yield f"the partition {left.hex()} is left over"


def _compare(database: Database, expected: Expected) -> Iterator[str]:
    containers = {f"{each.owner.id}/{each.row.id}": each for each in database.every_container()}
    found: dict[str, State] = {row.id: {} for row in database.databases(-1, 100)}
    for path, container in containers.items():
        found[path] = {"mark": container.definition["mark"], "default": container.definition["defaultTtl"]}
        found |= _read_items(database, container, path)
    for path in sorted(found.keys() | expected.states.keys() | expected.open.keys()):
        holder = containers.get("/".join(path.split("/")[:2])) if path.count("/") > 1 else None
        wrong = expected.judge(path, found.get(path), holder.rules.default_ttl if holder else None)
        if wrong is not None:
            yield wrong


def _read_items(database: Database, container: Container, path: str) -> Iterator[tuple[str, State]]:
    for place in container.row.ranges:
        with database.engine.read(place.partition) as reader:
            ticks = database.clock.ticks()
            page = read_stretch(reader, ITEM, family_end(ITEM), container.rules, ticks, (1000, 1 << 30))
        for item in map(load, (each.body for each in page.items)):
            yield f"{path}/{item['pk']}/{item['id']}", {"mark": item["mark"], "size": len(item["pad"])}


def _go_on(database: Database) -> Iterator[str]:
    """Splits are carried out, and every container takes a write."""

    def moment() -> Moment:
        return Moment(database.clock.ticks(), bytes(16))

    for container in database.every_container():
        for split in container.row.splits:
            splitting = Splitting(database.engine, container.row, split, container.rules, moment)
            while splitting.step() is not Phase.OVER:
                continue
            if not splitting.was_done:
                yield f"the split {split.id} of {container.row.id} cannot be carried out"
    database.forget()
    for container in database.every_container():
        item = {"id": "after", "pk": "after", "mark": 0, "u": 0, "pad": ""}
        draft = Draft(dump(item)[:-1], 0, item)
        drive(database.engine, database.write_item(container, ("after",), "after", draft, Mode.CREATE))
        if database.read_item(container, ("after",), "after").item.envelope.lsn < 1:
            yield f"{container.row.id} does not go on"
    yield from (f"after another write: {complaint}" for complaint in database.check().complaints)
