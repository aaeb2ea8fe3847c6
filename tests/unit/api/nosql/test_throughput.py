"""Offers: how throughput is asked for, shown and replaced."""

from dataclasses import replace
from typing import Any

import pytest

from armillary.api.nosql.throughput import (
    bounds_of,
    check_minute,
    count_partitions,
    least_throughput,
    read_container_offer,
    read_database_offer,
    read_replacement,
    render_offer,
)
from armillary.errors import Kind, Refusal
from armillary.json import dump
from armillary.limits import USUAL, Limits
from armillary.store.catalog import OfferRow, Stamp

MANUAL = b"x-ms-offer-throughput"
AUTOSCALE = b"x-ms-cosmos-offer-autopilot-settings"
LEVEL = b"x-ms-offer-type"
TO_AUTOSCALE = {b"x-ms-cosmos-migrate-offer-to-autopilot": b"true"}
TO_MANUAL = {b"x-ms-cosmos-migrate-offer-to-manual-throughput": b"True"}


def row(throughput: int = 1000, autoscale: dict[str, Any] | None = None, highest: int = 0) -> OfferRow:
    stamp = Stamp("e-tag", 1700000000)
    return OfferRow(7, "pLJdAOlEdgA=", "dbs/pLJdAA==/colls/pLJdAOlEdgA=/", throughput, stamp, autoscale, False, highest)


def autoscaled(maximum: int, highest: int = 0) -> OfferRow:
    return row(maximum, {"maxThroughput": maximum}, highest)


def settings(maximum: object, percent: object = None) -> dict[str, Any]:
    policy = {"autoUpgradePolicy": {"throughputPolicy": {"incrementPercent": percent}}}
    return {"maxThroughput": maximum, **(policy if percent is not None else {})}


# ---- at creation


def test_a_container_has_an_implicit_offer_unless_it_shares() -> None:
    implicit = read_container_offer({}, shared=False)
    assert implicit is not None
    assert (implicit.throughput, implicit.autoscale, implicit.implicit) == (400, None, True)
    assert read_container_offer({}, shared=True) is None
    assert read_database_offer({}) is None


@pytest.mark.parametrize("throughput", [400, 500, 10100, 30000, 1000000])
def test_manual_throughput(throughput: int) -> None:
    headers = {MANUAL: b"%d" % throughput}
    for offer in (read_database_offer(headers), read_container_offer(headers, shared=True)):
        assert offer is not None
        assert (offer.throughput, offer.autoscale, offer.implicit) == (throughput, None, False)


