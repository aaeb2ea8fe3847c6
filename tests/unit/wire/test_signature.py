"""Signatures against the official client's own code, and what must not pass."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable
from types import SimpleNamespace
from urllib.parse import quote, unquote

import pytest
from azure.cosmos import auth
from hypothesis import given
from hypothesis import strategies as st

from armillary.wire.signature import (
    Authorization,
    build_text,
    make_token,
    matches,
    parse_authorization,
    parse_date,
    read_resource,
    sign,
)

KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
DATE = "Wed, 09 Aug 2023 10:11:12 GMT"


def sign_as_client(verb: str, kind: str, link: str, by_name: bool) -> str:
    """The header value as the official client computes it."""
    client = SimpleNamespace(master_key=KEY, resource_tokens=None)
    compute: Callable[..., str] = auth._get_authorization_header
    token = compute(client, verb, "", link, by_name, kind, {"x-ms-date": DATE})
    return quote(token, "-_.!~*'()")


@pytest.mark.parametrize(
    ("verb", "path", "kind", "link", "by_name"),
    [
        ("GET", b"/", "", "", True),
        ("GET", b"/_armillary/check", "", "", True),
        ("POST", b"/_armillary/split/cancel", "", "", True),
        ("POST", b"/dbs/", "dbs", "", True),
        ("GET", b"/dbs/Shop/", "dbs", "dbs/Shop", True),
        ("GET", b"/dbs/Shop/colls", "colls", "dbs/Shop", True),
        ("GET", b"/dbs/Shop/colls/Big%20Orders/", "colls", "dbs/Shop/colls/Big Orders", True),
        ("POST", b"/dbs/Shop/colls/Orders/docs/", "docs", "dbs/Shop/colls/Orders", True),
        ("PUT", b"/dbs/Shop/colls/Orders/docs/%C3%A5%2B1/", "docs", "dbs/Shop/colls/Orders/docs/\u00e5+1", True),
        ("GET", b"/dbs/Shop/colls/Orders/pkranges/", "pkranges", "dbs/Shop/colls/Orders", True),
        ("POST", b"/dbs/Shop/colls/Orders/sprocs/Do/", "sprocs", "dbs/Shop/colls/Orders/sprocs/Do", True),
        ("POST", b"/dbs/S/colls/O/operations/partitionkeydelete", "colls", "dbs/S/colls/O", True),
        ("GET", b"/offers/", "offers", "", True),
        ("PUT", b"/offers/AbCd/", "offers", "AbCd", False),
        ("GET", b"/dbs/AbCdEf==/", "dbs", "AbCdEf==", False),
        ("GET", b"/dbs/AbCdEf==/colls/AbCdEfGHIJk=/docs/", "docs", "AbCdEfGHIJk=", False),
        ("GET", b"/dbs/Ab-dEf==/colls/AbCdEfGHIJk=/", "colls", "AbCdEfGHIJk=", False),
    ],
)
def test_the_official_client_is_understood(verb: str, path: bytes, kind: str, link: str, by_name: bool) -> None:
    header = sign_as_client(verb, kind, link, by_name)
    token = parse_authorization(header.encode())
    assert token is not None
    assert token[:2] == ("master", "1.0")
    resource = read_resource(path)
    assert resource.kind == kind
    signed = resource.link if by_name or kind == "offers" else resource.rid
    assert signed is not None
    assert matches([b64decode(KEY)], token.signature, build_text(verb, resource.kind, signed, DATE)) == 0
    assert unquote(make_token(KEY, verb, kind, signed, DATE)) == unquote(header)


def test_the_text_is_that_of_the_documentation() -> None:
    assert build_text("GET", "Docs", "dbs/A", DATE) == b"get\ndocs\ndbs/A\nwed, 09 aug 2023 10:11:12 gmt\n\n"
    assert build_text("GET", "", "", "", DATE) == b"get\n\n\n\nwed, 09 aug 2023 10:11:12 gmt\n"


@given(st.binary(min_size=1, max_size=200), st.text(max_size=50))
def test_signing_is_hmac(secret: bytes, link: str) -> None:
    link = link.encode(errors="replace").decode()
    text = build_text("PUT", "docs", link, DATE)
    expected = b64encode(hmac.new(secret, text, hashlib.sha256).digest())
    assert sign(b64encode(secret).decode(), "PUT", "docs", link, DATE).encode() == expected
    assert matches([b"another", secret], expected, text) == 1
    assert matches([b"another"], expected, text) is None


def test_a_changed_signature_never_matches() -> None:
    text = build_text("GET", "docs", "dbs/A", DATE)
    signature = bytearray(b64decode(sign(KEY, "GET", "docs", "dbs/A", DATE)))
    for bit in range(len(signature) * 8):
        signature[bit // 8] ^= 1 << bit % 8
        assert matches([b64decode(KEY)], b64encode(signature), text) is None
        signature[bit // 8] ^= 1 << bit % 8
    for short in (b"", b"a", b"!!!!", b64encode(signature[:-1]), b64encode(signature + b"x")):
        assert matches([b64decode(KEY)], short, text) is None


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (b"type%3Dmaster%26ver%3D1.0%26sig%3Da%2Fb%2Bc%3D", Authorization("master", "1.0", b"a/b+c=")),
        (b"type%3dmaster%26ver%3d1.0%26sig%3da%2fb%2bc%3d", Authorization("master", "1.0", b"a/b+c=")),
        (b"type%3Dmaster%26ver%3D1.0%26sig%3Da%2fb%2bc%3d", Authorization("master", "1.0", b"a/b+c=")),
        (b"type=master&ver=1.0&sig=a/b+c=", Authorization("master", "1.0", b"a/b+c=")),
        (b"type%3Dresource%26ver%3D1%26sig%3Dx%3By%3Bz%3B", Authorization("resource", "1", b"x;y;z;")),
        (b"type%3Daad%26ver%3D1.0%26sig%3Da.b.c", Authorization("aad", "1.0", b"a.b.c")),
        (b"type=sas&something=else", Authorization("sas", "", b"")),
        (b"type=other&ver=1.0&sig=a", None),
        (b"type=master&sig=a", None),
        (b"Bearer abc", None),
        (b"", None),
        (b"%FF%FE", None),
    ],
)
def test_headers_are_read(header: bytes, expected: Authorization | None) -> None:
    assert parse_authorization(header) == expected


@given(st.binary(max_size=60))
def test_no_header_breaks_the_reader(header: bytes) -> None:
    for start in (b"", b"type=", b"type=master&ver=1.0&sig=", b"type%3Dmaster%26ver%3D1.0%26sig%3D"):
        token = parse_authorization(start + header)
        if token is not None:
            matches([b"k"], token.signature, b"text")


@given(st.binary(max_size=60))
def test_no_path_breaks_the_reader(path: bytes) -> None:
    read_resource(b"/" + path)
    read_resource(b"/dbs/" + path)


@pytest.mark.parametrize(
    ("path", "segments"),
    [(b"/", []), (b"", []), (b"/dbs", ["dbs"]), (b"/dbs/a%2Fb/colls/", ["dbs", "a/b", "colls"])],
)
def test_segments_are_unescaped_one_by_one(path: bytes, segments: list[str]) -> None:
    assert read_resource(path).segments == segments


@pytest.mark.parametrize("path", [b"/dbs/abcdefgh", b"/dbs/AbCdEf=", b"/dbs/Shop/colls/AbCdEf=="])
def test_names_are_not_taken_for_rids(path: bytes) -> None:
    assert read_resource(path).rid is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (b"Wed, 09 Aug 2023 10:11:12 GMT", 1691575872),
        (b"wed, 09 aug 2023 10:11:12 gmt", 1691575872),
        (b"Thu, 01 Jan 1970 00:00:00 GMT", 0),
        (b"Wed, 9 Aug 2023 10:11:12 GMT", None),
        (b"Wed, 09 Abc 2023 10:11:12 GMT", None),
        (b"Wed, 09 Aug 2023 24:11:12 GMT", None),
        (b"Wed, 39 Aug 2023 10:11:12 GMT", None),
        (b"Wed, 09 Aug 2023 10:11:12 +0000", None),
        (b"2023-08-09T10:11:12Z", None),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_dates_are_read(text: bytes, seconds: int | None) -> None:
    assert parse_date(text) == seconds
