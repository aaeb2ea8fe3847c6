"""The options that name a server, and the arguments that name what is meant there."""

import os

import click
import pytest
from click.testing import CliRunner, Result

from armillary.cli.account import Target, add_account, read_container, read_database, read_either
from armillary.cli.client import Account
from armillary.cli.main import Verbs
from armillary.server.keys import WELL_KNOWN_KEY

STRING = "AccountEndpoint=https://there:443/;AccountKey=a2V5;"


@click.command()
@add_account
def show(account: Account) -> None:
    click.echo(f"{account.endpoint} {account.key} {account.verify}")


class Group(Verbs):
    """The real group, so that refusals end as they do."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        return show


def run(*arguments: str, **variables: str) -> Result:
    clean = {name: None for name in os.environ if name.startswith("ARMILLARY_")}
    return CliRunner(env=clean | {f"ARMILLARY_{name}": value for name, value in variables.items()}).invoke(
        Group(), ["show", *arguments]
    )


@pytest.mark.parametrize(
    ("arguments", "variables", "shown"),
    [
        ([], {}, f"http://127.0.0.1:8081/ {WELL_KNOWN_KEY} True"),
        (["--endpoint", "http://[::1]:1/"], {}, f"http://[::1]:1/ {WELL_KNOWN_KEY} True"),
        ([], {"ENDPOINT": "https://b/", "HTTP_ENDPOINT": "http://a/", "KEY": "aaaa"}, "http://a/ aaaa True"),
        (["--endpoint", "http://c/"], {"ENDPOINT": "https://b/", "KEY": "aaaa"}, "http://c/ aaaa True"),
        (["--key", "bbbb"], {"ENDPOINT": "https://b/", "KEY": "aaaa"}, "https://b/ bbbb True"),
        (["--connection-string", STRING], {}, "https://there:443/ a2V5 True"),
        (["--connection-string", STRING], {"ENDPOINT": "https://b/", "KEY": "aaaa"}, "https://there:443/ a2V5 True"),
        ([], {"CONNECTION_STRING": STRING}, "https://there:443/ a2V5 True"),
        ([], {"CONNECTION_STRING": STRING, "KEY": "aaaa"}, "https://there:443/ a2V5 True"),
        (["--key", "bbbb"], {"CONNECTION_STRING": STRING}, "https://there:443/ bbbb True"),
        ([], {"CONNECTION_STRING": STRING, "ENDPOINT": "http://b/", "KEY": "aaaa"}, "http://b/ aaaa True"),
        ([], {"CONNECTION_STRING": STRING, "ENDPOINT": ""}, "https://there:443/ a2V5 True"),
        (["--no-verify", "--connection-string", STRING], {}, "https://there:443/ a2V5 False"),
        (
            ["--connection-string", STRING + "DisableServerCertificateValidation=True"],
            {},
            "https://there:443/ a2V5 False",
        ),
        (
            ["--connection-string", " accountkey = a2V5Cg== ; AccountEndpoint = http://x/"],
            {},
            "http://x/ a2V5Cg== True",
        ),
    ],
)
def test_a_server_is_found(arguments: list[str], variables: dict[str, str], shown: str) -> None:
    result = run(*arguments, **variables)
    assert (result.exit_code, result.output.strip()) == (0, shown)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--endpoint", "https://there/"], "the key of https://there/ is needed"),
        (["--key", "!"], "is no base64 text"),
        (["--connection-string", "AccountKey=a2V5"], "the connection string has no AccountEndpoint"),
        (["--connection-string", "x"], "has no AccountEndpoint and no AccountKey"),
        (["--connection-string", STRING, "--key", "a2V5"], "stands for --endpoint and --key"),
        (["--connection-string", STRING, "--endpoint", "http://x/"], "stands for --endpoint and --key"),
    ],
)
def test_what_names_no_server_is_refused(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_targets_have_paths_and_hold_containers() -> None:
    assert read_database("my shop") == Target("my shop")
    assert read_container("shop/orders") == read_either("shop/orders") == Target("shop", "orders")
    assert read_database("my shop").path == "/dbs/my%20shop"
    assert read_container("shop/ö").path == "/dbs/shop/colls/%C3%B6"
    assert [str(read_either(text)) for text in ("shop", "shop/orders")] == ["shop", "shop/orders"]
    assert read_either("shop").holds("shop", "orders")
    assert not read_either("shop/carts").holds("shop", "orders")
    assert not read_either("sho").holds("shop", "orders")


@pytest.mark.parametrize("text", ["", "/", "a/", "/a", "a/b/c"])
def test_other_arguments_are_no_targets(text: str) -> None:
    for read in (read_database, read_container, read_either):
        with pytest.raises(click.BadParameter):
            read(text)
