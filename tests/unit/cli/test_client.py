"""The small client, against a scripted peer: what is sent again, what is given up, what is told."""

import pytest
from tests.unit.cli.scripted import Scripted, scripted

from armillary.cli.client import Account, Client, ServerError, name_path
from armillary.cli.exits import CommandError
from armillary.server.keys import WELL_KNOWN_KEY
from armillary.wire.signature import make_token


def test_a_request_is_signed_for_what_it_addresses() -> None:
    with scripted((200, {"x-ms-request-charge": "1.5"}, b"{}")) as account:
        client = Client(account)
        answer = client.send("GET", name_path("dbs", "my shop", "colls", "c/d") + "/docs?x=1")
        client.close()
    ((method, path, headers, _),) = Scripted.seen
    assert (method, path) == ("GET", "/dbs/my%20shop/colls/c%2Fd/docs?x=1")
    date = headers["x-ms-date"]
    assert headers["authorization"] == make_token(WELL_KNOWN_KEY, "GET", "docs", "dbs/my shop/colls/c/d", date)
    assert (answer.status, answer.charge) == (200, 1.5)


@pytest.mark.parametrize("status", [429, 449, 503, 0])
def test_patience_is_answered_by_sending_again(status: int) -> None:
    busy = (status, {"x-ms-retry-after-ms": "1"}, b'{"message":"later"}')
    with scripted(busy, busy, (201, {}, b"{}")) as account:
        client = Client(account)
        assert client.send("POST", "/dbs", body=b'{"id":"d"}').status == 201
        client.close()
    assert [body for _, _, _, body in Scripted.seen] == [b'{"id":"d"}'] * 3


def test_what_is_needed_and_refused_is_told_in_the_words_of_the_server() -> None:
    with scripted((404, {}, b'{"code":"NotFound","message":"no such\\r\\nthing"}')) as account:
        client = Client(account)
        with pytest.raises(ServerError, match=r"^GET /dbs/x answered 404: no such thing$"):
            client.must_send("GET", "/dbs/x")
        client.close()


def test_nobody_listening_is_told_with_the_way_out() -> None:
    with scripted() as account:
        pass
    with pytest.raises(ServerError, match=r"no server listens at .*armillary serve"):
        Client(account).send("GET", "/")


@pytest.mark.parametrize("endpoint", ["127.0.0.1:8081", "ftp://x/", "https://", "http://x:y/"])
def test_an_endpoint_that_is_none_is_a_usage_error(endpoint: str) -> None:
    with pytest.raises(CommandError, match="is not an address like"):
        Client(Account(endpoint, WELL_KNOWN_KEY))
