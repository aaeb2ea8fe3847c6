"""The options of a command that talks to a server: where it is, how to be let in, which container."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import click

from armillary.cli.client import Account, name_path
from armillary.cli.exits import CommandError, Exit
from armillary.server.keys import WELL_KNOWN_KEY

__all__ = ["Container", "add_container"]

_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))

_OPTIONS: Final = (
    click.option("-d", "--database", required=True, metavar="NAME", help="Database."),
    click.option("-c", "--container", required=True, metavar="NAME", help="Container."),
    click.option(
        "--endpoint",
        envvar=["ARMILLARY_HTTP_ENDPOINT", "ARMILLARY_ENDPOINT"],
        default="http://127.0.0.1:8081/",
        metavar="URL",
        help="Where the server is (ARMILLARY_HTTP_ENDPOINT, ARMILLARY_ENDPOINT).  [http://127.0.0.1:8081/]",
    ),
    click.option(
        "--key",
        envvar="ARMILLARY_KEY",
        metavar="BASE64",
        help="Account key (ARMILLARY_KEY).  [on loopback the well-known one]",
    ),
    click.option("--trust", type=click.Path(path_type=Path), metavar="FILE", help="PEM file of certificates to trust."),
    click.option("--no-verify", is_flag=True, help="Do not check the server's certificate."),
)


class Container(NamedTuple):
    """One container of one account."""

    account: Account
    database: str
    name: str

    @property
    def path(self) -> str:
        return name_path("dbs", self.database, "colls", self.name)


def add_container(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a server and a container; the function gets them as one `target`."""

    @wraps(function)
    def call(database: str, container: str, **options: object) -> None:
        names = ("endpoint", "key", "trust", "no_verify")
        account = _make_account(**{name: options.pop(name) for name in names})  # type: ignore[arg-type]  # by click
        function(target=Container(account, database, container), **options)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call


def _make_account(endpoint: str, key: str | None, trust: Path | None, no_verify: bool) -> Account:
    if key is None and urlsplit(endpoint).hostname not in _LOOPBACK:
        raise CommandError(f"the key of {endpoint} is needed: give --key or set ARMILLARY_KEY", Exit.USAGE)
    return Account(endpoint, key or WELL_KNOWN_KEY, trust, not no_verify)
