"""The Python client in both its forms under one face: what is asynchronous is run to its end, call by call."""

import asyncio
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any, Final, NamedTuple

from azure.cosmos import CosmosClient, aio

FORMS: Final = ("plain", "asynchronous")
_PROXIES: Final = (aio.CosmosClient, aio.DatabaseProxy, aio.ContainerProxy, aio.ScriptsProxy)


class Driven:
    """An object of the asynchronous client that is called like one of the plain client."""

    def __init__(self, subject: object, loop: asyncio.AbstractEventLoop) -> None:
        self._subject = subject
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._subject, name)
        if not callable(found):
            return self._settle(found)
        return lambda *args, **kwargs: self._settle(found(*args, **kwargs))

    def _settle(self, value: Any) -> Any:
        if isawaitable(value):
            value = self._loop.run_until_complete(_wait(value))
        if isinstance(value, AsyncIterable):
            return DrivenPages(value, self._loop)
        if isinstance(value, tuple):
            return tuple(self._settle(member) for member in value)
        return Driven(value, self._loop) if isinstance(value, _PROXIES) else value


class DrivenPages:
    """What an asynchronous feed gives: items, or pages of them."""

    def __init__(self, source: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._source = source
        self._loop = loop

    @property
    def continuation_token(self) -> str | None:
        token: str | None = self._source.continuation_token
        return token

    def by_page(self, token: str | None = None) -> "DrivenPages":
        return DrivenPages(self._source.by_page(token), self._loop)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            value = self._loop.run_until_complete(self._source.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None
        return DrivenPages(value, self._loop) if isinstance(value, AsyncIterable) else value


async def _wait(value: Any) -> Any:
    return await value


class Door(NamedTuple):
    """How to make clients of one form for one server."""

    form: str
    url: str
    key: str
    options: dict[str, Any]

    @contextmanager
    def open(self, **more: Any) -> Iterator[Any]:
        """A client, closed at the end."""
        options = {"url": self.url, "credential": self.key, **self.options, **more}
        if self.form == "plain":
            with CosmosClient(**options) as client:
                yield client
            return
        loop = asyncio.new_event_loop()
        client = aio.CosmosClient(**options)
        try:
            yield Driven(loop.run_until_complete(client.__aenter__()), loop)
        finally:
            loop.run_until_complete(client.close())
            loop.close()


class Heard:
    """The headers of the last answer, for a call that takes a hook."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}

    def __call__(self, headers: Any, *_: object) -> None:
        self.headers = {name.lower(): value for name, value in dict(headers).items()}
