"""What `armillary database` and `container` do where a live server is not needed to show it."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.unit.cli.scripted import Line, Scripted, say, scripted

from armillary.cli.main import command

CONTAINER: dict[str, Any] = {
    "id": "orders",
    "_self": "dbs/a/colls/b/",
    "partitionKey": {"paths": ["/a"], "kind": "Hash"},
}
DATABASE = {"id": "shop", "_self": "dbs/a/"}
OFFER = {"_rid": "Of01", "resource": "dbs/a/", "content": {"offerThroughput": 400}}


def run(*arguments: str, script: tuple[Line, ...] = ()) -> Result:
    with scripted(*script) as account:
        place = ("--endpoint", account.endpoint, "--key", account.key)
        return CliRunner().invoke(command, [*arguments, *place])


@pytest.mark.parametrize("verb", [("database", "delete", "shop"), ("container", "delete", "shop/orders")])
def test_nothing_is_deleted_where_nobody_can_be_asked(verb: tuple[str, ...]) -> None:
    result = run(*verb)
    assert result.exit_code == 2
    assert result.output == f"armillary: deleting {verb[2]} needs --yes where nobody can be asked\n"
    assert not Scripted.seen


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("database", "create", "shop", "--throughput", "1", "--autoscale", "2"), "cannot be given together"),
        (("database", "scale", "shop"), "say how much: --throughput N, or --autoscale MAX"),
        (("container", "create", "shop/orders"), "a partition key is needed"),
        (("container", "create", "shop/orders", "--unlimited"), "a partition key is needed"),
        (("container", "create", "shop/orders", "--fixed", "--key-path", "/a"), "without a partition key"),
        (("container", "show", "orders"), "is not of that form"),
        (("database", "show", "shop/orders"), "is not of that form"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


def test_a_container_is_defined_by_its_options() -> None:
    options = ["--key-path", "/a", "--key-path", "/b/c", "--default-ttl", "-1", "--unique", "/d,/e", "--unique", "/f"]
    run("container", "create", "shop/orders", *options, "--autoscale", "4000", script=(say(409, {"message": "there"}),))
    ((method, path, headers, body),) = Scripted.seen
    assert (method, path) == ("POST", "/dbs/shop/colls")
    assert json.loads(body) == {
        "id": "orders",
        "partitionKey": {"paths": ["/a", "/b/c"], "kind": "MultiHash", "version": 2},
        "defaultTtl": -1,
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/d", "/e"]}, {"paths": ["/f"]}]},
    }
    assert headers["x-ms-cosmos-offer-autopilot-settings"] == '{"maxThroughput": 4000}'
    assert headers["x-ms-version"] > "2018-06-18"


def test_a_fixed_container_is_one_of_the_old_protocol_without_a_key() -> None:
    run("container", "create", "shop/old", "--fixed", script=(say(409, {"message": "there"}),))
    ((_, _, headers, body),) = Scripted.seen
    assert json.loads(body) == {"id": "old"}
    assert headers["x-ms-version"] == "2018-06-18"


def test_what_shares_throughput_cannot_be_scaled_alone() -> None:
    nothing = say(200, {"Offers": []})
    shared = (say(200, DATABASE), say(200, {"Offers": [OFFER]}), say(200, OFFER))
    result = run(
        "container", "scale", "shop/orders", "--throughput", "500", script=(say(200, CONTAINER), nothing, *shared)
    )
    assert result.exit_code == 2
    assert "it shares that of its database; scale shop with `armillary database scale`" in result.output
    result = run("database", "scale", "shop", "--throughput", "500", script=(say(200, DATABASE), nothing))
    assert result.exit_code == 2
    assert "every container of it has its own" in result.output


def test_a_change_that_takes_time_may_be_left_alone() -> None:
    pending = say(200, OFFER, x_ms_offer_replace_pending="true")
    found = (say(200, DATABASE), say(200, {"Offers": [OFFER]}), say(200, OFFER))
    result = run("database", "scale", "shop", "--throughput", "400", "--no-wait", script=(*found, pending))
    assert result.output == "before  manual 400 RU/s\nafter   manual 400 RU/s, a change is under way\n"
    result = run("database", "scale", "shop", "--throughput", "400", script=(*found, pending, pending, say(200, OFFER)))
    assert result.output == "before  manual 400 RU/s\nafter   manual 400 RU/s\n"


def test_an_account_that_says_less_is_shown_all_the_same() -> None:
    ranges = say(200, {"PartitionKeyRanges": [{"id": "0"}, {"id": "1"}]})
    script = (say(200, CONTAINER), say(200, {"Offers": [OFFER]}), say(200, OFFER), ranges)
    assert run("container", "show", "shop/orders", script=script).output.splitlines() == [
        "container    shop/orders",
        "key          /a",
        "throughput   manual 400 RU/s",
        "partitions   2: 0, 1",
        "items        not told",
        "default ttl  off",
        "unique keys  none",
    ]
