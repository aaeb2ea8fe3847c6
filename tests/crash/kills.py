"""Kills under load, one after another, on one data folder, and what is found after each.

    start --load--> kill --what clients were told--> restart --read everything, check everything--> settle --+
      ^                                                                                                    |
      +----------------------------------------------------------------------------------------------------+

Half of the kills happen at a failpoint between the engine's commit and the answer; the others at any moment: the whole
family, a worker, or the keeper. A kill hit a write when a request was sent and never answered; it hit between commit
and answer when it was at the failpoint and such a write is found in the store.
"""

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from tests.crash.family import DEADLINE, ROOT, Family, await_free
from tests.crash.ledger import COUNTER, Found, Ledger, Place, make_pad
from tests.crash.writer import DATABASE, ITEMS, KEYS
from tests.e2e.live import Caller, key_header

from armillary.clock import Clock
from armillary.database import Database
from armillary.kv.lmdb import LmdbEngine

CLIENTS: Final = 3
_DEFINITION: Final[dict[str, Any]] = {
    "id": "load",
    "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
    "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]},
    "defaultTtl": -1,
}


@dataclass
class Tally:
    """What happened."""

    seed: int
    workers: int
    kills: dict[str, int] = field(default_factory=dict)
    in_flight: int = 0
    between: int = 0
    landed: int = 0
    acknowledged: int = 0
    restarts: list[float] = field(default_factory=list)
    restart_cpu: list[float] = field(default_factory=list)
    replacements: list[float] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def killed(self) -> int:
        return sum(self.kills.values())

    def count(self, kind: str) -> None:
        self.kills[kind] = self.kills.get(kind, 0) + 1


