"""The few calls over `azure-cosmos`, plain and asynchronous, and containers of theirs seen through a synthetic key.

    box = keyed(database.get_container_client("cars"), hash_suffix("/date", by="/vin", count=400))

Options are those of the client's own calls (`response_hook`, `session_token`, `priority`, ...). A hook hears every
answer of a call that became several, also those that found nothing: a `Meter` adds up what they were charged.

Pages are read feeds of one key, which need no query; with a `query` (and `parameters`) they are its answers. The
continuation of a page is read from its headers, as the hook is given them: the client keeps those of its last answer in
one place, which threads share. The package is imported late and here alone, and only for the name of a condition:
whoever has a container has it.
"""

from collections.abc import Mapping
from typing import Any, Final

from armillary.clients.calls import Item, Page, Reason
from armillary.clients.keyed import PARALLEL, AsyncKeyed, Keyed, OnChange
from armillary.keys.synthetic import Key, Strategy

__all__ = ["AsyncCosmosCalls", "CosmosCalls", "Meter", "keyed", "keyed_async"]

_REASONS: Final = {404: Reason.MISSING, 409: Reason.EXISTS, 412: Reason.CHANGED}
_OF_WRITES: Final = frozenset(
    {
        *("enable_automatic_id_generation", "indexing_directive", "no_response", "retry_write"),
        *("pre_trigger_include", "post_trigger_include"),
    }
)


class Meter:
    """What calls were charged, and how many there were: give it to them as `response_hook`."""

    def __init__(self) -> None:
        self._charges: list[float] = []

    def __call__(self, headers: Mapping[str, str], _body: object = None) -> None:
        self._charges.append(float(headers.get("x-ms-request-charge") or 0))

    @property
    def calls(self) -> int:
        return len(self._charges)

    @property
    def units(self) -> float:
        """Request units, as the service rounds them."""
        return round(sum(self._charges), 2)


class CosmosCalls:
    """The calls over a `ContainerProxy`; those that only pass on what it gives do so for its coroutines, too."""

    def __init__(self, container: Any) -> None:
        self._container = container

    def definition(self) -> Any:
        return self._container.read()["partitionKey"]

    def create(self, _key: Key, item: Item, /, **options: Any) -> Any:
        return self._container.create_item(item, **options)

    def upsert(self, _key: Key, item: Item, /, **options: Any) -> Any:
        return self._container.upsert_item(item, **options)

    def read(self, key: Key, item_id: str, /, **options: Any) -> Any:
        try:
            return self._container.read_item(item_id, _spell(key), **_for_reads(options))
        except Exception as error:
            _tell(error, options)
            raise

    def replace(self, _key: Key, item_id: str, item: Item, etag: str, /, **options: Any) -> Any:
        return self._container.replace_item(item_id, item, **options, **_bind(etag))

    def delete(self, key: Key, item_id: str, etag: str, /, **options: Any) -> Any:
        return self._container.delete_item(item_id, _spell(key), **_for_reads(options), **_bind(etag))

    def page(self, key: Key | None, size: int, token: str, /, **options: Any) -> Any:
        heard = _Heard(options)
        pages = self._container.query_items(**heard.options(key, size)).by_page(token or None)
        return Page(list(next(pages, ())), heard.continuation)

    def reason_of(self, error: Exception) -> Reason | None:
        """404 with a substatus is about something else: the container, or a session that is ahead."""
        status = getattr(error, "status_code", None)
        return None if status == 404 and getattr(error, "sub_status", None) else _REASONS.get(status or 0)


class AsyncCosmosCalls(CosmosCalls):
    """The same where something must be waited for on the way."""

    async def definition(self) -> Any:
        return (await self._container.read())["partitionKey"]

    async def read(self, key: Key, item_id: str, /, **options: Any) -> Any:
        try:
            return await self._container.read_item(item_id, _spell(key), **_for_reads(options))
        except Exception as error:
            _tell(error, options)
            raise

    async def page(self, key: Key | None, size: int, token: str, /, **options: Any) -> Any:
        heard = _Heard(options)
        pages = self._container.query_items(**heard.options(key, size)).by_page(token or None)
        async for page in pages:
            return Page([item async for item in page], heard.continuation)
        return Page([], heard.continuation)


class _Heard:
    """A hook for one page, in front of the caller's own."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._headers: Mapping[str, str] = {}
        self._options = _for_reads(options)

    @property
    def continuation(self) -> str:
        """Where the page ends. A query over the beginning of a key puts it in when the hook was called already."""
        return self._headers.get("x-ms-continuation") or ""

    def options(self, key: Key | None, size: int) -> dict[str, Any]:
        """What to call `query_items` with; without a text it reads a feed."""
        own = {"query": None, **self._options, "max_item_count": size, "response_hook": self}
        if key is None:
            return own
        if own["query"]:
            return own | {"partition_key": _spell(key)}
        # For a feed the client takes the beginning of a key among its options only.
        return own | {"feed_options": {"partitionKey": _spell(key)}}

    def __call__(self, headers: Mapping[str, str], body: object) -> None:
        self._headers = headers
        hook = self._options.get("response_hook")
        if hook is not None:
            hook(headers, body)


def keyed(container: Any, strategy: Strategy, *, on_change: OnChange = "refuse", parallel: int = PARALLEL) -> Keyed:
    """A container of `azure.cosmos` seen through its synthetic key."""
    return Keyed(CosmosCalls(container), strategy, on_change=on_change, parallel=parallel)


def keyed_async(
    container: Any, strategy: Strategy, *, on_change: OnChange = "refuse", parallel: int = PARALLEL
) -> AsyncKeyed:
    """A container of `azure.cosmos.aio` seen through its synthetic key."""
    return AsyncKeyed(AsyncCosmosCalls(container), strategy, on_change=on_change, parallel=parallel)


def _spell(key: Key) -> Any:
    return list(key) if isinstance(key, tuple) else key


def _for_reads(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a write and the reads it takes are both given, without what only writes know."""
    return {name: value for name, value in options.items() if name not in _OF_WRITES}


def _bind(etag: str) -> dict[str, Any]:
    if not etag:
        return {}
    from azure.core import MatchConditions

    return {"etag": etag, "match_condition": MatchConditions.IfNotModified}


def _tell(error: Exception, options: Mapping[str, Any]) -> None:
    """Let the hook hear an answer that the client raises: in a search it is one of many."""
    hook, headers = options.get("response_hook"), getattr(error, "headers", None)
    if hook is not None and headers:
        hook(headers, None)
