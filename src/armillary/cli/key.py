"""`armillary key`: where a partition-key value falls, with no server and no container."""

import re

import click

from armillary.errors import Kind, Refusal
from armillary.keys import EpkRange, KeyDefinition, divide_space, prefix_range, read_definition
from armillary.values import UNDEFINED, KeyValue
from armillary.wire.keyheader import parse_key

__all__ = ["command"]


@click.command(name="key")
@click.argument("values", nargs=-1, required=True)
@click.option(
    "--paths", multiple=True, default=("/pk",), metavar="PATHS", help="Key paths, as in /tenant,/user.  [/pk]"
)
@click.option("--version", type=click.IntRange(1, 2), default=2, help="Version of the hash.  [2]")
@click.option("--partitions", type=click.IntRange(1, 10_000), default=1, help="Ranges of a new container.  [1]")
def command(values: tuple[str, ...], paths: tuple[str, ...], version: int, partitions: int) -> None:
    """Hash partition-key VALUES: show the effective key and the range it falls into.

    A value is JSON, or the word undefined; one value for each path. Fewer values than paths are a prefix of a
    hierarchical key, which is a range of keys.

    \b
    Examples:
      armillary key '"redmond"' --paths /city --partitions 5
      armillary key '"contoso"' 7 --paths /tenant,/user
      armillary key '"contoso"' --paths /tenant,/user --partitions 10
      armillary key undefined --version 1
    """
    definition = _define([part for text in paths for part in re.split(",(?=/)", text)], version)
    key = definition.check_values(tuple(_read_value(text) for text in values), whole=False)
    for line in describe_key(definition, key, partitions):
        click.echo(line)


def describe_key(definition: KeyDefinition, key: tuple[KeyValue, ...], partitions: int) -> list[str]:
    """One line for the effective key, one for each range that holds keys of it."""
    epk = definition.epk(key)
    whole = definition.is_complete(key)
    lines = [f"{'effective key' if whole else 'effective key of the prefix'}  {epk.hex().upper()}"]
    for number, part in enumerate(divide_space(partitions, definition.version), 1):
        if part.contains(epk) if whole else part.overlaps(prefix_range(epk)):
            lines.append(f"range {number} of {partitions}  {_show_range(part)}")
    return lines


def _define(paths: list[str], version: int) -> KeyDefinition:
    kind = "MultiHash" if len(paths) > 1 else "Hash"
    return read_definition({"paths": paths, "kind": kind, "version": version})


def _read_value(text: str) -> KeyValue:
    if text == "undefined":
        return UNDEFINED
    try:
        (value,) = parse_key(f"[{text}]".encode())
    except (Refusal, ValueError):
        raise Refusal(
            Kind.BAD_KEY, reason=f"{text!r} is not a key value: write JSON ('\"text\"', 5, true, null) or undefined"
        ) from None
    return value


def _show_range(part: EpkRange) -> str:
    start, stop = part.texts
    return f'["{start}", "{stop}")'
