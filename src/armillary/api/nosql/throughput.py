"""Offers: throughput as clients ask for it, as it is shown, and what may replace it.

    manual       x-ms-offer-throughput: N                      at least 400, in steps of 100
    autoscale    x-ms-cosmos-offer-autopilot-settings: {...}   a maximum of at least 1,000, in steps of 1,000
    levels       x-ms-offer-type: S1, S2, S3                   of old: manual throughput of 250, 1,000, 2,500

`throughput` of a row is the manual throughput or the autoscale maximum; an autoscale offer is shown at a tenth of it,
where it rests. Least is 1 % of the highest manual throughput an offer ever had, 10 % of the highest maximum. A change
between the two kinds is asked for by header; the new offer then takes the throughput of the old one.

Two sets of rules: those of today, and those of 2017, under which a container with a partition key is unlimited and has
at least 2,500, and a manual offer may have units per minute beside those per second. A container without a key is fixed
under both: one partition, at most 10,000. Leaves out: what throughput does (`admission`), and the storage that also
bounds it from below.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Final

from armillary.api.nosql.resources import render_system
from armillary.errors import Kind, Refusal
from armillary.json import parse
from armillary.limits import RULES_2017, USUAL, Limits
from armillary.store.catalog import OfferRow, Stamp
from armillary.store.rids import offer_rid

MOST: Final = 1_000_000
MOST_FIXED: Final = 10_000
LEAST: Final = 400
LEAST_UNLIMITED: Final = 2_500
LEVELS: Final = {"S1": 250, "S2": 1000, "S3": 2500}
_MANUAL: Final = b"x-ms-offer-throughput"
_AUTOSCALE: Final = b"x-ms-cosmos-offer-autopilot-settings"
_LEVEL: Final = b"x-ms-offer-type"
_PER_MINUTE: Final = b"x-ms-offer-is-ru-per-minute-throughput-enabled"
_TO_AUTOSCALE: Final = b"x-ms-cosmos-migrate-offer-to-autopilot"
_TO_MANUAL: Final = b"x-ms-cosmos-migrate-offer-to-manual-throughput"
_UNSAID: Final = (None, -1)
_REST: Final = 10
_MOST_DIGITS: Final = 12

Headers = Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Scale:
    """What holds for one kind of throughput: its least, its step, and the part of the highest that must stay."""

    title: str
    least: int
    step: int
    kept: int


_MANUALLY: Final = Scale("throughput", LEAST, 100, 100)
_AUTOMATICALLY: Final = Scale("autoscale max throughput", 1000, 1000, 10)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the rules allow for one container or database; `per_minute` is 0 where there are no units per minute."""

    least: int = LEAST
    most: int = MOST
    per_minute: float = 0.0


DATABASE: Final = Bounds()


def bounds_of(limits: Limits, *, fixed: bool) -> Bounds:
    """What a container may ask for; a fixed one has no partition key."""
    old = limits.rules == RULES_2017
    return Bounds(
        LEAST_UNLIMITED if old and not fixed else LEAST,
        MOST_FIXED if fixed else MOST,
        limits.throughput_per_minute if old else 0.0,
    )


def is_fixed(definition: Mapping[str, Any]) -> bool:
    """Whether a container was made without a partition key."""
    return bool(definition["partitionKey"].get("systemKey"))


# ---- at creation


def read_container_offer(
    headers: Headers, bounds: Bounds = DATABASE, *, shared: bool, default: int = 0
) -> OfferRow | None:
    """The offer of a new container; without one asked for, it shares its database's or has an implicit one."""
    asked = _read_headers(headers, bounds)
    if asked is not None or shared:
        return asked
    return replace(_offer(min(max(default, bounds.least), bounds.most)), implicit=True)


def read_database_offer(headers: Headers) -> OfferRow | None:
    """The offer of a new database, which its containers share; there is none unless it is asked for."""
    return _read_headers(headers, DATABASE)


def _read_headers(headers: Headers, bounds: Bounds) -> OfferRow | None:
    sent = [name for name in _READERS if name in headers]
    if len(sent) > 1:
        names = " and ".join(name.decode() for name in sent)
        raise _bad(f"Only one kind of throughput can be asked for: {names} cannot be sent together.")
    offer = _READERS[sent[0]](headers[sent[0]], bounds) if sent else None
    if not _is_true(headers, _PER_MINUTE):
        return offer
    if offer is None or offer.autoscale is not None:
        raise _bad(f"Units per minute come with manual throughput: {_PER_MINUTE.decode()} needs {_MANUAL.decode()}.")
    return replace(offer, per_minute=True)


def _read_manual(value: bytes, bounds: Bounds) -> OfferRow:
    return _offer(_check(_read_number(_MANUAL, value), _MANUALLY, bounds))


