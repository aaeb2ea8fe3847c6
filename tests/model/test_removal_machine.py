"""Several processes that make, delete, replace and use one container name, with splits between, step by step.

Every operation is a generator, so a random scheduler takes the steps of many of them in any order, and lets processes
die between two steps. The law, looked at after each step: a write is applied only to a partition that the catalog names
at that moment, and a read answers for the container that has the name at that moment. Each run has a seed.
"""

import os
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from tests.unit.api.nosql.account import NOW, Account, Told, make_request, tell

from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.database import STALE, Database
from armillary.errors import Refusal
from armillary.kv.engine import Applied
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import Block, Commit, Step, Steps, drive
from armillary.store.cuts import cut_range
from armillary.store.splitting import Phase, Splitting
from armillary.store.transaction import Moment
from armillary.wire.http import Response

RUNS = 60 if "ARMILLARY_LONG" not in os.environ else 3000
STEPS = 250
BOX = "/dbs/d/colls/box"
DOCS = f"{BOX}/docs"
KEYS = "abcd"
FINE = {200, 201, 204, 404, 409, 412}


class Course(NamedTuple):
    """An operation on its way, and what it is to be sent next."""

    steps: Steps[Response]
    method: str
    item: tuple[str, str] | None  # what it makes or deletes
    sent: list[object]


