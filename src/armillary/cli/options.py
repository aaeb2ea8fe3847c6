"""Settings as options of a command: made from the table of settings, read by it, refused by it."""

import os
from collections.abc import Callable
from pathlib import Path

import click

from armillary.config import FLAG, SETTINGS, Setting, Settings, find_file, load, show_value

__all__ = ["add_settings", "load_settings", "repeat_flags"]


def _make_option(setting: Setting) -> click.Option:
    """One option; its text goes unread to `load`, so that every source is read by the same reader."""
    if setting.reader is FLAG:
        return click.Option(
            [f"{setting.option}/--no-{setting.option[2:]}"], default=None, is_flag=True, help=setting.help
        )
    default = show_value(setting, setting.default)
    text = setting.help if not default else f"{setting.help}  [{default}]"
    return click.Option([setting.option], metavar=setting.reader.hint, help=text)


def add_settings(*names: str) -> Callable[[click.Command], click.Command]:
    """Add the options of these settings (all when none is named), and `--config`, to a command."""

    def add(command: click.Command) -> click.Command:
        command.params.extend(_make_option(setting) for setting in SETTINGS if not names or setting.name in names)
        command.params.append(
            click.Option(
                ["--config", "config_file"],
                metavar="FILE",
                type=click.Path(path_type=Path),
                help="TOML file of settings.  [armillary.toml, if there is one]",
            )
        )
        return command

    return add


def load_settings(flags: dict[str, str | bool | None], config_file: Path | None) -> tuple[Settings, dict[str, str]]:
    """The settings of this run and where each came from."""
    return load(flags, os.environ, find_file(config_file))


def repeat_flags(flags: dict[str, str | bool | None]) -> list[str]:
    """The given flags, to be handed on to another `serve`."""
    options: list[str] = []
    for setting in SETTINGS:
        value = flags.get(setting.name)
        if isinstance(value, bool):
            options.append(setting.option if value else f"--no-{setting.option[2:]}")
        elif value is not None:
            options += [setting.option, value]
    return options
