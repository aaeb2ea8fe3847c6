"""A program whose writes are recorded: the whole store, used through its door, one step after another.

Every step is two lines of JSON in the file of acknowledgements: what it is about to do, and what of that was done.

    ["?", ticks, [[path, state], ...]]      state: what the resource will be, null when it will not be there
    ["!", ticks, [place in the list, ...]]

A path is `database`, `database/container` or `database/container/key/id`. The clock is the program's own: each step is
later than the one before. `store_check` judges images by these lines.
"""

import json
import os
import random
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.container import Container
from armillary.database import Database
from armillary.errors import Kind, Refusal
from armillary.json import dump
from armillary.keys.ranges import halve_range, read_range
from armillary.kv.engine import Outcome, Rejected
from armillary.kv.lmdb import LmdbEngine
from armillary.kv.steps import Commit, Steps, drive
from armillary.store.catalog import Range
from armillary.store.expiry import STEP, is_aging, move_aging, remove_expired
from armillary.store.items import Draft, Mode
from armillary.store.rules import Rules
from armillary.store.splitting import Phase, Splitting, give_up
from armillary.store.transaction import Moment

Change = tuple[str, "dict[str, Any] | None"]
Write = tuple[Change, Steps[Any]]

START = 17_000_000_000_000_000
KEYS = ("a", "b", "c")
REFUSED = frozenset((Kind.UNIQUE_CLASH, Kind.ITEM_EXISTS, Kind.ITEM_MISSING))


