"""The load is what it says: one template makes every create, and an item's key value follows from its number."""

import json

from bench import requests


def split(request: bytes) -> tuple[list[str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    return head.decode().split("\r\n"), body


def test_a_template_makes_whole_requests() -> None:
    template = requests.build_template("items", seed=1)
    for number in (0, 7, 123_456_789):
        head, body = split(requests.build_create(template, number))
        item = json.loads(body)
        assert item["id"] == f"{number:012}"
        assert item["pk"] == f"k{number % 1000:04}"
        assert f"Content-Length: {len(body)}" in head
        assert f'x-ms-documentdb-partitionkey: ["{item["pk"]}"]' in head
        assert 780 <= len(body) <= 800  # a server adds about 230 bytes of its own


def test_the_filling_follows_from_the_seed() -> None:
    assert requests.build_template("items", 1).after == requests.build_template("items", 1).after
    assert requests.build_template("items", 1).after != requests.build_template("items", 2).after


def test_a_read_names_the_key_value_of_its_item() -> None:
    head, body = split(requests.build_read("items", 12_345))
    assert head[0] == "GET /dbs/bench/colls/items/docs/000000012345 HTTP/1.1"
    assert 'x-ms-documentdb-partitionkey: ["k0345"]' in head
    assert body == b""