class Clients:
    """The writing processes, and a thread that hears them."""

    def __init__(self, seed: int, ledger: Ledger) -> None:
        self._ledger = ledger
        self._ended: SimpleQueue[int] = SimpleQueue()
        self._turn = threading.Lock()
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.crash.writer", str(at), str(seed)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for at in range(CLIENTS)
        ]
        self._threads = [threading.Thread(target=self._hear, args=(process,)) for process in self._processes]
        for thread in self._threads:
            thread.start()

    def _hear(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            report = json.loads(line)
            if report == ["."]:
                self._ended.put(process.pid)
            else:
                with self._turn:
                    self._ledger.note(report)

    def go(self, http: str, key: str) -> None:
        self._tell(f"go {http} {key}\n")

    def stop(self) -> None:
        """When this returns, the ledger knows everything they know."""
        self._tell("stop\n")
        try:
            for _ in self._processes:
                self._ended.get(timeout=2 * DEADLINE)
        except Empty:
            raise AssertionError("a client does not end its writes") from None

    def _tell(self, text: str) -> None:
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(text.encode())
            process.stdin.flush()

    def close(self) -> None:
        for process, thread in zip(self._processes, self._threads, strict=True):
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            process.wait(DEADLINE)
            thread.join()
            process.stdout.close()


class Campaign:
    """A series of kills; stops at the first thing that is wrong."""

    def __init__(self, place: Path, seed: int, workers: int) -> None:
        self.workers = workers
        self.folder = place / "data"
        self.log = place / "server.log"
        self.chance = random.Random(seed)
        self.ledger = Ledger()
        self.tally = Tally(seed, workers)

    def run(self, kills: int) -> Tally:
        family = self._start()
        self._prepare(family)
        clients = Clients(self.tally.seed, self.ledger)
        try:
            while self.tally.killed < kills and not self.tally.complaints:
                family = self._kill_once(family, clients)
        finally:
            if family.process.poll() is None:
                family.kill()
                family.end()
            clients.close()
        self.tally.acknowledged = self.ledger.acknowledged
        return self.tally

    def _start(self, failpoints: str = "") -> Family:
        return Family(self.folder, self.log, failpoints, workers=self.workers)

    def _prepare(self, family: Family) -> None:
        caller = Caller(family.http, family.key)
        caller.must("POST", "/dbs", {"id": "crash"})
        caller.must("POST", f"{DATABASE}/colls", _DEFINITION)
        for key in (f"p{at}" for at in range(KEYS)):
            item = {"id": COUNTER, "pk": key, "mark": 0, "u": COUNTER, "pad": make_pad(0)}
            caller.must("POST", f"{ITEMS}/docs", item, key_header(key))
            self.ledger.counted[key, COUNTER] = {0}
        caller.close()

    def _kill_once(self, family: Family, clients: Clients) -> Family:
        """A burst of load and its end; the family that serves afterwards."""
        kind = self.chance.choices(("failpoint", "family", "worker", "keeper"), (62, 16, 19, 3))[0]
        if kind == "failpoint":
            family = self._restart_armed(family)
        clients.go(family.http, family.key)
        if kind == "failpoint":
            kind = self._await_failpoint(family)
        else:
            time.sleep(self.chance.uniform(0.1, 0.5))  # the load itself, of any length
        if kind == "worker":
            self.tally.replacements.append(family.replace_worker(self.chance.choice(family.workers)))
        elif kind == "keeper":
            family.replace_keeper()
        elif kind == "family":
            family.kill()
        clients.stop()
        if kind in ("family", "failpoint"):
            family.end()
            family = self._restart()
        self._judge(kind, family)
        return family

    def _restart_armed(self, family: Family) -> Family:
        """A server whose writers kill their family in the middle of an answer; the one before is told to stop."""
        assert family.stop() == 0
        place = self.chance.choice(("before-answer",) * 5 + ("after-commit",))
        return self._start(f"{place}=kill-family#{self.chance.randint(1, 90 // self.workers)}")

    def _await_failpoint(self, family: Family) -> str:
        try:
            family.process.wait(5)
        except subprocess.TimeoutExpired:
            return "family"  # so slow a machine: it is killed at any moment instead
        return "failpoint"

    def _restart(self) -> Family:
        await_free(self.folder)
        if self.chance.random() < 0.3:
            engine = LmdbEngine(self.folder)
            self.tally.complaints += Database(engine, Clock()).check().complaints
            engine.close()
        family = self._start()
        self.tally.restarts.append(family.ready_after)
        self.tally.restart_cpu.append(family.ready_cpu)
        return family

    def _judge(self, kind: str, family: Family) -> None:
        caller = Caller(family.http, family.key)
        # A write that finds nothing to do takes the partition's lock: what a killed worker has committed and told
        # nobody is seen from then on, by all who live.
        assert caller.ask("DELETE", f"{ITEMS}/docs/nothing", None, key_header("p0")).status == 404
        settled = self.ledger.settle(read_everything(caller))
        report = caller.must("GET", "/_armillary/check").json
        caller.close()
        tally = self.tally
        tally.count(kind)
        tally.in_flight += kind != "keeper" and settled.unanswered > 0
        tally.between += kind == "failpoint" and settled.landed > 0
        tally.landed += settled.landed
        # What a killed worker leaves half made is nobody's until the family starts again.
        notes = report["notes"] if kind in ("family", "failpoint") else []
        complaints = [*settled.complaints, *report["complaints"], *notes]
        tally.complaints += [f"kill {tally.killed} ({kind}): {complaint}" for complaint in complaints]


def read_everything(caller: Caller) -> Found:
    """All items of the container under load, and the other containers."""
    began = time.time()
    documents: dict[Place, Mapping[str, Any]] = {}
    headers = {"x-ms-documentdb-partitionkeyrangeid": "0", "x-ms-max-item-count": "100"}
    while True:
        page = caller.must("GET", f"{ITEMS}/docs", None, headers)
        documents |= {(item["pk"], item["id"]): item for item in page.json["Documents"]}
        after = page.headers.get("x-ms-continuation")
        if after is None:
            break
        headers["x-ms-continuation"] = after
    for found in caller.must("GET", f"{DATABASE}/colls").json["DocumentCollections"]:
        if found["id"] != "load":
            mark = found["defaultTtl"]
            seen = {"mark": mark, "pad": make_pad(mark), "_etag": found["_etag"], "_ts": found["_ts"]}
            documents["", found["id"]] = seen
    return Found(documents, int(page.headers["lsn"]), began, time.time())
