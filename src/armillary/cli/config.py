"""`armillary config`: every setting with its value and where the value came from."""

from pathlib import Path

import click

from armillary.cli.options import add_settings, load_settings
from armillary.config import SETTINGS, Settings, show_value

__all__ = ["command"]


@add_settings()
@click.command(name="config")
def command(config_file: Path | None, **flags: str | bool | None) -> None:
    """Show every setting, its value, and where the value came from. Keys are not shown.

    A value is looked for in this order: option, environment variable ARMILLARY_<NAME>, TOML file, default.

    \b
    Examples:
      armillary config
      ARMILLARY_PORT=9000 armillary config
      armillary config --config production.toml --log-level debug
    """
    for line in list_values(*load_settings(flags, config_file)):
        click.echo(line)


def list_values(settings: Settings, origins: dict[str, str]) -> list[str]:
    """One line for each setting."""
    rows = [(row.name, show_value(row, getattr(settings, row.name)) or "-", origins[row.name]) for row in SETTINGS]
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [f"{name:<{wide[0]}}  {value:<{wide[1]}}  {origin}" for name, value, origin in rows]
