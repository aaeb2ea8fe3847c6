"""The command `armillary`: loads the file of a verb when the verb is used, and ends every failure in words.

A refusal becomes one line on stderr and a documented exit code; a fault of ours keeps its traceback.
"""

from importlib import import_module
from typing import Final, NoReturn

import click

from armillary.cli.exits import CommandError, Exit, code_of, explain
from armillary.errors import Refusal

__all__ = ["VERBS", "command", "main"]

VERBS: Final = {
    "serve": "Start the server, and serve until it is told to stop.",
    "run": "Start a fresh server, run a command against it, stop the server.",
    "check": "Walk everything in a data folder and say what is wrong.",
    "load": "Load items from a file or a pipe into a container.",
    "dump": "Write all items of a container into a file or a pipe.",
    "database": "Create, list, show, scale and delete databases.",
    "container": "Create, list, show, scale and delete containers.",
    "partitions": "Show the partitions: items, RU/s against budget, throttling, hottest keys.",
    "heatmap": "Draw the heat of every partition over time, in the terminal or as a page.",
    "split": "Split a partition now, and follow the split.",
    "key": "Hash a partition-key value: its effective key and range.",
    "config": "Show every setting, its value, and where the value came from.",
    "cert": "Write the certificate of the server for a trust store.",
}


class Verbs(click.Group):
    """A group whose commands are modules: `armillary.cli.<verb>`, each with a `command`."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        # One verb is loaded, not all: the start of the command is most of its time.
        found: click.Command = import_module(f"armillary.cli.{cmd_name}").command
        return found

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except Refusal as refusal:
            return _end(ctx, explain(refusal), code_of(refusal.kind))
        except CommandError as error:
            return _end(ctx, str(error), error.code)
        except KeyboardInterrupt:
            return _end(ctx, "interrupted", Exit.INTERRUPTED)


def _end(ctx: click.Context, message: str, code: Exit) -> NoReturn:
    click.echo(f"armillary: {message}", err=True)
    ctx.exit(code)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="armillary", message="armillary %(version)s")
def command() -> None:
    """A partitioned, multi-model database that speaks the wire protocols of Azure Cosmos DB.

    \b
    Examples:
      armillary serve                     a database in ./armillary-data, on port 8081
      armillary serve --memory --port 0   one that leaves nothing behind, on any free port
      armillary run -- pytest             a fresh database for one command
      armillary COMMAND --help            what a command does, with examples

    Exit codes: 0 done, 1 something was found wrong, 2 wrong usage or setting, 3 the data folder cannot be used,
    4 the address cannot be used, 5 the server cannot be reached or refused, 130 interrupted.
    """


def main() -> None:
    command()
