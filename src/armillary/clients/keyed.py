"""A container seen through its synthetic key: the same calls, without anybody adding a key by hand.

    box = Keyed(calls, hash_suffix("/date", by="/vin", count=400))
    box.create_item({"id": "1", "date": "2018-08-09", "vin": "1HGCM82633A004352"})
    box.read_item("1", {"date": "2018-08-09", "vin": "1HGCM82633A004352"})
    for item in box.read_items({"date": "2018-08-09"}): ...

`Keyed` makes calls side by side with threads, `AsyncKeyed` with coroutines; what is done is the same (`operations`).
Sources are given by name, as a strategy names them. What else is given by name goes on to the container's own calls.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal, TypeAlias

from armillary.clients.calls import Ask, AsyncCalls, Calls, Item, Page, Result, Steps
from armillary.clients.moves import Mended
from armillary.clients.operations import Operations, Sources
from armillary.errors import Kind, Refusal
from armillary.keys.synthetic import Strategy

OnChange: TypeAlias = Literal["refuse", "move"]

PARALLEL: Final = 8
PAGE_SIZE: Final = 100

_CHOICES: Final = ("refuse", "move")


class Keyed:
    """A container whose calls wait."""

    def __init__(
        self, calls: Calls, strategy: Strategy, *, on_change: OnChange = "refuse", parallel: int = PARALLEL
    ) -> None:
        self._calls = calls
        self._operations = Operations(strategy, calls.reason_of, parallel, _read_choice(on_change))
        self._pool = ThreadPoolExecutor(parallel, "armillary-keyed")
        self._is_checked = False

    def create_item(self, item: Item, **options: Any) -> Item:
        """Create an item under the key that is made of it."""
        return self._run(self._operations.create(item, options))

    def upsert_item(self, item: Item, **options: Any) -> Item:
        """Create an item, or replace the one that is there."""
        return self._run(self._operations.upsert(item, options))

    def read_item(self, item_id: str, sources: Sources, **options: Any) -> Item:
        """Read one item; with all sources of its key that is one read, with fewer several side by side."""
        return self._run(self._operations.read(item_id, sources, options))

    def replace_item(
        self, item_id: str, item: Item, *, was: Sources | None = None, etag: str = "", **options: Any
    ) -> Item:
        """Replace an item. It is looked for under the key that stands in it, or under the sources as they were."""
        return self._run(self._operations.replace(item_id, item, was, etag, options))

    def delete_item(self, item_id: str, sources: Sources, *, etag: str = "", **options: Any) -> None:
        """Delete an item, if it has the etag that is given."""
        self._run(self._operations.delete(item_id, sources, etag, options))

    def read_pages(
        self,
        sources: Sources | None,
        *,
        size: int = PAGE_SIZE,
        order_by: str = "",
        continuation: str = "",
        **options: Any,
    ) -> Iterator[Page]:
        """All items with these sources (None: all items) in pages; each says where the next begins."""
        fan = self._operations.fan_out(sources, size, order_by, continuation, options)
        while not fan.is_over:
            page = self._run(fan.next_page())
            if page.items or page.next:
                yield page

    def read_items(self, sources: Sources | None, *, order_by: str = "", **options: Any) -> Iterator[Item]:
        """The same, item by item."""
        for page in self.read_pages(sources, order_by=order_by, **options):
            yield from page.items

    def repair(self, sources: Sources | None = None, *, dry_run: bool = False, **options: Any) -> list[Mended]:
        """Mend the moves that were cut, among the items with these sources or among all; or only tell of them."""
        mended: list[Mended] = []
        for page in self.read_pages(sources, **options):
            mended += self._run(self._operations.mend(page.items, dry_run, options))
        return list(dict.fromkeys(mended))

    def _run(self, steps: Steps[Result]) -> Result:
        if not self._is_checked:
            self._drive(self._operations.check())
            self._is_checked = True
        return self._drive(steps)

    def _drive(self, steps: Steps[Result]) -> Result:
        try:
            asks = next(steps)
            while True:
                asks = steps.send(self._answer(asks))
        except StopIteration as end:
            result: Result = end.value
            return result

    def _answer(self, asks: Sequence[Ask]) -> list[Any]:
        if len(asks) == 1:
            return [self._attempt(asks[0])]
        return list(self._pool.map(self._attempt, asks))

    def _attempt(self, asked: Ask) -> Any:
        try:
            return getattr(self._calls, asked.name)(*asked.given, **asked.options)
        except Exception as error:  # noqa: BLE001 - not handled here: an outcome, which the operation judges
            return error


class AsyncKeyed:
    """The same with coroutines."""

    def __init__(
        self, calls: AsyncCalls, strategy: Strategy, *, on_change: OnChange = "refuse", parallel: int = PARALLEL
    ) -> None:
        self._calls = calls
        self._operations = Operations(strategy, calls.reason_of, parallel, _read_choice(on_change))
        self._is_checked = False

    async def create_item(self, item: Item, **options: Any) -> Item:
        return await self._run(self._operations.create(item, options))

    async def upsert_item(self, item: Item, **options: Any) -> Item:
        return await self._run(self._operations.upsert(item, options))

    async def read_item(self, item_id: str, sources: Sources, **options: Any) -> Item:
        return await self._run(self._operations.read(item_id, sources, options))

    async def replace_item(
        self, item_id: str, item: Item, *, was: Sources | None = None, etag: str = "", **options: Any
    ) -> Item:
        return await self._run(self._operations.replace(item_id, item, was, etag, options))

    async def delete_item(self, item_id: str, sources: Sources, *, etag: str = "", **options: Any) -> None:
        await self._run(self._operations.delete(item_id, sources, etag, options))

    async def read_pages(
        self,
        sources: Sources | None,
        *,
        size: int = PAGE_SIZE,
        order_by: str = "",
        continuation: str = "",
        **options: Any,
    ) -> AsyncIterator[Page]:
        fan = self._operations.fan_out(sources, size, order_by, continuation, options)
        while not fan.is_over:
            page = await self._run(fan.next_page())
            if page.items or page.next:
                yield page

    async def read_items(self, sources: Sources | None, *, order_by: str = "", **options: Any) -> AsyncIterator[Item]:
        async for page in self.read_pages(sources, order_by=order_by, **options):
            for item in page.items:
                yield item

    async def repair(self, sources: Sources | None = None, *, dry_run: bool = False, **options: Any) -> list[Mended]:
        mended: list[Mended] = []
        async for page in self.read_pages(sources, **options):
            mended += await self._run(self._operations.mend(page.items, dry_run, options))
        return list(dict.fromkeys(mended))

    async def _run(self, steps: Steps[Result]) -> Result:
        if not self._is_checked:
            await self._drive(self._operations.check())
            self._is_checked = True
        return await self._drive(steps)

    async def _drive(self, steps: Steps[Result]) -> Result:
        try:
            asks = next(steps)
            while True:
                asks = steps.send(await asyncio.gather(*map(self._attempt, asks)))
        except StopIteration as end:
            result: Result = end.value
            return result

    async def _attempt(self, asked: Ask) -> Any:
        try:
            return await getattr(self._calls, asked.name)(*asked.given, **asked.options)
        except Exception as error:  # noqa: BLE001 - not handled here: an outcome, which the operation judges
            return error


def _read_choice(on_change: str) -> bool:
    """Whether items move."""
    if on_change not in _CHOICES:
        raise Refusal(Kind.BAD_REQUEST, reason=f"on_change is {' or '.join(_CHOICES)}, not {on_change!r}")
    return on_change == "move"