class Load:
    """What the program knows: its clock, and which items it may have written."""

    def __init__(self, folder: Path, acks: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.ticks = START
        self.marks = 0
        self.written: dict[str, tuple[int, int]] = {}  # path of an item -> when, and its ttl
        self.acks = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.open()

    def open(self) -> None:
        self.engine = LmdbEngine(self.folder)
        self.database = Database(self.engine, Clock(ticks=lambda: self.ticks), self.chance.randbytes)
        drive(self.engine, self.database.recover())

    def reopen(self) -> None:
        self.engine.close()
        self.open()

    def say(self, sign: str, what: Sequence[object]) -> None:
        os.write(self.acks, json.dumps([sign, self.ticks, what]).encode() + b"\n")

    def mark(self) -> int:
        self.marks += 1
        return self.marks

    # ---- steps

    def do(self, change: Change, steps: Steps[Any]) -> None:
        """One operation, which succeeds."""
        self.ticks += self.chance.randrange(1, TICKS_PER_SECOND)
        self.say("?", [change])
        drive(self.engine, steps)
        self.say("!", [0])

    def commit_together(self, container: Container, paths: Sequence[str]) -> None:
        """One commit of several writes to the partition of the first, some of which are refused."""
        place = self.find_place(container, paths[0])
        paths = [path for path in paths if self.find_place(container, path) == place]
        self.ticks += self.chance.randrange(1, TICKS_PER_SECOND)
        writes = [self.draw_write(container, path) for path in paths]
        self.say("?", [change for change, _ in writes])
        commits = [next(steps) for _, steps in writes]
        works = [commit.work for commit in commits if isinstance(commit, Commit)]
        outcomes = self.engine.write(place.partition, works)
        done = [at for at, outcome in enumerate(outcomes) if _finish(writes[at][1], outcome)]
        for (path, state), _ in (writes[at] for at in done):
            self.written.pop(path, None)
            if state is not None:
                self.written[path] = (self.ticks, state["ttl"])
        self.say("!", done)

    def draw_write(self, container: Container, path: str) -> Write:
        _, _, key, name = path.split("/")
        mode = self.chance.choice((None, Mode.CREATE, Mode.UPSERT, Mode.UPSERT, Mode.REPLACE))
        if mode is None:
            return (path, None), self.database.delete_item(container, (key,), name)
        mark, ttl = self.mark(), self.chance.choice((0, 0, -1, 3, 4000))
        pad = "x" * self.chance.choice((0, 20, 300, 5000))
        item: dict[str, Any] = {"id": name, "pk": key, "mark": mark, "u": self.chance.randrange(9), "pad": pad}
        draft = Draft(dump(item)[:-1], ttl, item)
        state = {"mark": mark, "ttl": ttl, "size": len(pad)}
        return (path, state), self.database.write_item(container, (key,), name, draft, mode)

    def keep(self, container: Container) -> None:
        """The keeper's share: what has expired goes, and the entries that find it follow the default."""
        gone = [path for path in self.written if self.has_expired(container, path)]
        self.say("?", [[path, None] for path in gone])
        for place in container.row.ranges:
            self.keep_partition(place.partition, container.rules)
        for path in gone:
            del self.written[path]
        self.say("!", list(range(len(gone))))

    def keep_partition(self, partition: bytes, rules: Rules) -> None:
        with self.engine.read(partition) as reader:
            moving = is_aging(reader.header)
        if moving:  # first: what has no entry yet would not be found
            self.engine.write(partition, [move_aging(partition, rules, self.moment())])
        (outcome,) = self.engine.write(partition, [remove_expired(partition, rules, self.moment())])
        assert not isinstance(outcome, Rejected)
        assert outcome.result < STEP

    def split(self, container: Container) -> None:
        """A split from its beginning to its end, with writes in between; some are cancelled before they are done."""
        place = self.chance.choice(container.row.ranges)
        path = container_path(container)
        point = halve_range(read_range(place.low, place.high))
        assert point is not None
        split = drive(self.engine, self.database.start_split(container, place, point.hex().upper(), "load"))
        now = self.database.container(*path.split("/"))
        splitting = Splitting(self.engine, now.row, split, now.rules, self.moment)
        cancelled = self.chance.random() < 0.25
        while splitting.step() is not Phase.OVER:
            if splitting.phase in (Phase.COPY, Phase.FOLLOW) and self.chance.random() < 0.5:
                name = f"{path}/{self.chance.choice(KEYS)}/{self.chance.randrange(8)}"
                self.commit_together(now, [name])
            if cancelled and splitting.phase is Phase.OPEN:
                give_up(self.engine, now.row, place, split.id)
        assert splitting.was_done is not cancelled
        for left in split.children if cancelled else (place,):
            self.engine.drop(left.partition)
        self.database.forget()

    def find_place(self, container: Container, path: str) -> Range:
        key = path.split("/")[2]
        return container.route(container.scope((key,)).start)

    def has_expired(self, container: Container, path: str) -> bool:
        default = container.rules.default_ttl
        if not path.startswith(container_path(container) + "/") or default is None:
            return False
        written, ttl = self.written[path]
        seconds = ttl or default
        return seconds > 0 and written + seconds * TICKS_PER_SECOND <= self.ticks

    def moment(self) -> Moment:
        return Moment(self.ticks, self.chance.randbytes(16))

    # ---- databases and containers

    def make_database(self, name: str) -> None:
        self.do((name, {}), self.database.create_database(name, None))

    def remove_database(self, name: str) -> None:
        self.do((name, None), self.database.delete_database(self.database.database(name), ""))
        self.written = {path: known for path, known in self.written.items() if not path.startswith(f"{name}/")}

    def make_container(self, database: str, name: str) -> Container:
        definition = self.draw_definition()
        owner = self.database.database(database)
        made = self.database.create_container(owner, name, "nosql", definition, None)
        self.do((f"{database}/{name}", show_definition(definition)), made)
        return self.database.container(database, name)

    def replace_container(self, container: Container) -> None:
        # What expired under the old rules would otherwise come back to life under new ones.
        self.keep(container)
        definition = self.draw_definition()
        replaced = self.database.replace_container(container, lambda _: definition, "")
        self.do((container_path(container), show_definition(definition)), replaced)

    def remove_container(self, container: Container) -> None:
        path = container_path(container)
        self.do((path, None), self.database.delete_container(container, ""))
        self.written = {item: known for item, known in self.written.items() if not item.startswith(f"{path}/")}

    def draw_definition(self) -> dict[str, Any]:
        return {
            "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
            "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]},
            "defaultTtl": self.chance.choice((-1, 5, 3600)),
            "mark": self.mark(),
        }


def container_path(container: Container) -> str:
    return f"{container.owner.id}/{container.row.id}"


def show_definition(definition: dict[str, Any]) -> dict[str, Any]:
    return {"mark": definition["mark"], "default": definition["defaultTtl"]}


def _finish(steps: Generator[Any, Any, Any], outcome: Outcome) -> bool:
    """Hand an outcome to the operation that waits for it; whether it was applied."""
    try:
        steps.send(outcome)
    except StopIteration:
        return True
    except Refusal as refused:
        if refused.kind not in REFUSED:
            raise
        return False
    raise AssertionError("an operation on an item is one commit")


def run(load: Load, rounds: int) -> None:
    load.make_database("shop")
    load.make_container("shop", "orders")
    for at in range(rounds):
        orders = load.database.container("shop", "orders")
        names = [f"{container_path(orders)}/{key}/{name}" for key in KEYS for name in range(8)]
        load.commit_together(orders, load.chance.sample(names, load.chance.choice((1, 1, 2, 5))))
        match at % 12:
            case 2:
                load.make_container("shop", "carts")
            case 3 | 4:
                carts = load.database.container("shop", "carts")
                load.commit_together(carts, [f"shop/carts/{load.chance.choice(KEYS)}/{at}"])
            case 5 | 9:
                load.replace_container(orders)
            case 6:
                load.keep(orders)
            case 7:
                load.remove_container(load.database.container("shop", "carts"))
            case 8:
                load.make_database("attic")
                load.make_container("attic", "boxes")
            case 10:
                load.remove_database("attic")
            case 11:
                load.reopen()
            case 0 if at and len(orders.row.ranges) < 6:
                load.split(orders)


if __name__ == "__main__":
    places = Path(os.environ["RECORD_ROOT"]) / "data", Path(os.environ["RECORD_ACKS"])
    run(Load(*places, seed=int(sys.argv[2])), rounds=int(sys.argv[1]))