@pytest.mark.parametrize(
    ("header", "kind", "fragment"),
    [
        (b"300", Kind.BAD_REQUEST, "Requested throughput 300 is less than required minimum throughput 400"),
        (b"0", Kind.BAD_REQUEST, "Requested throughput 0 is less than required minimum throughput 400"),
        (b"-100", Kind.BAD_REQUEST, "Requested throughput -100 is less than required minimum throughput 400"),
        (b"450", Kind.BAD_REQUEST, "between 400 and 1000000 inclusive in increments of 100"),
        (b"1000100", Kind.BAD_REQUEST, "between 400 and 1000000 inclusive in increments of 100"),
        (b"many", Kind.BAD_HEADER, "x-ms-offer-throughput"),
        (b"400.0", Kind.BAD_HEADER, "x-ms-offer-throughput"),
        (b"", Kind.BAD_HEADER, "x-ms-offer-throughput"),
        (b"9" * 5000, Kind.BAD_HEADER, "x-ms-offer-throughput"),
    ],
)
def test_bad_manual_throughput(header: bytes, kind: Kind, fragment: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_container_offer({MANUAL: header}, shared=False)
    assert caught.value.kind is kind
    assert fragment in str(caught.value)


@pytest.mark.parametrize(("maximum", "percent"), [(1000, None), (7000, 0), (1000, 3), (5000, 2)])
def test_autoscale(maximum: int, percent: int | None) -> None:
    offer = read_container_offer({AUTOSCALE: dump(settings(maximum, percent))}, shared=False)
    assert offer is not None
    assert (offer.throughput, offer.implicit) == (maximum, False)
    shown = render_offer(offer)["content"]["offerAutopilotSettings"]
    assert shown["maxThroughput"] == maximum
    if percent is None:
        assert "autoUpgradePolicy" not in shown
    else:
        assert shown["autoUpgradePolicy"]["throughputPolicy"]["incrementPercent"] == percent


@pytest.mark.parametrize(
    ("sent", "fragment"),
    [
        (settings(-200, 0), "Requested throughput -200 is less than required minimum throughput 1000"),
        (settings(900), "Requested throughput 900 is less than required minimum throughput 1000"),
        (settings(1500), "between 1000 and 1000000 inclusive in increments of 1000"),
        (settings("4000"), "whole number as 'maxThroughput'"),
        (settings(True), "whole number as 'maxThroughput'"),
        ({}, "whole number as 'maxThroughput'"),
        ([], "must be an object"),
        (settings(4000, -1), "incrementPercent"),
        (settings(4000, 2.5), "incrementPercent"),
        ({"maxThroughput": 4000, "autoUpgradePolicy": 5}, "autoUpgradePolicy"),
    ],
)
def test_bad_autoscale(sent: object, fragment: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_database_offer({AUTOSCALE: dump(sent)})
    assert caught.value.kind is Kind.BAD_REQUEST
    assert fragment in str(caught.value)


def test_autoscale_settings_are_json() -> None:
    with pytest.raises(Refusal) as caught:
        read_database_offer({AUTOSCALE: b"4000}"})
    assert caught.value.kind is Kind.BAD_JSON


@pytest.mark.parametrize(("level", "throughput"), [(b"S1", 250), (b"S2", 1000), (b"s3", 2500)])
def test_levels_of_old(level: bytes, throughput: int) -> None:
    offer = read_container_offer({LEVEL: level}, shared=False)
    assert offer is not None
    assert offer.throughput == throughput


def test_unknown_level() -> None:
    with pytest.raises(Refusal) as caught:
        read_container_offer({LEVEL: b"S4"}, shared=False)
    assert caught.value.kind is Kind.BAD_HEADER


@pytest.mark.parametrize("pair", [(MANUAL, AUTOSCALE), (MANUAL, LEVEL), (AUTOSCALE, LEVEL)])
def test_only_one_kind_can_be_asked_for(pair: tuple[bytes, bytes]) -> None:
    sent = {MANUAL: b"400", AUTOSCALE: dump(settings(4000)), LEVEL: b"S1"}
    with pytest.raises(Refusal) as caught:
        read_container_offer({name: sent[name] for name in pair}, shared=False)
    assert caught.value.kind is Kind.BAD_REQUEST


# ---- as clients see it


def test_a_manual_offer() -> None:
    assert render_offer(row(1000, highest=1200), stored_kb=3) == {
        "id": "AAAH",
        "_rid": "AAAH",
        "_self": "offers/AAAH/",
        "_etag": '"e-tag"',
        "_ts": 1700000000,
        "resource": "dbs/pLJdAA==/colls/pLJdAOlEdgA=/",
        "offerResourceId": "pLJdAOlEdgA=",
        "offerType": "Invalid",
        "offerVersion": "V2",
        "content": {
            "offerThroughput": 1000,
            "offerIsRUPerMinuteThroughputEnabled": False,
            "offerMinimumThroughputParameters": {
                "maxThroughputEverProvisioned": 1200,
                "maxConsumedStorageEverInKB": 3,
            },
            "offerLastReplaceTimestamp": 1700000000,
        },
    }


def test_an_autoscale_offer_rests_at_a_tenth() -> None:
    content = render_offer(autoscaled(7000))["content"]
    assert content["offerThroughput"] == 700
    assert content["offerAutopilotSettings"] == {
        "tier": 0,
        "maximumTierThroughput": 0,
        "autoUpgrade": False,
        "maxThroughput": 7000,
    }


# ---- replaced


def change(offer: OfferRow, **content: object) -> dict[str, Any]:
    """What a client sends: the offer it read, changed."""
    body = render_offer(offer)
    body["content"] = {**body["content"], **content}
    return body


def test_manual_is_replaced() -> None:
    implicit = replace(row(400), implicit=True)
    changed = read_replacement(implicit, change(implicit, offerThroughput=2500), {})
    assert changed == replace(row(2500), implicit=False)


def test_autoscale_is_replaced() -> None:
    offer = autoscaled(5000)
    changed = read_replacement(offer, change(offer, offerAutopilotSettings=settings(7000, 20)), {})
    assert (changed.throughput, changed.autoscale) == (7000, settings(7000, 20))


@pytest.mark.parametrize("shown", [None, -1, 500, 700])
def test_what_an_autoscale_offer_showed_is_no_wish(shown: int | None) -> None:
    body = change(autoscaled(5000), offerThroughput=shown, offerAutopilotSettings=settings(7000))
    assert read_replacement(autoscaled(5000), body, {}).throughput == 7000


@pytest.mark.parametrize(("highest", "least"), [(0, 400), (40000, 400), (40001, 500), (100000, 1000), (1000000, 10000)])
def test_the_least_manual_throughput_follows_the_highest(highest: int, least: int) -> None:
    offer = row(20000, highest=highest)
    assert least_throughput(offer) == least
    assert read_replacement(offer, change(offer, offerThroughput=least), {}).throughput == least
    with pytest.raises(Refusal) as caught:
        read_replacement(offer, change(offer, offerThroughput=least - 100), {})
    assert f"Requested throughput {least - 100} is less than required minimum throughput {least}" in str(caught.value)


@pytest.mark.parametrize(("highest", "least"), [(0, 1000), (10000, 1000), (11000, 2000), (50000, 5000)])
def test_the_least_maximum_follows_the_highest(highest: int, least: int) -> None:
    offer = autoscaled(20000, highest)
    assert least_throughput(offer) == least
    body = change(offer, offerAutopilotSettings=settings(least - 1000))
    with pytest.raises(Refusal) as caught:
        read_replacement(offer, body, {})
    assert f"is less than required minimum throughput {least}" in str(caught.value)


@pytest.mark.parametrize(("throughput", "maximum"), [(400, 1000), (1000, 1000), (1100, 2000), (30000, 30000)])
def test_manual_becomes_autoscale(throughput: int, maximum: int) -> None:
    offer = row(throughput)
    changed = read_replacement(offer, change(offer), TO_AUTOSCALE)
    assert (changed.throughput, changed.autoscale) == (maximum, {"maxThroughput": maximum})


def test_autoscale_becomes_manual() -> None:
    changed = read_replacement(autoscaled(4000), change(autoscaled(4000)), TO_MANUAL)
    assert (changed.throughput, changed.autoscale) == (4000, None)


def test_levels_of_old_are_replaced() -> None:
    assert read_replacement(row(250), {"offerVersion": "V1", "offerType": "S3"}, {}).throughput == 2500


@pytest.mark.parametrize(
    ("offer", "body", "headers"),
    [
        (row(), change(row(), offerThroughput="500"), {}),
        (row(), change(row(), offerThroughput=500.0), {}),
        (row(), change(row(), offerThroughput=550), {}),
        (row(), {"content": {}}, {}),
        (row(), {"content": 500}, {}),
        (row(), {}, {}),
        (row(), {**change(row()), "id": "AAAI"}, {}),
        (row(), {**change(row()), "id": None}, {}),
        (row(), {**change(row()), "resource": "dbs/pLJdAA==/"}, {}),
        (row(), {**change(row()), "offerResourceId": "pLJdAA=="}, {}),
        (row(), change(row(), offerAutopilotSettings=settings(4000)), {}),
        (row(), change(row()), TO_MANUAL),
        (row(), change(row()), {**TO_MANUAL, **TO_AUTOSCALE}),
        (autoscaled(4000), change(autoscaled(4000)), TO_AUTOSCALE),
        (autoscaled(4000), {"content": {"offerThroughput": 4000}}, {}),
        (autoscaled(4000), change(autoscaled(4000), offerThroughput=2500), {}),
    ],
)
def test_bad_replacements(offer: OfferRow, body: dict[str, Any], headers: dict[bytes, bytes]) -> None:
    with pytest.raises(Refusal) as caught:
        read_replacement(offer, body, headers)
    assert caught.value.kind is Kind.BAD_REQUEST


# ---- the rules of 2017, and containers without a key

OLD = Limits(10_000, 50 << 30, rules="2017")
PER_MINUTE = b"x-ms-offer-is-ru-per-minute-throughput-enabled"


@pytest.mark.parametrize(
    ("limits", "fixed", "least", "most"),
    [
        (USUAL, False, 400, 1_000_000),
        (USUAL, True, 400, 10_000),
        (OLD, False, 2500, 1_000_000),
        (OLD, True, 400, 10_000),
    ],
)
def test_the_rules_bound_what_may_be_asked_for(limits: Limits, fixed: bool, least: int, most: int) -> None:
    bounds = bounds_of(limits, fixed=fixed)
    for throughput in (least, most):
        made = read_container_offer({MANUAL: b"%d" % throughput}, bounds, shared=False)
        assert made is not None
        assert made.throughput == throughput
        assert read_replacement(row(), change(row(), offerThroughput=throughput), {}, bounds).throughput == throughput
    for throughput in (least - 100, most + 100):
        with pytest.raises(Refusal):
            read_container_offer({MANUAL: b"%d" % throughput}, bounds, shared=False)
        with pytest.raises(Refusal):
            read_replacement(row(), change(row(), offerThroughput=throughput), {}, bounds)
    implicit = read_container_offer({}, bounds, shared=False)
    assert implicit is not None
    assert (implicit.throughput, implicit.implicit) == (least, True)
    assert least_throughput(row(10_000), bounds) == least


def test_a_fixed_container_may_not_scale_beyond_its_partition() -> None:
    bounds = bounds_of(USUAL, fixed=True)
    with pytest.raises(Refusal) as caught:
        read_container_offer({AUTOSCALE: dump(settings(11_000))}, bounds, shared=False)
    assert "between 1000 and 10000 inclusive" in str(caught.value)


def test_the_default_throughput_is_what_new_containers_show() -> None:
    made = read_container_offer({}, shared=False, default=1000)
    assert made is not None
    assert (made.throughput, made.implicit) == (1000, True)


def test_units_per_minute() -> None:
    headers = {MANUAL: b"5000", PER_MINUTE: b"True"}
    bounds = bounds_of(OLD, fixed=False)
    made = read_container_offer(headers, bounds, shared=False)
    assert made is not None
    assert made.per_minute
    check_minute(made, bounds, 1)
    assert render_offer(made)["content"]["offerIsRUPerMinuteThroughputEnabled"] is True
    without = read_replacement(made, change(made, offerIsRUPerMinuteThroughputEnabled=False), {}, bounds)
    assert not without.per_minute
    again = read_replacement(without, change(without, offerIsRUPerMinuteThroughputEnabled=True), {}, bounds)
    assert again.per_minute
    assert not read_replacement(again, change(again), TO_AUTOSCALE, bounds).per_minute


@pytest.mark.parametrize(
    ("limits", "throughput", "partitions", "fragment"),
    [
        (USUAL, 400, 1, "under the rules of 2017 only"),
        (OLD, 5100, 1, "up to 5000 RU/s for each partition; 5100 RU/s are more than that on 1"),
        (OLD, 10_100, 2, "up to 5000 RU/s for each partition"),
    ],
)
def test_units_per_minute_have_their_conditions(
    limits: Limits, throughput: int, partitions: int, fragment: str
) -> None:
    with pytest.raises(Refusal) as caught:
        check_minute(replace(row(throughput), per_minute=True), bounds_of(limits, fixed=False), partitions)
    assert fragment in str(caught.value)


@pytest.mark.parametrize("headers", [{}, {AUTOSCALE: dump({"maxThroughput": 4000})}])
def test_units_per_minute_come_with_manual_throughput(headers: dict[bytes, bytes]) -> None:
    with pytest.raises(Refusal) as caught:
        read_container_offer({**headers, PER_MINUTE: b"true"}, bounds_of(OLD, fixed=False), shared=False)
    assert "come with manual throughput" in str(caught.value)
    offer = autoscaled(4000)
    with pytest.raises(Refusal) as caught:
        read_replacement(offer, change(offer, offerIsRUPerMinuteThroughputEnabled=True), {})
    assert "no units per minute" in str(caught.value)


@pytest.mark.parametrize(("scale", "partitions"), [(1.0, 2), (0.5, 4), (0.1, 20)])
def test_partitions_follow_the_scale(scale: float, partitions: int) -> None:
    limits = Limits(10_000 * scale, 1 << 30, scale)
    assert count_partitions(row(12_000), None, limits) == partitions
    assert count_partitions(replace(row(12_000), implicit=True), None, limits) == 1
