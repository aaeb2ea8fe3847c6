"""A small client of the document protocol, for the commands that talk to a server: any endpoint that speaks it will do.

One `Client` is one connection for one thread. A request is signed with the account key, sent again when the server
asks for patience (429, 449, 503: after the time it names) or when the connection breaks, and given up after a minute.
Only requests that may be repeated are sent through it: reads, replacements, and creates and deletes whose 409 and 404
somebody understands. It knows nothing of partitions, sessions or queries.
"""

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from armillary.cli.exits import CommandError, Exit
from armillary.wire.signature import make_token, read_resource

__all__ = ["Account", "Answer", "Client", "ServerError", "name_path"]

_PATIENCE: Final = 60.0
_TIMEOUT: Final = 65.0
_AGAIN: Final = frozenset((429, 449, 503))
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0


@dataclass(frozen=True, slots=True)
class Account:
    """Where a server is, and how to be let in."""

    endpoint: str
    key: str
    trust: Path | None = None  # a PEM file to believe instead of the machine's own
    verify: bool = True


class Answer(NamedTuple):
    """One answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def charge(self) -> float:
        return float(self.headers.get("x-ms-request-charge") or 0)

    @property
    def message(self) -> str:
        """What the server said about an error, in one line."""
        try:
            text = json.loads(self.body)["message"]
        except (ValueError, KeyError, TypeError):
            text = self.body.decode("utf-8", "replace")[:200]
        return " ".join(str(text).split())

    def must(self, method: str, path: str) -> "Answer":
        """This answer, if the request was granted."""
        if self.status >= 400:
            raise ServerError(f"{method} {path} answered {self.status}: {self.message}")
        return self

    def json(self) -> dict[str, Any]:
        """The object in the body."""
        try:
            found = json.loads(self.body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ServerError(f"the server answered {self.status} with something that is no JSON object")
        return found

    def rows(self, field: str) -> list[dict[str, Any]]:
        """The resources of a page."""
        rows = self.json().get(field)
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


class ServerError(CommandError):
    """The server could not be reached, or refused something the command cannot do without."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.SERVER)


def name_path(*names: str) -> str:
    """A path of names, percent-encoded."""
    return "/" + "/".join(quote(name, safe="") for name in names)


class Client:
    """One connection to one account."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._connection = _connect(account)

    def close(self) -> None:
        self._connection.close()

    def send(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Answer:
        """The answer to a request, after as much patience as the server asks for."""
        until = time.monotonic() + _PATIENCE
        pause = _FIRST_PAUSE
        while True:
            try:
                answer = self._send_once(method, path, headers or {}, body)
            except (OSError, HTTPException) as error:
                self._connection.close()
                if _is_final(error) or time.monotonic() + pause > until:
                    raise ServerError(_explain(self._account.endpoint, error)) from None
            else:
                if answer.status not in _AGAIN or time.monotonic() > until:
                    return answer
                pause = max(pause, int(answer.headers.get("x-ms-retry-after-ms") or 0) / 1000)
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def must_send(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Answer:
        """The same, for what the command cannot do without."""
        return self.send(method, path, headers, body).must(method, path)

    def iter_pages(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Iterator[Answer]:
        """The pages of a feed or query, up to its end or to the first one that is refused."""
        position: str | None = ""
        while position is not None:
            more = {"x-ms-continuation": position} if position else {}
            answer = self.send(method, path, {**(headers or {}), **more}, body)
            yield answer
            position = answer.headers.get("x-ms-continuation") or None

    def list_all(self, path: str, field: str) -> list[dict[str, Any]]:
        """All resources of a feed; `field` is what their array is called."""
        pages = self.iter_pages("GET", path, {"x-ms-max-item-count": "-1"})
        return [row for page in pages for row in page.must("GET", path).rows(field)]

    def _send_once(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        date = formatdate(usegmt=True).lower()
        resource = read_resource(path.partition("?")[0].encode())
        signed = {
            "x-ms-date": date,
            "x-ms-version": "2020-07-15",
            "authorization": make_token(self._account.key, method, resource.kind, resource.link, date),
            "Content-Type": "application/json",
        }
        self._connection.request(method, path, body, signed | dict(headers))
        response = self._connection.getresponse()
        content = response.read()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)


def _connect(account: Account) -> HTTPConnection:
    address = urlsplit(account.endpoint)
    try:
        host, port = address.hostname, address.port
    except ValueError:
        host = None
    if address.scheme not in ("http", "https") or not host:
        raise CommandError(f"{account.endpoint!r} is not an address like https://127.0.0.1:8081/", Exit.USAGE)
    if address.scheme == "http":
        return HTTPConnection(host, port, timeout=_TIMEOUT)
    context = ssl.create_default_context(cafile=account.trust)
    if not account.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return HTTPSConnection(host, port, timeout=_TIMEOUT, context=context)


def _is_final(error: Exception) -> bool:
    """Whether asking again cannot help: nobody listens there, or the certificate is not trusted."""
    return isinstance(error, ConnectionRefusedError | ssl.SSLError) or (
        isinstance(error, OSError) and not isinstance(error, ConnectionError | TimeoutError)
    )


def _explain(endpoint: str, error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {endpoint} is not trusted ({error.verify_message}): "
            "use the http endpoint, --trust FILE, or --no-verify"
        )
    if isinstance(error, ConnectionRefusedError):
        return f"no server listens at {endpoint}: start one with `armillary serve`, or name another with --endpoint"
    return f"{endpoint} cannot be reached: {str(error) or type(error).__name__}"