def _read_autoscale(value: bytes, bounds: Bounds) -> OfferRow:
    settings = _check_settings(parse(value), bounds)
    return _offer(settings["maxThroughput"], settings)


def _read_level(value: bytes, _: Bounds) -> OfferRow:
    level = value.decode("latin-1").upper()
    if level not in LEVELS:
        raise _bad_header(_LEVEL, f"it must be one of {', '.join(LEVELS)}")
    return _offer(LEVELS[level])


_READERS: Final[dict[bytes, Callable[[bytes, Bounds], OfferRow]]] = {
    _MANUAL: _read_manual,
    _AUTOSCALE: _read_autoscale,
    _LEVEL: _read_level,
}


def _offer(throughput: int, autoscale: dict[str, Any] | None = None) -> OfferRow:
    return OfferRow(0, "", "", throughput, Stamp("", 0), autoscale)


def count_partitions(own: OfferRow | None, shared: OfferRow | None, limits: Limits = USUAL) -> int:
    """How many partitions a new container has, by its own throughput or by that of its database."""
    offer = own or shared
    if offer is None or offer.implicit:
        return 1
    manual = offer is own and offer.autoscale is None
    return ceil(offer.throughput / (limits.throughput_at_creation if manual else limits.partition_throughput))


def check_minute(offer: OfferRow | None, bounds: Bounds, partitions: int) -> None:
    """Refuse units per minute where the rules have none, or where a partition has too much per second already."""
    if offer is None or not offer.per_minute:
        return
    if not bounds.per_minute:
        raise _bad("Units per minute are offered under the rules of 2017 only; the server was not started with them.")
    if offer.throughput > bounds.per_minute * partitions:
        raise _bad(
            f"Units per minute are offered up to {bounds.per_minute:g} RU/s for each partition; {offer.throughput} "
            f"RU/s are more than that on {partitions}."
        )


# ---- as clients see it


def render_offer(row: OfferRow, stored_kb: int = 0) -> dict[str, Any]:
    """An offer as a resource."""
    rid = offer_rid(row.number)
    content: dict[str, Any] = {
        "offerThroughput": _shown(row.throughput, row.autoscale),
        "offerIsRUPerMinuteThroughputEnabled": row.per_minute,
        "offerMinimumThroughputParameters": {
            "maxThroughputEverProvisioned": max(row.highest, row.throughput),
            "maxConsumedStorageEverInKB": stored_kb,
        },
        "offerLastReplaceTimestamp": row.stamp.ts,
    }
    if row.autoscale is not None:
        fixed = {"tier": 0, "maximumTierThroughput": 0, "autoUpgrade": False}
        content["offerAutopilotSettings"] = {**fixed, **row.autoscale}
    return {
        "resource": row.resource,
        "offerType": "Invalid",
        "offerResourceId": row.owner,
        "offerVersion": "V2",
        "content": content,
        "id": rid,
        **render_system(rid, f"offers/{rid}/", row.stamp),
    }


def _shown(throughput: int, autoscale: dict[str, Any] | None) -> int:
    return throughput if autoscale is None else throughput // _REST


def least_throughput(row: OfferRow, bounds: Bounds = DATABASE) -> int:
    """The least that may replace this offer, of its own kind."""
    return _least(_MANUALLY if row.autoscale is None else _AUTOMATICALLY, bounds, row.highest)


# ---- replaced


def read_replacement(
    row: OfferRow, body: Mapping[str, object], headers: Headers, bounds: Bounds = DATABASE
) -> OfferRow:
    """The offer that replaces another, from the body and headers of a PUT."""
    for name, own in (("id", offer_rid(row.number)), ("resource", row.resource), ("offerResourceId", row.owner)):
        sent = body.get(name, own)
        if not isinstance(sent, str) or sent.strip("/") != own.strip("/"):
            raise _bad(f"The property {name!r} of an offer cannot be changed.")
    to_autoscale, to_manual = _is_true(headers, _TO_AUTOSCALE), _is_true(headers, _TO_MANUAL)
    if to_autoscale and to_manual:
        raise _bad("An offer cannot become autoscale and manual at once.")
    if to_autoscale:
        return _become_autoscale(row)
    if to_manual:
        return _become_manual(row)
    if body.get("offerType") in LEVELS:
        return replace(row, throughput=LEVELS[str(body["offerType"])], autoscale=None, implicit=False)
    content = body.get("content")
    if not isinstance(content, Mapping):
        raise _bad("The offer needs a property 'content' with its throughput.")
    if row.autoscale is None:
        return _replace_manual(row, content, bounds)
    return _replace_autoscale(row, content, bounds)


