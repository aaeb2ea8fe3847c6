"""Where the server listens."""

import socket

import pytest

from armillary.errors import Kind, Refusal
from armillary.server.listeners import open_listeners


def close(listeners: list[socket.socket]) -> list[tuple[str, int]]:
    addresses = [listener.getsockname()[:2] for listener in listeners]
    for listener in listeners:
        listener.close()
    return addresses


def test_both_loopback_addresses_share_any_free_port() -> None:
    addresses = close(open_listeners(None, 0))
    assert addresses[0][0] == "127.0.0.1"
    assert {port for _, port in addresses} == {addresses[0][1]}
    assert [host for host, _ in addresses[1:]] in ([], ["::1"])


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_one_address_is_one_listener(host: str) -> None:
    assert [found for found, _ in close(open_listeners(host, 0))] == [host]


@pytest.mark.parametrize("host", [None, "127.0.0.1"])
def test_a_port_in_use_is_refused_in_words(host: str | None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refusal) as refused:
            open_listeners(host, port)
    assert refused.value.kind is Kind.ADDRESS_UNUSABLE
    assert f"127.0.0.1:{port}" in str(refused.value)
    assert "another program listens there" in str(refused.value)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        open_listeners("192.0.2.1", 0)
    assert refused.value.kind is Kind.ADDRESS_UNUSABLE
