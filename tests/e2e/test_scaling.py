"""Databases and containers from the command line, against a live server, and seen from an official client."""

import json
import os
import pty
import subprocess
from typing import Any

import pytest
from azure.cosmos import CosmosClient
from tests.e2e.live import ARMILLARY, Caller, Live, key_header, run_armillary

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def found_by_variables(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is the one that the variables name."""
    for name in [name for name in os.environ if name.startswith("ARMILLARY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ARMILLARY_CONNECTION_STRING", f"AccountEndpoint={live.http};AccountKey={live.key};")


def must(*arguments: str) -> str:
    result = run_armillary(*arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout.decode()


def read(*arguments: str) -> Any:
    return json.loads(must(*arguments, "--json"))


def throughput(of: Any) -> tuple[str, int]:
    return of["kind"], of["throughput"]


def test_a_database_lives_and_goes(name: str, caller: Caller) -> None:
    assert read("database", "create", name) == {"id": name, "throughput": None}
    again = run_armillary("database", "create", name)
    assert (again.returncode, again.stderr.count(b"\n")) == (5, 1)
    assert b"answered 409" in again.stderr
    assert {"id": name, "throughput": None} in read("database", "list")
    assert any(line.split()[0] == name for line in must("database", "list").splitlines())
    shown = [line.split(maxsplit=1) for line in must("database", "show", name).splitlines()]
    assert shown == [["database", name], ["throughput", "none of its own"], ["containers", "none"]]
    assert must("database", "delete", name, "--yes") == f"deleted {name}\n"
    assert caller.ask("GET", f"/dbs/{name}").status == 404
    assert run_armillary("database", "show", name).returncode == 5


def test_a_container_is_made_as_it_was_described(name: str, live: Live) -> None:
    must("database", "create", name)
    shape = ("--key-path", "/tenant", "--key-path", "/day", "--default-ttl", "3600", "--unique", "/a,/b")
    must("container", "create", f"{name}/events", *shape, "--throughput", "12000")
    with CosmosClient(live.http, live.key) as client:
        container = client.get_database_client(name).get_container_client("events")
        properties = container.read()
        container.create_item({"id": "1", "tenant": "t", "day": 1})
    assert properties["partitionKey"] == {"paths": ["/tenant", "/day"], "kind": "MultiHash", "version": 2}
    assert properties["defaultTtl"] == 3600
    assert properties["uniqueKeyPolicy"]["uniqueKeys"] == [{"paths": ["/a", "/b"]}]
    shown = read("container", "show", f"{name}/events")
    assert (shown["database"], shown["id"], shown["items"], shown["defaultTtl"]) == (name, "events", 1, 3600)
    assert throughput(shown["throughput"]) == ("manual", 12_000)
    assert (shown["partitions"], shown["uniqueKeys"]) == (["0", "1"], [["/a", "/b"]])
    assert [row["id"] for row in read("container", "list", name)] == ["events"]
    assert must("container", "list", name).splitlines()[1].split()[:3] == ["events", "/tenant,", "/day"]
    assert must("container", "show", f"{name}/events").splitlines()[1].split() == [
        "key",
        "/tenant,",
        "/day",
        "(hierarchical)",
    ]
    must("container", "delete", f"{name}/events", "--yes")
    assert read("container", "list", name) == []


def test_fixed_containers_need_no_key(name: str, caller: Caller) -> None:
    must("database", "create", name)
    shown = read("container", "create", f"{name}/old", "--fixed", "--throughput", "1000")
    assert shown["partitionKey"]["systemKey"] is True
    assert must("container", "list", name).splitlines()[1].split()[1:3] == ["none", "(fixed)"]
    key = {"x-ms-documentdb-partitionkey": "[]"}
    caller.must("POST", f"/dbs/{name}/colls/old/docs", {"id": "1"}, key)


def test_throughput_is_scaled_and_changes_its_kind(name: str) -> None:
    must("database", "create", name)
    target = f"{name}/orders"
    must("container", "create", target, "--key-path", "/pk")
    steps = [
        (("--throughput", "800"), ("manual", 400), ("manual", 800)),
        (("--autoscale", "4000"), ("manual", 800), ("autoscale", 4000)),
        (("--autoscale", "5000"), ("autoscale", 4000), ("autoscale", 5000)),
        (("--throughput", "600"), ("autoscale", 5000), ("manual", 600)),
    ]
    for asked, before, after in steps:
        answer = read("container", "scale", target, *asked)
        assert (throughput(answer["before"]), throughput(answer["after"])) == (before, after)
        assert answer["after"]["pending"] is False
        assert throughput(read("container", "show", target)["throughput"]) == after
    lines = must("container", "scale", target, "--throughput", "400").splitlines()
    assert [line.split()[:3] for line in lines] == [["before", "manual", "600"], ["after", "manual", "400"]]
    refused = run_armillary("container", "scale", target, "--throughput", "450")
    assert (refused.returncode, b"in increments of 100" in refused.stderr) == (5, True)


def test_shared_throughput_belongs_to_the_database(name: str) -> None:
    assert throughput(read("database", "create", name, "--autoscale", "4000")["throughput"]) == ("autoscale", 4000)
    shown = read("container", "create", f"{name}/orders", "--key-path", "/pk")
    assert (shown["throughput"], throughput(shown["sharedThroughput"])) == (None, ("autoscale", 4000))
    assert "shared with the database: autoscale 400 to 4,000 RU/s" in must("container", "show", f"{name}/orders")
    refused = run_armillary("container", "scale", f"{name}/orders", "--throughput", "500")
    assert (refused.returncode, f"scale {name} with".encode() in refused.stderr) == (2, True)
    answer = read("database", "scale", name, "--throughput", "1000")
    assert (throughput(answer["before"]), throughput(answer["after"])) == (("autoscale", 4000), ("manual", 1000))
    assert read("database", "show", name)["containers"] == ["orders"]


def test_the_other_options_find_the_server_too(name: str, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMILLARY_CONNECTION_STRING", "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5")
    assert run_armillary("database", "list").returncode == 5
    text = f"AccountEndpoint={live.https};AccountKey={live.key};DisableServerCertificateValidation=true"
    must("database", "create", name, "--connection-string", text)
    rows = read("database", "list", "--endpoint", live.http, "--key", live.key)
    assert name in [row["id"] for row in rows]


@pytest.mark.parametrize(("answer", "code", "gone"), [("n", 1, False), ("y", 0, True)])
def test_deleting_asks_on_a_terminal(name: str, caller: Caller, answer: str, code: int, gone: bool) -> None:
    caller.create(name)
    caller.create(name, "orders")
    here, there = pty.openpty()
    command = [*ARMILLARY, "container", "delete", f"{name}/orders"]
    with subprocess.Popen(command, stdin=there, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.write(here, f"{answer}\n".encode())
        _, asked = process.communicate(timeout=60)
        os.close(here)
        os.close(there)
    assert f"Delete {name}/orders with all its items?" in asked.decode()
    assert process.returncode == code
    assert (caller.ask("GET", f"/dbs/{name}/colls/orders").status == 404) is gone


def test_a_container_is_split_while_it_holds_items(name: str, caller: Caller) -> None:
    path = caller.create(name) and caller.create(name, "orders")
    for number in range(60):
        caller.must("POST", f"{path}/docs", {"id": str(number), "pk": number}, key_header(number))
    target = f"{name}/orders"
    plan = read("split", target, "--dry-run")
    assert (plan["range"], plan["items"]) == ("0", 60)
    assert [plan["children"][0]["max"], plan["children"][1]["min"]] == [plan["at"], plan["at"]]
    assert read("container", "show", target)["partitions"] == ["0"]
    split = read("split", target, "--wait")
    assert split["state"] == "done"
    assert read("container", "show", target)["partitions"] == ["1", "2"]
    late = run_armillary("split", target, "--cancel", split["split"])
    assert (late.returncode, late.stderr.count(b"\n")) == (5, 1)
    vague = run_armillary("split", target)
    assert (vague.returncode, b"name one of 1, 2" in vague.stderr) == (5, True)
    begun = must("split", target, "--range", "1", "--at", "0" + plan["at"][1:])
    assert begun.startswith("split ")
    assert begun.endswith(f" of {target}, range 1 at 0{plan['at'][1:]}, is under way\n")
