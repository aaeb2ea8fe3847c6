"""Offers: how they are found, changed and waited for, against a peer that says what it is told to."""

import json
from typing import Any

import pytest
from tests.unit.cli.scripted import Line, Scripted, say, scripted

from armillary.cli.client import Account, Client, ServerError
from armillary.cli.offers import (
    Offer,
    Wanted,
    await_offer,
    describe_offer,
    find_offer,
    list_offers,
    replace_offer,
    show_offer,
)

LINK = "dbs/AbCdEf==/colls/AbCdEfGHIJk=/"


def body_of(throughput: int, autoscale: int | None = None, rid: str = "Of01") -> dict[str, Any]:
    content: dict[str, Any] = {"offerThroughput": throughput, "offerIsRUPerMinuteThroughputEnabled": False}
    if autoscale:
        content["offerAutopilotSettings"] = {"tier": 0, "maxThroughput": autoscale, "autoUpgrade": False}
    return {"_rid": rid, "id": rid, "resource": LINK, "offerVersion": "V2", "content": content}


def offer_of(throughput: int, autoscale: int | None = None) -> Offer:
    return Offer(body_of(throughput, autoscale))


def feed(*bodies: object, **headers: str) -> Line:
    return say(200, {"Offers": bodies}, **headers)


def sent() -> list[tuple[str, str, Any]]:
    return [(method, path, json.loads(body) if body else None) for method, path, _, body in Scripted.seen]


def replace(account: Account, offer: Offer, wanted: Wanted) -> Offer:
    client = Client(account)
    try:
        return replace_offer(client, offer, wanted, lambda *_: None)
    finally:
        client.close()


def test_an_offer_is_found_by_a_query_for_its_link() -> None:
    script = (
        feed(x_ms_continuation="more"),
        feed(body_of(400)),
        say(200, body_of(400), x_ms_cosmos_min_throughput="400", x_ms_offer_replace_pending="True"),
    )
    with scripted(*script) as account:
        client = Client(account)
        found = find_offer(client, LINK)
        client.close()
    assert found is not None
    assert (found.amount, found.autoscale, found.least, found.pending) == (400, False, 400, True)
    query = {"query": "SELECT * FROM root r WHERE r.resource=@link", "parameters": [{"name": "@link", "value": LINK}]}
    assert sent() == [("POST", "/offers", query), ("POST", "/offers", query), ("GET", "/offers/Of01", None)]
    assert Scripted.seen[0][2]["x-ms-documentdb-isquery"] == "True"
    assert Scripted.seen[0][2]["content-type"] == "application/query+json"
    assert Scripted.seen[1][2]["x-ms-continuation"] == "more"


def test_what_has_no_offer_has_none() -> None:
    with scripted(feed()) as account:
        client = Client(account)
        assert find_offer(client, LINK) is None
        client.close()


@pytest.mark.parametrize("status", [400, 501])
def test_a_server_without_queries_lists_its_offers(status: int) -> None:
    other = body_of(1000, rid="Of02") | {"resource": "dbs/AbCdEf==/"}
    with scripted(say(status, {"message": "no"}), feed(other), feed(body_of(1), body_of(2))) as account:
        client = Client(account)
        assert find_offer(client, LINK) is None
        assert [offer.amount for offer in list_offers(client).values()] == [2]  # one resource has one offer
        client.close()
    assert [(method, path) for method, path, _ in sent()] == [
        ("POST", "/offers"),
        ("GET", "/offers"),
        ("GET", "/offers"),
    ]


def test_another_refusal_of_the_query_is_told() -> None:
    with scripted(say(403, {"message": "read-only"})) as account:
        client = Client(account)
        with pytest.raises(ServerError, match="POST /offers answered 403: read-only"):
            find_offer(client, LINK)
        client.close()


def test_an_amount_is_replaced_in_the_offer_as_it_was_read() -> None:
    with scripted(say(200, body_of(600)), say(200, body_of(500, 5000))) as account:
        assert replace(account, offer_of(400), Wanted(600, autoscale=False)).amount == 600
        assert replace(account, offer_of(400, 4000), Wanted(5000, autoscale=True)).amount == 5000
    (_, path, manual), (_, _, automatic) = sent()
    assert path == "/offers/Of01"
    assert manual == body_of(600)
    settings = {"tier": 0, "maxThroughput": 5000, "autoUpgrade": False}
    assert automatic["content"] == {"offerIsRUPerMinuteThroughputEnabled": False, "offerAutopilotSettings": settings}


@pytest.mark.parametrize(
    ("before", "wanted", "header"),
    [
        (offer_of(400), Wanted(9000, autoscale=True), "x-ms-cosmos-migrate-offer-to-autopilot"),
        (offer_of(100, 1000), Wanted(900, autoscale=False), "x-ms-cosmos-migrate-offer-to-manual-throughput"),
    ],
)
def test_the_kind_changes_first_and_then_the_amount(before: Offer, wanted: Wanted, header: str) -> None:
    changed = body_of(100, 1000) if wanted.autoscale else body_of(1000)
    script = (
        say(200, changed, x_ms_offer_replace_pending="true"),
        say(200, changed),
        say(200, body_of(900, 9000) if wanted.autoscale else body_of(900)),
    )
    with scripted(*script) as account:
        assert replace(account, before, wanted).amount == wanted.amount
    assert [method for method, _, _ in sent()] == ["PUT", "GET", "PUT"]
    assert Scripted.seen[0][2][header] == "true"
    assert sent()[0][2] == before.body
    assert header not in Scripted.seen[2][2]


def test_one_request_is_enough_when_the_server_chose_the_amount() -> None:
    with scripted(say(200, body_of(100, 1000))) as account:
        assert replace(account, offer_of(400), Wanted(1000, autoscale=True)).autoscale


def test_a_change_that_stopped_half_way_says_what_stands() -> None:
    script = (say(200, body_of(100, 1000)), say(400, {"message": "too little"}))
    words = "answered 400: too little; the throughput is now autoscale 100 to 1,000 RU/s"
    with scripted(*script) as account, pytest.raises(ServerError, match=words):
        replace(account, offer_of(400), Wanted(10, autoscale=True))


def test_a_change_is_waited_for() -> None:
    told: list[str] = []
    pending = say(200, body_of(400), x_ms_offer_replace_pending="true")
    with scripted(pending, say(200, body_of(400), x_ms_offer_replace_pending="false")) as account:
        client = Client(account)
        offer = await_offer(client, Offer(body_of(400), None, True), lambda _done, words, _total: told.append(words))
        client.close()
    assert not offer.pending
    assert told == ["the server makes the change, 0 s"] * 2


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (None, "none of its own"),
        (offer_of(12000), "manual 12,000 RU/s"),
        (offer_of(1000, 10000), "autoscale 1,000 to 10,000 RU/s"),
        (Offer(body_of(400), 400, True), "manual 400 RU/s, at least 400, a change is under way"),
        (Offer({"_rid": "x"}), "manual 0 RU/s"),
    ],
)
def test_an_offer_in_words(offer: Offer | None, words: str) -> None:
    assert describe_offer(offer) == words


def test_an_offer_for_programs() -> None:
    assert show_offer(None) is None
    assert show_offer(Offer(body_of(100, 1000), 1000)) == {
        "kind": "autoscale", "throughput": 1000, "least": 1000, "pending": False
    }  # fmt: skip


def test_creation_asks_by_header() -> None:
    assert Wanted(400, autoscale=False).headers == {"x-ms-offer-throughput": "400"}
    assert Wanted(1000, autoscale=True).headers == {"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput": 1000}'}
