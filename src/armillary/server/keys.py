"""The account keys: two that may write, two that may only read.

The first is the well-known key of the emulator as long as only this machine can connect: it is public, so beyond
loopback it is refused unless allowed in words. The others, and the first where the well-known one must not serve, come
from the configuration, or are made once and kept in the data folder, readable by its owner alone.

What is made once is made by one process at a time (`take_turns`), and all others find it.
"""

import contextlib
import json
import os
import secrets
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple

from armillary.config import Settings
from armillary.errors import Kind, Refusal

__all__ = ["WELL_KNOWN_KEY", "Keys", "find_keys", "is_loopback", "take_turns", "write_private"]

WELL_KNOWN_KEY: Final = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
_FILE: Final = "keys.json"


class Keys(NamedTuple):
    """The keys as base64 text, in the order of `wire.signature.matches`: from the third on they only read."""

    primary: str
    secondary: str
    primary_readonly: str
    secondary_readonly: str

    @property
    def secrets(self) -> tuple[bytes, ...]:
        return tuple(map(b64decode, self))


def find_keys(settings: Settings) -> Keys:
    """The keys of this server. The data folder must exist, unless everything is in memory."""
    public = is_loopback(settings.host) or settings.allow_well_known_key
    if settings.key == WELL_KNOWN_KEY and not public:
        raise Refusal(
            Kind.BAD_DEFINITION,
            what="setting key",
            reason=f"the well-known key is public and {settings.host} can be reached by others; leave the key out and "
            "one is made, or add --allow-well-known-key",
        )
    own = Keys(*(_make_key() for _ in Keys._fields)) if settings.memory else _load_or_make(settings.data / _FILE)
    return Keys(
        settings.key or (WELL_KNOWN_KEY if public else own.primary),
        settings.secondary_key or own.secondary,
        settings.readonly_key or own.primary_readonly,
        settings.secondary_readonly_key or own.secondary_readonly,
    )


def is_loopback(host: str | None) -> bool:
    """Whether only this machine can reach an address; None stands for both loopback addresses."""
    return host is None or ip_address(host).is_loopback


def _make_key() -> str:
    return b64encode(secrets.token_bytes(64)).decode()


def _load_or_make(file: Path) -> Keys:
    with take_turns(file.parent):
        if not file.exists():
            made = Keys(*(_make_key() for _ in Keys._fields))
            write_private(file, json.dumps(made._asdict(), indent=2).encode())
    try:
        return Keys(**json.loads(file.read_bytes()))
    except (ValueError, TypeError) as error:
        raise Refusal(Kind.BAD_DEFINITION, what=f"file of keys {file}", reason=str(error)) from None


if sys.platform == "win32":

    @contextlib.contextmanager
    def take_turns(folder: Path) -> Iterator[None]:  # noqa: ARG001 - one process serves there, and others seldom come
        """Windows locks no folder."""
        yield

else:
    import fcntl

    @contextlib.contextmanager
    def take_turns(folder: Path) -> Iterator[None]:
        """Alone among all threads and processes that do this on a folder; who dies gives way."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def write_private(file: Path, data: bytes) -> None:
    """Write a whole file that only its owner may read; it appears whole or not at all."""
    draft = file.with_name(f"{file.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(file)