class Run:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.clock = Clock(ticks=lambda: NOW * TICKS_PER_SECOND, monotonic=self.read_clock)
        self.engine = MemoryEngine()
        self.processes = [Account(self.engine, self.clock) for _ in range(3)]
        self.courses: list[Course] = []
        self.splitting: Splitting | None = None
        self.applied: dict[tuple[str, str], str] = {}
        self.names = 0
        drive(self.engine, self.database.recover())
        drive(self.engine, self.database.create_database("d", None))

    @property
    def database(self) -> Database:
        """A process that remembers nothing."""
        return Database(self.engine, self.clock)

    def read_clock(self) -> float:
        self.now += 0.01
        return self.now

    def run(self) -> None:
        actions: list[Callable[[], None]] = [self.write, self.write, self.erase, self.read, self.make, self.remove]
        actions += [self.replace, self.wait, self.die] + [self.advance] * 20 + [self.split] * 6
        for _ in range(STEPS):
            self.random.choice(actions)()
        self.end()

    # ---- what clients do

    def begin(self, method: str, path: str, body: object = b"", headers: Any = None, item: Any = None) -> Told | None:
        account = self.random.choice(self.processes)
        answer = account.app.handle(make_request(method, path, body, headers))
        if isinstance(answer, Response):
            return tell(answer)
        self.courses.append(Course(answer, method, item, [None]))
        return None

    def write(self) -> None:
        self.names += 1
        key, name = self.random.choice(KEYS), str(self.names)
        header = {"x-ms-documentdb-partitionkey": f'["{key}"]'}
        self.begin("POST", DOCS, {"id": name, "pk": key}, header, (key, name))

    def erase(self) -> None:
        key, name = self.random.choice([*self.applied, ("a", "1")])
        self.begin("DELETE", f"{DOCS}/{name}", None, {"x-ms-documentdb-partitionkey": f'["{key}"]'}, (key, name))

    def wait(self) -> None:
        """Others are slow: who watches a seal takes the one that set it for dead."""
        self.now += 3

    def read(self) -> None:
        """What is answered at once is answered for now."""
        key, name = self.random.choice([*self.applied, ("a", "1")])
        told = self.begin("GET", f"{DOCS}/{name}", None, {"x-ms-documentdb-partitionkey": f'["{key}"]'})
        if told is not None:
            now = self.find_rid()
            assert told.status in (200, 404)
            assert told.headers.get("x-ms-content-path", now) == now
            assert (told.status == 200) is (now is not None and self.applied.get((key, name)) == now)

    def make(self) -> None:
        definition = {"id": "box", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
        self.begin("POST", "/dbs/d/colls", definition, {"x-ms-offer-throughput": self.random.choice(("400", "12000"))})

    def remove(self) -> None:
        self.begin("DELETE", BOX)

    def replace(self) -> None:
        ttl = self.random.choice((-1, 3600))
        definition = {"id": "box", "partitionKey": {"paths": ["/pk"], "kind": "Hash"}, "defaultTtl": ttl}
        self.begin("PUT", BOX, definition)

    # ---- what the processes do

    def advance(self) -> None:
        if self.courses:
            self.advance_one(self.random.choice(self.courses))

    def advance_one(self, course: Course) -> None:
        try:
            sent = course.sent[0]
            step = course.steps.throw(sent) if isinstance(sent, Exception) else course.steps.send(sent)
            course.sent[0] = self.take(step)
            if course.item is not None and isinstance(step, Commit) and isinstance(course.sent[0], Applied):
                self.note(course, course.item, step.partition)
        except StopIteration as end:
            self.courses.remove(course)
            told = tell(end.value)
            assert told.status in FINE, told

    def take(self, step: Step) -> object:
        if isinstance(step, Commit):
            return self.engine.write(step.partition, [step.work])[0]
        try:
            return step.call() if isinstance(step, Block) else None
        except Refusal as refused:
            return refused

    def note(self, course: Course, item: tuple[str, str], partition: bytes) -> None:
        """A write was applied: the container of its partition must be the one there is."""
        owners = [
            container.rid
            for container in self.database.every_container()
            if any(place.partition == partition for place in container.row.ranges)
        ]
        assert owners, f"{item} was written to a partition that nobody names"
        if course.method == "POST":
            self.applied[item] = owners[0]
        else:
            assert self.applied.pop(item) == owners[0]

    def die(self) -> None:
        """A process is gone, with all that it had under way; another one takes its place."""
        self.courses = [course for course in self.courses if self.random.random() < 0.5]
        self.splitting = self.random.choice((self.splitting, None))
        self.processes[self.random.randrange(3)] = Account(self.engine, self.clock)

    def split(self) -> None:
        """As the keeper does: what is stale is taken up again from the catalog."""
        if self.splitting is not None:
            try:
                over = self.splitting.step() is Phase.OVER
            except Refusal as refused:
                if refused.kind not in STALE:
                    raise
                over = True
            if over:
                self.splitting = None
            return
        for container in self.database.every_container():
            row = container.row
            if row.splits:
                self.splitting = Splitting(self.engine, row, row.splits[0], container.rules, self.moment)
            elif len(row.ranges) < 4:
                place = self.random.choice(row.ranges)
                point = self.database.plan_split(container, place, cut_range).point.hex().upper()
                drive(self.engine, self.database.start_split(container, place, point, "test"))

    def moment(self) -> Moment:
        return Moment(NOW * TICKS_PER_SECOND, self.random.randbytes(16))

    def find_rid(self) -> str | None:
        return next((container.rid for container in self.database.every_container()), None)

    # ---- what is left

    def end(self) -> None:
        """Everything under way comes to its end beside a living keeper, then the family starts again."""
        for _ in range(20_000):
            if not self.courses:
                break
            self.advance()
            self.split()
        assert not self.courses, "an operation does not end"
        self.splitting = None
        drive(self.engine, self.database.recover())
        report = self.database.check()
        assert (report.complaints, report.notes) == ([], [])
        now = self.find_rid()
        kept = {item for item, rid in self.applied.items() if rid == now}
        assert report.items == len(kept)
        for key, name in kept:
            self.begin("GET", f"{DOCS}/{name}", None, {"x-ms-documentdb-partitionkey": f'["{key}"]'})
            while self.courses:
                self.advance()


@pytest.mark.parametrize("part", range(2))
def test_what_is_gone_is_not_written_to(part: int) -> None:
    first = int(os.environ.get("SEED", random.SystemRandom().randrange(2**31)))
    print(f"SEED={first}")
    for seed in range(first + part, first + RUNS, 2):
        try:
            Run(seed).run()
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
