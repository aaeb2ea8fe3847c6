"""Offers, as the command line sees them: how much throughput a database or container has, and how it gets another.

An offer is a resource of its own, found by the `_self` link of what it belongs to. It is replaced whole. A change
between manual and autoscale is asked for by a header and leaves the amount to the server, so a second request may
follow with the amount that was wanted. A server that needs time for a change says so in a header until it is done.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, NamedTuple

import click

from armillary.cli.client import Answer, Client, ServerError
from armillary.cli.meter import Draw, take_pauses

__all__ = [
    "Offer",
    "Wanted",
    "add_throughput",
    "await_offer",
    "describe_offer",
    "find_offer",
    "list_offers",
    "replace_offer",
    "show_offer",
]

_QUERY: Final = "SELECT * FROM root r WHERE r.resource=@link"
_QUERY_HEADERS: Final = {"x-ms-documentdb-isquery": "True", "Content-Type": "application/query+json"}
_NO_QUERY: Final = frozenset((400, 501))
_AUTOSCALE: Final = "offerAutopilotSettings"
_TO_AUTOSCALE: Final = {"x-ms-cosmos-migrate-offer-to-autopilot": "true"}
_TO_MANUAL: Final = {"x-ms-cosmos-migrate-offer-to-manual-throughput": "true"}
_RESTS_AT: Final = 10  # an autoscale offer never falls below a tenth of its maximum


class Wanted(NamedTuple):
    """The throughput that was asked for: manual, or the maximum of autoscale."""

    amount: int
    autoscale: bool

    @property
    def headers(self) -> dict[str, str]:
        """How a database or container is made with it."""
        if self.autoscale:
            return {"x-ms-cosmos-offer-autopilot-settings": json.dumps({"maxThroughput": self.amount})}
        return {"x-ms-offer-throughput": str(self.amount)}


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer as it was read; `least` is what may replace it at the lowest, where the server says so."""

    body: Mapping[str, Any]
    least: int | None = None
    pending: bool = False

    @property
    def path(self) -> str:
        return f"/offers/{self.body['_rid']}"

    @property
    def autoscale(self) -> bool:
        return bool(self._content.get(_AUTOSCALE))

    @property
    def amount(self) -> int:
        """The manual throughput, or the maximum of autoscale."""
        found = self._content[_AUTOSCALE].get("maxThroughput") if self.autoscale else None
        return int(found or self._content.get("offerThroughput") or 0)

    @property
    def _content(self) -> Mapping[str, Any]:
        content = self.body.get("content")
        return content if isinstance(content, Mapping) else {}


def add_throughput(required: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options that say how much throughput; the function gets them as one `wanted`."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def call(throughput: int | None, autoscale: int | None, **options: Any) -> None:
            if throughput is not None and autoscale is not None:
                raise click.UsageError("--throughput and --autoscale cannot be given together")
            if required and throughput is None and autoscale is None:
                raise click.UsageError("say how much: --throughput N, or --autoscale MAX")
            amount = autoscale if throughput is None else throughput
            function(wanted=None if amount is None else Wanted(amount, throughput is None), **options)

        amount = click.IntRange(1)
        call = click.option("--autoscale", type=amount, metavar="MAX", help="RU/s at the most; a tenth is kept.")(call)
        return click.option("--throughput", type=amount, metavar="N", help="RU/s, always.")(call)

    return add


def find_offer(client: Client, link: str) -> Offer | None:
    """The offer of the resource with this `_self` link."""
    body = json.dumps({"query": _QUERY, "parameters": [{"name": "@link", "value": link}]}).encode()
    found: list[dict[str, Any]] = []
    for page in client.iter_pages("POST", "/offers", _QUERY_HEADERS, body):
        if page.status in _NO_QUERY:
            return list_offers(client).get(link.strip("/"))
        found += page.must("POST", "/offers").rows("Offers")
    return _read(client, Offer(found[0]).path) if found else None


def list_offers(client: Client) -> dict[str, Offer]:
    """All offers, by the link of what they belong to."""
    return {str(row.get("resource")).strip("/"): Offer(row) for row in client.list_all("/offers", "Offers")}


def replace_offer(client: Client, offer: Offer, wanted: Wanted, draw: Draw) -> Offer:
    """Give the offer another throughput; what stands when it cannot be had is part of the refusal."""
    migrated = offer
    if wanted.autoscale != offer.autoscale:
        headers = _TO_AUTOSCALE if wanted.autoscale else _TO_MANUAL
        migrated = await_offer(client, _put(client, offer, offer.body, headers), draw)
        if migrated.amount == wanted.amount:
            return migrated
    try:
        return _put(client, migrated, _amend(migrated.body, wanted), {})
    except ServerError as error:
        if migrated is offer:
            raise
        raise ServerError(f"{error}; the throughput is now {describe_offer(migrated)}") from None


def await_offer(client: Client, offer: Offer, draw: Draw) -> Offer:
    """The offer when the server has made its change."""
    for seconds in take_pauses():
        if not offer.pending:
            break
        draw(0, f"the server makes the change, {seconds:,.0f} s", None)
        offer = _read(client, offer.path)
    return offer


def describe_offer(offer: Offer | None) -> str:
    """An offer in words."""
    if offer is None:
        return "none of its own"
    kind = f"autoscale {offer.amount // _RESTS_AT:,} to" if offer.autoscale else "manual"
    least = f", at least {offer.least:,}" if offer.least else ""
    return f"{kind} {offer.amount:,} RU/s{least}{', a change is under way' if offer.pending else ''}"


def show_offer(offer: Offer | None) -> dict[str, object] | None:
    """An offer for programs."""
    if offer is None:
        return None
    kind = "autoscale" if offer.autoscale else "manual"
    return {"kind": kind, "throughput": offer.amount, "least": offer.least, "pending": offer.pending}


def _read(client: Client, path: str) -> Offer:
    return _take(client.must_send("GET", path))


def _put(client: Client, offer: Offer, body: Mapping[str, Any], headers: Mapping[str, str]) -> Offer:
    return _take(client.must_send("PUT", offer.path, headers, json.dumps(body).encode()))


def _take(answer: Answer) -> Offer:
    least = answer.headers.get("x-ms-cosmos-min-throughput", "")
    pending = answer.headers.get("x-ms-offer-replace-pending", "").lower() == "true"
    return Offer(answer.json(), int(least) if least.isdecimal() else None, pending)


def _amend(body: Mapping[str, Any], wanted: Wanted) -> dict[str, Any]:
    """The body that asks for another amount of the same kind; the rest goes back as it was read."""
    content = dict(body["content"])
    if wanted.autoscale:
        content.pop("offerThroughput", None)
        content[_AUTOSCALE] = {**content[_AUTOSCALE], "maxThroughput": wanted.amount}
    else:
        content.pop(_AUTOSCALE, None)
        content["offerThroughput"] = wanted.amount
    return {**body, "content": content}
