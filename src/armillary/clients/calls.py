"""The few calls that a container must have, and operations on it written once for clients that wait in any way.

A container is whatever has the methods of `Calls`, or of `AsyncCalls` where they are coroutines. What they raise is
theirs; `reason_of` says which of three answers it was, so that an operation can go on from it.

An operation is a generator of steps: it yields the calls that may be made side by side and is sent their outcomes in
the same order, a result or the exception. `keyed` drives it with threads or with coroutines.
"""

from collections.abc import Generator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from armillary.keys.synthetic import Key

Item: TypeAlias = dict[str, Any]
Options: TypeAlias = Mapping[str, Any]
Result = TypeVar("Result")


class Reason(Enum):
    """An answer of the service that an operation may go on from; every other error ends it."""

    MISSING = "no item has this id under this key"
    EXISTS = "an item with this id is there"
    CHANGED = "the item has another etag"


class Page(NamedTuple):
    """Items of a feed, and where it goes on; "" at its end."""

    items: list[Item]
    next: str


class Calls(Protocol):
    """What a container can do. A hierarchical key is a tuple; items have their `id` and, when read, their `_etag`."""

    def definition(self) -> Mapping[str, Any]:
        """The partition key of the container, as the protocol says it: `{"paths": ["/partitionKey"], ...}`."""

    def create(self, key: Key, item: Item, /, **options: Any) -> Item: ...

    def upsert(self, key: Key, item: Item, /, **options: Any) -> Item: ...

    def read(self, key: Key, item_id: str, /, **options: Any) -> Item: ...

    def replace(self, key: Key, item_id: str, item: Item, etag: str, /, **options: Any) -> Item:
        """Replace the item, if it has this etag; any when it is ""."""

    def delete(self, key: Key, item_id: str, etag: str, /, **options: Any) -> None:
        """Delete the item, if it has this etag; any when it is ""."""

    def page(self, key: Key | None, size: int, token: str, /, **options: Any) -> Page:
        """Items of a key, of the beginning of a hierarchical one, or of all keys (None), from a token on."""

    def reason_of(self, error: Exception) -> Reason | None: ...


class AsyncCalls(Protocol):
    """The same for coroutines."""

    async def definition(self) -> Mapping[str, Any]: ...

    async def create(self, key: Key, item: Item, /, **options: Any) -> Item: ...

    async def upsert(self, key: Key, item: Item, /, **options: Any) -> Item: ...

    async def read(self, key: Key, item_id: str, /, **options: Any) -> Item: ...

    async def replace(self, key: Key, item_id: str, item: Item, etag: str, /, **options: Any) -> Item: ...

    async def delete(self, key: Key, item_id: str, etag: str, /, **options: Any) -> None: ...

    async def page(self, key: Key | None, size: int, token: str, /, **options: Any) -> Page: ...

    def reason_of(self, error: Exception) -> Reason | None: ...


class Ask(NamedTuple):
    """One call to make: the name of a method of `Calls`, and what to give it."""

    name: str
    given: tuple[Any, ...]
    options: Options


Steps: TypeAlias = Generator[Sequence[Ask], Sequence[Any], Result]


def ask(name: str, *given: Any, options: Options) -> Steps[Any]:
    """One call by itself: its result, or its exception raised."""
    outcome = yield from attempt(name, *given, options=options)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def attempt(name: str, *given: Any, options: Options) -> Steps[Any]:
    """One call by itself: its result, or its exception returned."""
    (outcome,) = yield [Ask(name, given, options)]
    return outcome
