"""The options of a command that talks to a server: where it is, how to be let in, and what is meant there.

What is typed wins over variables. A connection string stands for endpoint and key together: the key of one server is
not used on another.
"""

from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from armillary.cli.client import Account, name_path
from armillary.cli.exits import CommandError, Exit
from armillary.server.keys import WELL_KNOWN_KEY

__all__ = [
    "Container",
    "Target",
    "add_account",
    "add_container",
    "read_connection",
    "read_container",
    "read_database",
    "read_either",
]

_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_ENDPOINT: Final = "http://127.0.0.1:8081/"
_ENDPOINTS: Final = ("ARMILLARY_HTTP_ENDPOINT", "ARMILLARY_ENDPOINT")

_ACCOUNT: Final = (
    click.option(
        "--endpoint",
        envvar=list(_ENDPOINTS),
        metavar="URL",
        help=f"Where the server is ({', '.join(_ENDPOINTS)}).  [{_ENDPOINT}]",
    ),
    click.option(
        "--key",
        envvar="ARMILLARY_KEY",
        metavar="BASE64",
        help="Account key (ARMILLARY_KEY).  [on loopback the well-known one]",
    ),
    click.option(
        "--connection-string",
        envvar="ARMILLARY_CONNECTION_STRING",
        metavar="TEXT",
        help="Both at once, AccountEndpoint=URL;AccountKey=BASE64; (ARMILLARY_CONNECTION_STRING).",
    ),
    click.option("--trust", type=click.Path(path_type=Path), metavar="FILE", help="PEM file of certificates to trust."),
    click.option("--no-verify", is_flag=True, help="Do not check the server's certificate."),
)
_CONTAINER: Final = (
    click.option("-d", "--database", required=True, metavar="NAME", help="Database."),
    click.option("-c", "--container", required=True, metavar="NAME", help="Container."),
)


class Container(NamedTuple):
    """One container of one account."""

    account: Account
    database: str
    name: str

    @property
    def path(self) -> str:
        return name_path("dbs", self.database, "colls", self.name)


class Target(NamedTuple):
    """What an argument like `shop/orders` names: a container, or a whole database."""

    database: str
    container: str = ""

    @property
    def path(self) -> str:
        return name_path("dbs", self.database, *(("colls", self.container) if self.container else ()))

    def __str__(self) -> str:
        return f"{self.database}/{self.container}" if self.container else self.database

    def holds(self, database: str, container: str) -> bool:
        """Whether this container is meant."""
        return self.database == database and self.container in ("", container)


def read_database(text: str) -> Target:
    """An argument that names a database."""
    return _read_target(text, 1)


def read_container(text: str) -> Target:
    """An argument that names a container."""
    return _read_target(text, 2)


def read_either(text: str) -> Target:
    """An argument that names a database, or one container of it."""
    return _read_target(text, 1, 2)


def _read_target(text: str, *counts: int) -> Target:
    names = text.split("/")  # no name of the protocol holds a slash
    if len(names) not in counts or not all(names):
        raise click.BadParameter(f"{text!r} is not of that form")
    return Target(*names)


def add_account(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a server; the function gets them as one `account`."""

    @wraps(function)
    def call(**options: Any) -> None:
        names = ("endpoint", "key", "connection_string", "trust", "no_verify")
        function(account=_make_account(**{name: options.pop(name) for name in names}), **options)

    for option in reversed(_ACCOUNT):
        call = option(call)
    return call


def add_container(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a server and a container; the function gets them as one `target`."""

    @wraps(function)
    def call(account: Account, database: str, container: str, **options: Any) -> None:
        function(target=Container(account, database, container), **options)

    added = add_account(call)
    for option in reversed(_CONTAINER):
        added = option(added)
    return added


def read_connection(text: str) -> Mapping[str, str]:
    """The parts of a connection string, by their names in lower case."""
    parts = [part.partition("=") for part in text.split(";") if part.strip()]
    found = {name.strip().lower(): value.strip() for name, _, value in parts}
    missing = [name for name in ("AccountEndpoint", "AccountKey") if not found.get(name.lower())]
    if missing:
        raise CommandError(f"the connection string has no {' and no '.join(missing)}", Exit.USAGE)
    return found


def _make_account(
    endpoint: str | None, key: str | None, connection_string: str | None, trust: Path | None, no_verify: bool
) -> Account:
    if connection_string and (_typed("connection_string") or endpoint is None):
        if _typed("connection_string") and (_typed("endpoint") or _typed("key")):
            raise click.UsageError("--connection-string stands for --endpoint and --key: give it or them")
        parts = read_connection(connection_string)
        endpoint = parts["accountendpoint"]
        key = key if key and _typed("key") else parts["accountkey"]
        no_verify = no_verify or parts.get("disableservercertificatevalidation", "").lower() == "true"
    endpoint = endpoint or _ENDPOINT
    if key is None and urlsplit(endpoint).hostname not in _LOOPBACK:
        raise CommandError(f"the key of {endpoint} is needed: give --key or set ARMILLARY_KEY", Exit.USAGE)
    if not _is_base64(key or ""):
        raise CommandError(f"the key of {endpoint} is no base64 text", Exit.USAGE)
    return Account(endpoint, key or WELL_KNOWN_KEY, trust, not no_verify)


def _is_base64(text: str) -> bool:
    try:
        b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def _typed(name: str) -> bool:
    """Whether an option stands on the command line itself."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE
