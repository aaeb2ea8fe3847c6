"""A load that never pauses while its container is split again and again, and the judge of what the clients saw.

Writers create, upsert, read and delete items of their own over the official client, so each knows what it must find. A
follower reads the change feed from its beginning and goes on from its continuations. Nothing is retried here: whatever
the client raises is a failure.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from azure.cosmos import CosmosClient
from tests.e2e.live import Live

KEYS: Final = 300
DATABASE: Final = "splits"
CONTAINER: Final = "load"


@contextmanager
def open_container(live: Live) -> Iterator[Any]:
    with CosmosClient(live.http, live.key) as client:
        yield client.get_database_client(DATABASE).get_container_client(CONTAINER)


@dataclass
class Seen:
    """What one client saw: how long each request took, what failed, and what it knows to be there."""

    waits: list[tuple[float, float]] = field(default_factory=list)  # when, how long
    failures: list[str] = field(default_factory=list)
    items: dict[str, tuple[str, int]] = field(default_factory=dict)  # id -> key, version
    made: int = 0

    def timed(self, call: Callable[[], Any]) -> Any:
        began = time.monotonic()
        try:
            return call()
        finally:
            self.waits.append((began, time.monotonic() - began))


class Load:
    """Clients in threads of this process, from `start` to `stop`."""

    def __init__(self, live: Live, writers: int, pad: int, seed: int) -> None:
        self._live = live
        self._pad = pad
        self._stopped = threading.Event()
        self.seen = [Seen() for _ in range(writers)]
        self.feed = Seen()
        self._threads = [
            threading.Thread(target=self._write, args=(at, random.Random(f"{seed} {at}"))) for at in range(writers)
        ]
        self._threads.append(threading.Thread(target=self._follow))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    @property
    def failures(self) -> list[str]:
        return [failure for seen in (*self.seen, self.feed) for failure in seen.failures]

    def longest_wait(self, start: float, stop: float) -> float:
        """The longest of the requests that began between two moments."""
        return max(wait for seen in self.seen for began, wait in seen.waits if start <= began < stop)

    def _write(self, number: int, chance: random.Random) -> None:
        seen = self.seen[number]
        try:
            with open_container(self._live) as container:
                while not self._stopped.is_set():
                    self._write_once(container, seen, number, chance)
        except Exception as error:  # noqa: BLE001 - told to the judge
            seen.failures.append(repr(error)[:500])

    def _write_once(self, container: Any, seen: Seen, number: int, chance: random.Random) -> None:
        draw = chance.random()
        if draw < 0.6 or len(seen.items) < 10:
            seen.made += 1
            self._put(container, seen, f"{number}-{seen.made}", f"k{chance.randrange(KEYS)}", 0)
            return
        name = chance.choice(list(seen.items)[-200:])
        key, version = seen.items[name]
        if draw < 0.7:
            self._put(container, seen, name, key, version + 1)
        elif draw < 0.75:
            del seen.items[name]
            seen.timed(partial(container.delete_item, name, key))
        else:
            found = seen.timed(partial(container.read_item, name, key))
            if found["version"] != version:
                seen.failures.append(f"{name} has version {found['version']}, not {version}")

    def _put(self, container: Any, seen: Seen, name: str, key: str, version: int) -> None:
        item = {"id": name, "pk": key, "version": version, "pad": "x" * self._pad}
        seen.timed(lambda: container.upsert_item(item) if version else container.create_item(item))
        seen.items[name] = (key, version)

    def _follow(self) -> None:
        seen, position = self.feed, None
        try:
            with open_container(self._live) as container:
                while not self._stopped.is_set():
                    position = self._read_feed(container, position)
                self._read_feed(container, position)
        except Exception as error:  # noqa: BLE001 - told to the judge
            seen.failures.append(repr(error)[:500])

    def _read_feed(self, container: Any, position: str | None) -> str:
        begin: dict[str, Any] = {"continuation": position} if position else {"start_time": "Beginning"}
        for item in container.query_items_change_feed(**begin):
            known = self.feed.items.get(item["id"])
            if known is not None and known[1] > item["version"]:
                self.feed.failures.append(f"{item['id']} came as {item['version']} after {known[1]}")
            self.feed.items[item["id"]] = (item["pk"], item["version"])
        after: str = container.client_connection.last_response_headers["etag"]
        return after

    def judge(self) -> None:
        """After the end: what is there is what the writers know, once each, and the feed has shown all of it."""
        assert self.failures == []
        known = {name: place for seen in self.seen for name, place in seen.items.items()}
        with open_container(self._live) as container:
            found = [(item["id"], (item["pk"], item["version"])) for item in container.read_all_items()]
        assert len(found) == len(dict(found)), "an item came twice"
        assert dict(found) == known
        missed = {name: place for name, place in known.items() if self.feed.items.get(name) != place}
        assert missed == {}