def _become_autoscale(row: OfferRow) -> OfferRow:
    if row.autoscale is not None:
        raise _bad("The offer is autoscale already.")
    maximum = max(_round_up(row.throughput, _AUTOMATICALLY.step), _AUTOMATICALLY.least)
    return replace(row, throughput=maximum, autoscale={"maxThroughput": maximum}, implicit=False, per_minute=False)


def _become_manual(row: OfferRow) -> OfferRow:
    if row.autoscale is None:
        raise _bad("The offer is manual already.")
    return replace(row, autoscale=None, implicit=False)


def _replace_manual(row: OfferRow, content: Mapping[str, object], bounds: Bounds) -> OfferRow:
    if content.get("offerAutopilotSettings") is not None:
        raise _bad(f"A manual offer becomes autoscale by the header {_TO_AUTOSCALE.decode()} and not by its settings.")
    asked = content.get("offerThroughput")
    if not isinstance(asked, int) or isinstance(asked, bool):
        raise _bad("The property 'content.offerThroughput' must be a whole number.")
    per_minute = content.get("offerIsRUPerMinuteThroughputEnabled", row.per_minute)
    if not isinstance(per_minute, bool):
        raise _bad("The property 'content.offerIsRUPerMinuteThroughputEnabled' must be true or false.")
    throughput = _check(asked, _MANUALLY, bounds, row.highest)
    return replace(row, throughput=throughput, implicit=False, per_minute=per_minute)


def _replace_autoscale(row: OfferRow, content: Mapping[str, object], bounds: Bounds) -> OfferRow:
    if content.get("offerAutopilotSettings") is None:
        raise _bad(f"An autoscale offer becomes manual by the header {_TO_MANUAL.decode()}.")
    if content.get("offerIsRUPerMinuteThroughputEnabled"):
        raise _bad("An autoscale offer has no units per minute.")
    settings = _check_settings(content["offerAutopilotSettings"], bounds, row.highest)
    maximum: int = settings["maxThroughput"]
    # What was read is sent back with the change in it, so the old and the new figure are both no wish of the client.
    if content.get("offerThroughput") not in (*_UNSAID, _shown(row.throughput, row.autoscale), maximum // _REST):
        raise _bad("The throughput of an autoscale offer follows its load; its 'maxThroughput' can be changed.")
    return replace(row, throughput=maximum, autoscale=settings, implicit=False)


# ---- checks


def _check_settings(value: object, bounds: Bounds, highest: int = 0) -> dict[str, Any]:
    """Autoscale settings as they are stored."""
    if not isinstance(value, Mapping):
        raise _bad("The autoscale settings must be an object.")
    maximum = value.get("maxThroughput")
    if not isinstance(maximum, int) or isinstance(maximum, bool):
        raise _bad("The autoscale settings must have a whole number as 'maxThroughput'.")
    settings: dict[str, Any] = {"maxThroughput": _check(maximum, _AUTOMATICALLY, bounds, highest)}
    percent = _find_percent(value)
    if percent is not None:
        settings["autoUpgradePolicy"] = {"throughputPolicy": {"incrementPercent": percent}}
    return settings


def _find_percent(settings: Mapping[str, object]) -> int | None:
    found: object = settings
    for name in ("autoUpgradePolicy", "throughputPolicy", "incrementPercent"):
        if not isinstance(found, Mapping):
            raise _bad("The autoscale settings have an 'autoUpgradePolicy' of the wrong form.")
        found = found.get(name)
        if found is None:
            return None
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise _bad("The 'incrementPercent' of the autoscale settings must be a whole number, 0 or more.")
    return found


def _check(asked: int, scale: Scale, bounds: Bounds, highest: int = 0) -> int:
    least = _least(scale, bounds, highest)
    if asked < least:
        raise _bad(f"Requested throughput {asked} is less than required minimum throughput {least}")
    if asked > bounds.most or asked % scale.step:
        raise _bad(
            f"The offer should have valid {scale.title} values between {least} and {bounds.most} inclusive in "
            f"increments of {scale.step}."
        )
    return asked


def _least(scale: Scale, bounds: Bounds, highest: int) -> int:
    return max(scale.least, _round_up(bounds.least, scale.step), _round_up(ceil(highest / scale.kept), scale.step))


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _read_number(header: bytes, value: bytes) -> int:
    text = value.decode("latin-1").strip()
    if not text.removeprefix("-").isdecimal() or len(text) > _MOST_DIGITS:
        raise _bad_header(header, f"{text!r} is no whole number")
    return int(text)


def _is_true(headers: Headers, name: bytes) -> bool:
    return headers.get(name, b"").lower() == b"true"


def _bad_header(header: bytes, reason: str) -> Refusal:
    return Refusal(Kind.BAD_HEADER, header=header.decode(), reason=reason)


def _bad(reason: str) -> Refusal:
    return Refusal(Kind.BAD_REQUEST, reason=reason)
