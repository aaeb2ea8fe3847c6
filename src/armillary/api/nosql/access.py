"""Who may do what: signatures by the account's keys, and the clock they are bound to.

Two keys may do everything, two may only read. The text that was signed is made from the request; where the path may be
read as rids or as names, both texts are accepted. What is refused is refused with the text the server made, so that the
author of a client sees where the two part.
"""

from collections.abc import Callable, Sequence
from typing import Final

from armillary.errors import Kind, Refusal
from armillary.wire.http import Request
from armillary.wire.signature import Authorization, Resource, build_text, matches, parse_authorization, parse_date

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
        token = parse_authorization(authorization)
        if token is None or token.kind != "master" or token.version != "1.0":
            raise _refuse_token(token)
        date, other = headers.get(b"x-ms-date", b""), headers.get(b"date", b"")
        self._check_date(date or other)
        verb = request.method.decode("latin-1")
        dates = (date.decode("latin-1"), "" if date else other.decode("latin-1"))
        text = build_text(verb, resource.kind, resource.link, *dates)
        holder = matches(self._secrets, token.signature, text)
        if holder is None and resource.rid is not None:
            holder = matches(self._secrets, token.signature, build_text(verb, resource.kind, resource.rid, *dates))
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
