"""The requests of every block, signed, as bytes: the same items and the same order for every server.

An item has 1 KB in its stored form. Item n of a run has a fixed-width id and one of a thousand key values, so a create
differs from another only in those two: the script of the load generator builds it from a template.
"""

import base64
import hashlib
import hmac
import json
import random
from email.utils import formatdate
from typing import Final, NamedTuple
from urllib.parse import quote

KEY: Final = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
DATABASE: Final = "bench"
KEY_VALUES: Final = 1_000
ITEM_BYTES: Final = 1_024
SYSTEM_BYTES: Final = 230  # what a server adds: _rid, _self, _etag, _attachments, _ts
VERSION: Final = "2020-07-15"


class Template(NamedTuple):
    """A create cut where its key value, key value again, and id go."""

    before_key: str
    between: str
    before_id: str
    after: str


def sign(verb: str, kind: str, link: str, date: str) -> str:
    text = f"{verb.lower()}\n{kind}\n{link}\n{date.lower()}\n\n".encode()
    digest = hmac.digest(base64.b64decode(KEY), text, hashlib.sha256)
    return quote(f"type=master&ver=1.0&sig={base64.b64encode(digest).decode()}", safe="")


def build_request(verb: str, path: str, kind: str, link: str, body: bytes = b"", headers: str = "") -> bytes:
    date = formatdate(usegmt=True)
    head = (
        f"{verb} {path} HTTP/1.1\r\nHost: localhost\r\nx-ms-date: {date}\r\nx-ms-version: {VERSION}\r\n"
        f"authorization: {sign(verb, kind, link, date)}\r\n{headers}"
    )
    length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return f"{head}{length}\r\n".encode() + body


def item_id(number: int) -> str:
    return f"{number:012d}"


def key_value(number: int) -> str:
    return f"k{number % KEY_VALUES:04d}"


def build_read(container: str, number: int) -> bytes:
    link = f"dbs/{DATABASE}/colls/{container}/docs/{item_id(number)}"
    header = f'x-ms-documentdb-partitionkey: ["{key_value(number)}"]\r\n'
    return build_request("GET", f"/{link}", "docs", link, headers=header)


def build_template(container: str, seed: int) -> Template:
    """The create of an item of 1 KB; its filling is random text, so that nothing compresses it away."""
    filling = random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz ", k=ITEM_BYTES)
    frame = {"id": item_id(0), "pk": key_value(0), "number": 42, "price": 19.99, "tags": ["a", "b"], "text": ""}
    frame["text"] = "".join(filling[: ITEM_BYTES - SYSTEM_BYTES - len(json.dumps(frame))])
    link = f"dbs/{DATABASE}/colls/{container}"
    header = f'x-ms-documentdb-partitionkey: ["{key_value(0)}"]\r\n'
    whole = build_request("POST", f"/{link}/docs", "docs", link, json.dumps(frame).encode(), header).decode()
    before_key, rest = whole.split(key_value(0), 1)
    between, rest = rest.split(item_id(0), 1)
    before_id, after = rest.split(key_value(0), 1)
    return Template(before_key, between, before_id, after)


def build_create(template: Template, number: int) -> bytes:
    key, (first, second, third, fourth) = key_value(number), template
    return f"{first}{key}{second}{item_id(number)}{third}{key}{fourth}".encode()


def build_database() -> bytes:
    return build_request("POST", "/dbs", "dbs", "", json.dumps({"id": DATABASE}).encode())


def build_container(name: str) -> bytes:
    definition = {"id": name, "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
    return build_request("POST", f"/dbs/{DATABASE}/colls", "colls", f"dbs/{DATABASE}", json.dumps(definition).encode())
