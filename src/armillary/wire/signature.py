"""Master-key signatures: the text that is signed, making and checking its signature, reading its header.

The text has five terms, each closed by a line feed: verb, kind of resource, link, `x-ms-date`, `Date`; all but the link
in lower case. The link is the full name of the resource, or of the parent when a feed is addressed, unescaped:

    POST /dbs/Shop/colls/Orders/docs/       docs     dbs/Shop/colls/Orders
    GET  /dbs/Shop/colls/Orders/docs/17/    docs     dbs/Shop/colls/Orders/docs/17
    GET  /                                  (empty)  (empty)
    GET  /_armillary/check                  (empty)  (empty)

Names keep their case. A path of rids is signed by its last rid alone, in lower case, and offers always are. A database
may have a name that looks like a rid (8 characters of base64), so such a path has two texts and either may be signed.
Law: signatures are compared in constant time. Tokens of other types are recognised, so that refusing them says why.
"""

import binascii
import hashlib
import re
from base64 import b64decode, b64encode
from calendar import timegm
from collections.abc import Sequence
from functools import lru_cache
from hmac import compare_digest
from typing import Final, NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes

__all__ = [
    "Authorization",
    "Resource",
    "build_text",
    "join_terms",
    "make_token",
    "matches",
    "parse_authorization",
    "parse_date",
    "read_resource",
    "read_usual",
    "sign",
]


class Authorization(NamedTuple):
    """The `authorization` header, read: `master`, `resource`, `aad` or `sas`; the signature is what `sig` says."""

    kind: str
    version: str
    signature: bytes


class Resource(NamedTuple):
    """What a path addresses, as it is signed, and its unescaped segments.

    `rid` is the link if the path is one of rids, None if it cannot be.
    """

    kind: str
    link: str
    rid: str | None
    segments: list[str]


# How Python's, JavaScript's and Java's encoders write the usual header; .NET's writes the digits in lower case.
_USUAL: Final = b"type%3Dmaster%26ver%3D1.0%26sig%3D"
_USUAL_SIZE: Final = len(_USUAL)
_BLOCK: Final = 64  # of SHA-256
_KINDS: Final = frozenset(("master", "resource", "aad", "sas"))
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE: Final = re.compile(r"[a-z]{3}, (\d\d) ([a-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) gmt")
_ADMIN: Final = "_armillary"  # the server's own pages are no resources, and are signed like the account
_RID_LENGTH: Final = 8
_RID_OF_DATABASE: Final = re.compile(r"[A-Za-z0-9+-]{6}==")


def build_text(verb: str, kind: str, link: str, date: str, http_date: str = "") -> bytes:
    """The text that is signed."""
    return join_terms(verb.lower(), kind.lower(), link, date.lower(), http_date.lower())


def join_terms(verb: str, kind: str, link: str, date: str, http_date: str) -> bytes:
    """The same of terms that are in lower case already."""
    return f"{verb}\n{kind}\n{link}\n{date}\n{http_date}\n".encode()


@lru_cache(64)
def _prepare(secret: bytes) -> "tuple[hashlib._Hash, hashlib._Hash]":
    """HMAC's two hashes with the key in them: half of the work, done once for each key."""
    block = (secret if len(secret) <= _BLOCK else hashlib.sha256(secret).digest()).ljust(_BLOCK, b"\0")
    return hashlib.sha256(bytes(byte ^ 0x36 for byte in block)), hashlib.sha256(bytes(byte ^ 0x5C for byte in block))


def _digest(secret: bytes, text: bytes) -> bytes:
    """HMAC-SHA256."""
    prepared = _prepare(secret)
    inner, outer = prepared[0].copy(), prepared[1].copy()
    inner.update(text)
    outer.update(inner.digest())
    return outer.digest()


def sign(key: str, verb: str, resource_type: str, link: str, date: str) -> str:
    """The base64 signature of a request under a base64 key."""
    return b64encode(_digest(b64decode(key), build_text(verb, resource_type, link, date))).decode()


def make_token(key: str, verb: str, resource_type: str, link: str, date: str) -> str:
    """The whole value of the `authorization` header for a request."""
    return quote(f"type=master&ver=1.0&sig={sign(key, verb, resource_type, link, date)}", safe="")


def read_usual(header: bytes) -> bytes | None:
    """The signature of a master key in the usual form, nearly every header's; None for all others."""
    if not header.startswith(_USUAL):
        return None
    tail = header[_USUAL_SIZE:]
    if b"%2" in tail:
        tail = tail.replace(b"%2B", b"+").replace(b"%2F", b"/")
    tail = tail.replace(b"%3D", b"=")
    return unquote_to_bytes(tail) if b"%" in tail else tail


def parse_authorization(header: bytes) -> Authorization | None:
    """What the header says; None for what is no token at all."""
    signature = read_usual(header)
    if signature is not None:
        return Authorization("master", "1.0", signature)
    text = unquote_to_bytes(header)
    parts = [part.partition(b"=") for part in text.split(b"&", 2)]
    names = [name.strip().lower() for name, _, _ in parts]
    kind = parts[0][2].decode("latin-1").lower()
    if names[0] != b"type" or kind not in _KINDS:
        return None
    if names[1:] != [b"ver", b"sig"]:
        return Authorization(kind, "", b"") if kind == "sas" else None
    return Authorization(kind, parts[1][2].decode("latin-1"), parts[2][2])


def matches(secrets: Sequence[bytes], signature: bytes, text: bytes) -> int | None:
    """The place of the first secret (a decoded key) that signed this text; None if none did."""
    try:
        given = binascii.a2b_base64(signature)
    except binascii.Error:
        return None
    for place, secret in enumerate(secrets):
        if compare_digest(_digest(secret, text), given):
            return place
    return None


def read_resource(path: bytes) -> Resource:
    """What is signed for a path: its kind and link."""
    text = path.decode("latin-1").strip("/")
    segments = text.split("/") if text else []
    if "%" in text:
        segments = [unquote(segment) for segment in segments]
        text = "/".join(segments)
    size = len(segments)
    if size < 2:
        return Resource(text.lower(), "", None, segments)
    if segments[0] == _ADMIN:
        return Resource("", "", None, segments)
    kind, last = segments[-2], segments[-1]
    link = text
    if size % 2:  # a feed: signed by its parent
        kind, last = last, kind
        link = text[: -len(kind) - 1]
    elif kind == "operations" and size > 3:  # deleting by key is signed as the container it is done to
        kind, last, link = segments[-4], segments[-3], "/".join(segments[:-2])
    kind = kind.lower()
    if kind == "offers":
        return Resource(kind, last.lower(), None, segments)
    by_rid = len(segments[1]) == _RID_LENGTH and _RID_OF_DATABASE.fullmatch(segments[1])
    return Resource(kind, link, last.lower() if by_rid else None, segments)


@lru_cache(256)
def parse_date(text: bytes) -> int | None:
    """Seconds since 1970 of an RFC 1123 date in any case; None for anything else."""
    found = _DATE.fullmatch(text.decode("latin-1").lower())
    if found is None or found[2] not in _MONTHS:
        return None
    day, month, year, hour, minute, second = int(found[1]), _MONTHS.index(found[2]) + 1, *map(int, found.groups()[2:])
    if not (1 <= day <= 31 and hour < 24 and minute < 60 and second < 61):
        return None
    return timegm((year, month, day, hour, minute, second))
