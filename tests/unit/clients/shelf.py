"""A container on a shelf: a dictionary with etags, rids and pages that keeps the contract of `Calls`.

`meet` is called before every call that reaches it, with the call's name: a test raises there to kill a client between
two steps, or lets somebody else be faster.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from inspect import isawaitable
from threading import RLock
from typing import Any, Final, NamedTuple

from armillary.clients import AsyncKeyed, Keyed, Page, Reason
from armillary.keys.strategy import Strategy
from armillary.keys.synthetic import Key

Item = dict[str, Any]
FORMS: Final = ("plain", "asynchronous")


class ShelfError(Exception):
    """One of the answers that an operation may go on from."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Visit(NamedTuple):
    """One call that reached the shelf."""

    name: str
    key: Key | None


class Shelf:
    """Items by key and id; a page holds as many as are asked for, or fewer."""

    def __init__(self, *paths: str, version: int = 2, most: int = 1000) -> None:
        kind = "MultiHash" if len(paths) > 1 else "Hash"
        self._definition = {"paths": list(paths) or ["/partitionKey"], "kind": kind, "version": version}
        self._most = most
        self._counter = 0
        self._lock = RLock()
        self.items: dict[tuple[Key, str], Item] = {}
        self.visits: list[Visit] = []
        self.meet: Callable[[str], None] = lambda _name: None

    def definition(self) -> Item:
        return self._definition

    def create(self, key: Key, item: Item, /, **_options: Any) -> Item:
        with self._visit("create", key):
            if (key, item["id"]) in self.items:
                raise ShelfError(Reason.EXISTS)
            return self._put(key, item, self._next())

    def upsert(self, key: Key, item: Item, /, **_options: Any) -> Item:
        with self._visit("upsert", key):
            old = self.items.get((key, item["id"]))
            return self._put(key, item, old["_rid"] if old else self._next())

    def read(self, key: Key, item_id: str, /, **_options: Any) -> Item:
        with self._visit("read", key):
            return dict(self._find(key, item_id, ""))

    def replace(self, key: Key, item_id: str, item: Item, etag: str, /, **_options: Any) -> Item:
        with self._visit("replace", key):
            return self._put(key, item, self._find(key, item_id, etag)["_rid"])

    def delete(self, key: Key, item_id: str, etag: str, /, **_options: Any) -> None:
        with self._visit("delete", key):
            self._find(key, item_id, etag)
            del self.items[key, item_id]

    def page(self, key: Key | None, size: int, token: str, /, **_options: Any) -> Page:
        with self._visit("page", key):
            places = sorted(place for place in self.items if key is None or begins(place[0], key))
            rest = [place for place in places if not token or place > read_place(token)]
            some = rest[: min(size, self._most)]
            return Page([dict(self.items[place]) for place in some], json.dumps(some[-1]) if rest[len(some) :] else "")

    def reason_of(self, error: Exception) -> Reason | None:
        return error.reason if isinstance(error, ShelfError) else None

    def find(self, item_id: str) -> dict[Key, Item]:
        """Every item with this id, by its key."""
        return {key: item for (key, name), item in self.items.items() if name == item_id}

    def count(self, name: str) -> int:
        return sum(visit.name == name for visit in self.visits)

    def _visit(self, name: str, key: Key | None) -> RLock:
        self.meet(name)
        self.visits.append(Visit(name, key))
        return self._lock

    def _put(self, key: Key, item: Item, rid: str) -> Item:
        own = {name: value for name, value in item.items() if name not in ("_rid", "_etag")}
        self.items[key, item["id"]] = {**own, "_rid": rid, "_etag": self._next()}
        return dict(self.items[key, item["id"]])

    def _find(self, key: Key, item_id: str, etag: str) -> Item:
        item = self.items.get((key, item_id))
        if item is None:
            raise ShelfError(Reason.MISSING)
        if etag and item["_etag"] != etag:
            raise ShelfError(Reason.CHANGED)
        return item

    def _next(self) -> str:
        self._counter += 1
        return str(self._counter)


class AsyncShelf:
    """The same shelf for coroutines; every call lets others run before it comes."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._shelf, name)
        if name == "reason_of":
            return found

        async def call(*given: Any, **options: Any) -> Any:
            await asyncio.sleep(0)
            return found(*given, **options)

        return call


class Driven:
    """The asynchronous face, called like the plain one."""

    def __init__(self, face: AsyncKeyed) -> None:
        self._face = face

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **options: settle(getattr(self._face, name)(*given, **options))


def settle(value: Any) -> Any:
    if isinstance(value, AsyncIterator):
        return drain(value)
    return asyncio.run(wait(value)) if isawaitable(value) else value


def drain(source: AsyncIterator[Any]) -> Iterator[Any]:
    async def collect() -> list[Any]:
        return [value async for value in source]

    yield from asyncio.run(collect())


async def wait(value: Any) -> Any:
    return await value


def open_shelf(form: str, shelf: Shelf, strategy: Strategy, **settings: Any) -> Any:
    """The shelf seen through a key, in one of the two forms."""
    if form == "plain":
        return Keyed(shelf, strategy, **settings)
    return Driven(AsyncKeyed(AsyncShelf(shelf), strategy, **settings))


def read_place(token: str) -> tuple[Key, str]:
    key, name = json.loads(token)
    return (tuple(key) if isinstance(key, list) else key), name


def begins(key: Key, start: Key) -> bool:
    return key[: len(start)] == start if isinstance(key, tuple) and isinstance(start, tuple) else key == start
