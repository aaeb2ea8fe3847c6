"""A client that writes as fast as it is answered: `python -m tests.crash.writer NUMBER SEED`, commands on stdin.

    go URL KEY      connect and write, over several connections, each with items of its own
    stop            finish what is under way, say so, and wait

Every report is a line of JSON on stdout, before a request is sent and after its answer came: see `ledger`. A connection
that breaks ends its part of the load until the next `go`.
"""

import json
import os
import random
import sys
import threading
import time
import traceback
from http.client import HTTPException
from itertools import count
from typing import Any, Final
from urllib.parse import quote

from tests.crash.ledger import COUNTER, Place, Verb, make_pad
from tests.e2e.live import UPSERT, Answer, Caller, key_header

DATABASE: Final = "/dbs/crash"
ITEMS: Final = f"{DATABASE}/colls/load"
KEYS: Final = 4
_CONNECTIONS: Final = 4
_OWNED: Final = 12
_UNIQUE: Final = 150  # values of the unique property: few enough that two items often want the same
_MARK: Final = count(1)  # one for each write of this process


class Writer:
    """One connection and the items it owns."""

    def __init__(self, process: int, connection: int, seed: str) -> None:
        name = f"{process}.{connection}"
        self.process = process
        self.chance = random.Random(f"{seed} {name}")
        self.extra = f"extra-{process}"
        self.makes_containers = connection == 0
        self.places = [(f"p{at % KEYS}", f"{name}.{at}") for at in range(_OWNED)]
        self.etags: dict[Place, str] = {}
        self.caller: Caller

    def run(self, url: str, key: str, stop: threading.Event) -> None:
        self.caller = Caller(url, key)
        try:
            while not stop.is_set():
                self.step()
        except (OSError, HTTPException):
            return  # the server was killed; what was under way stays unanswered
        except Exception:  # noqa: BLE001 - told to the ledger, which complains
            report("!", traceback.format_exc())
        finally:
            self.caller.close()

    def step(self) -> None:
        draw = self.chance.random()
        if draw < 0.08:
            self.count_up()
        elif draw < 0.10 and self.makes_containers:
            self.change_container()
        else:
            self.change_item(self.chance.choice(self.places))

    def count_up(self) -> None:
        """Compare and set, in competition with all other connections."""
        key = f"p{self.chance.randrange(KEYS)}"
        path = f"{ITEMS}/docs/{COUNTER}"
        before = self.caller.must("GET", path, None, key_header(key))
        mark = before.json["mark"] + 1
        item = {"id": COUNTER, "pk": key, "mark": mark, "u": COUNTER, "pad": make_pad(mark)}
        headers = {**key_header(key), "if-match": before.etag}
        self.write(Verb.COUNT, (key, COUNTER), mark, "PUT", path, item, headers)

    def change_container(self) -> None:
        place = ("", self.extra)
        if self.etags.pop(place, None) is not None:
            self.write(Verb.DELETE, place, 0, "DELETE", f"{DATABASE}/colls/{self.extra}", None, {})
            return
        mark = self.draw_mark()
        definition = {"id": self.extra, "partitionKey": {"paths": ["/pk"], "kind": "Hash"}, "defaultTtl": mark}
        self.write(Verb.CREATE, place, mark, "POST", f"{DATABASE}/colls", definition, {})

    def change_item(self, place: Place) -> None:
        verb = self.choose_verb(place)
        key, name = place
        path, headers = f"{ITEMS}/docs/{quote(name)}", key_header(key)
        if place in self.etags and self.chance.random() < 0.3:
            headers["if-match"] = self.etags[place]
        if verb is Verb.DELETE:
            self.write(verb, place, 0, "DELETE", path, None, headers)
            return
        mark = self.draw_mark()
        item = {"id": name, "pk": key, "mark": mark, "u": self.chance.randrange(_UNIQUE), "pad": make_pad(mark)}
        ttl = self.chance.choice((0,) * 16 + (-1, 1, 2, 3600))
        if ttl:
            item["ttl"] = ttl
        if verb is Verb.REPLACE:
            self.write(verb, place, mark, "PUT", path, item, headers)
        else:
            headers.update(UPSERT if verb is Verb.UPSERT else {})
            self.write(verb, place, mark, "POST", f"{ITEMS}/docs", item, headers)

    def draw_mark(self) -> int:
        """A number that no other write has: the processes take turns."""
        return next(_MARK) * 10 + self.process

    def choose_verb(self, place: Place) -> Verb:
        if place in self.etags:
            return self.chance.choice((Verb.REPLACE, Verb.REPLACE, Verb.UPSERT, Verb.DELETE))
        return self.chance.choice((Verb.CREATE, Verb.CREATE, Verb.UPSERT))

    def write(
        self, verb: Verb, place: Place, mark: int, method: str, path: str, body: Any, headers: dict[str, str]
    ) -> None:
        name = f"{place[1]}#{self.draw_mark()}"
        ttl = body.get("ttl", 0) if body else 0
        report("+", name, verb, *place, mark, ttl, time.time())
        answer = self.caller.ask(method, path, body, headers)
        report("-", name, *describe(answer))
        if answer.status in (200, 201):
            self.etags[place] = answer.etag
        elif answer.status in (204, 404, 412):
            self.etags.pop(place, None)
        elif answer.status == 409 and answer.substatus == 0:
            self.etags[place] = "*"


def describe(answer: Answer) -> tuple[object, ...]:
    """An answer as the ledger wants it."""
    if answer.status >= 300:
        return answer.status, answer.substatus, "", 0, 0, time.time()
    ts = answer.json["_ts"] if answer.body else 0
    lsn = int(answer.headers.get("lsn", 0))
    return answer.status, 0, answer.headers.get("etag", ""), lsn, ts, time.time()


def report(*fields: object) -> None:
    # One write of less than a page to a pipe is whole, whichever thread makes it.
    os.write(1, json.dumps(fields).encode() + b"\n")


def main(process: int, seed: str) -> None:
    writers = [Writer(process, at, seed) for at in range(_CONNECTIONS)]
    stop = threading.Event()
    threads: list[threading.Thread] = []
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "go":
            stop.clear()
            threads = [threading.Thread(target=writer.run, args=(*arguments, stop)) for writer in writers]
            for thread in threads:
                thread.start()
        else:
            stop.set()
            for thread in threads:
                thread.join()
            report(".")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
