"""Who may do what: signatures by the account's keys, and the clock they are bound to.

Two keys may do everything, two may only read. The text that was signed is made from the request; where the path may be
read as rids or as names, both texts are accepted. What is refused is refused with the text the server made, so that the
author of a client sees where the two part.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from armillary.errors import Kind, Refusal
from armillary.wire.http import Request
from armillary.wire.signature import (
    Authorization,
    Resource,
    join_terms,
    matches,
    parse_authorization,
    parse_date,
    read_usual,
)

SKEW: Final = 15 * 60
_READ_WRITE: Final = 2
_READS: Final = frozenset((b"GET", b"HEAD"))


class Access:
    """The keys of an account: the first two read and write, the others read. `seconds` is the wall clock."""

    def __init__(self, secrets: Sequence[bytes], seconds: Callable[[], float]) -> None:
        self._secrets = tuple(secrets)
        self._seconds = seconds

    def admit(self, request: Request, resource: Resource) -> None:
        """Refuse a request that nobody with a key has signed."""
        headers = request.headers
        authorization = headers.get(b"authorization")
        if authorization is None:
            raise Refusal(Kind.UNAUTHORIZED, reason="Required Header authorization is missing. Ensure a valid one.")
        signature = read_usual(authorization)
        if signature is None:
            signature = _read_token(authorization)
        date = headers.get(b"x-ms-date")
        other = b"" if date else headers.get(b"date", b"")
        self._check_date(date or other)
        verb = _lower(request.method)
        dates = (_lower(date or b""), _lower(other))
        kind, link, rid, _ = resource
        text = join_terms(verb, kind, link, *dates)
        holder = matches(self._secrets, signature, text)
        if holder is None and rid is not None:
            holder = matches(self._secrets, signature, join_terms(verb, kind, rid, *dates))
        if holder is None or (holder >= _READ_WRITE and not _only_reads(request)):
            raise Refusal(Kind.UNAUTHORIZED, reason=_explain(text))

    def _check_date(self, date: bytes) -> None:
        moment = parse_date(date)
        if moment is None:
            raise Refusal(Kind.UNAUTHORIZED, reason="the header x-ms-date is missing or no date of RFC 1123")
        if abs(moment - self._seconds()) > SKEW:
            raise Refusal(
                Kind.FORBIDDEN,
                reason="The authorization token is not valid at the current time. Check the clock of the client: "
                f"x-ms-date says {date.decode('latin-1')}",
            )


def _only_reads(request: Request) -> bool:
    headers = request.headers
    return (
        request.method in _READS
        or headers.get(b"x-ms-documentdb-isquery", b"").lower() == b"true"
        or headers.get(b"content-type", b"").startswith(b"application/query+json")
        or headers.get(b"x-ms-cosmos-is-query-plan-request", b"").lower() == b"true"
    )


@lru_cache(256)
def _lower(text: bytes) -> str:
    """Verbs and dates come again and again."""
    return text.decode("latin-1").lower()


def _read_token(header: bytes) -> bytes:
    token = parse_authorization(header)
    if token is None or token.kind != "master" or token.version != "1.0":
        raise _refuse_token(token)
    return token.signature


def _refuse_token(token: Authorization | None) -> Refusal:
    if token is None:
        return Refusal(Kind.UNAUTHORIZED, reason="The input authorization token has no form that is known")
    if token.kind == "master":
        return Refusal(Kind.UNAUTHORIZED, reason=f"Master-key tokens of version {token.version!r} are not known")
    return Refusal(
        Kind.UNAUTHORIZED, reason=f"Tokens of the type {token.kind!r} are not built yet; use one of the account's keys"
    )


def _explain(text: bytes) -> str:
    payload = text.decode(errors="replace").replace("\n", "\\n")
    return (
        "The input authorization token can't serve the request. The wrong key is being used or the expected payload is "
        f"not built as per the protocol. Server used the following payload to sign: '{payload}'"
    )
