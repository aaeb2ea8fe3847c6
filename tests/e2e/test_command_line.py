"""The command as a user has it: processes, pipes, signals, exit codes."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.e2e.live import ARMILLARY
from tests.e2e.live import run_armillary as run

from armillary.cli.child import Server, start_server
from armillary.cli.client import Account, Client
from armillary.clock import Clock
from armillary.database import Database
from armillary.kv.engine import Applied, Changes, View
from armillary.kv.lmdb import LmdbEngine
from armillary.store.layout import ITEM

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def plain_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ARMILLARY_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[Server]:
    with start_server(["--memory", "--port", "0", "--log-level", "error"]) as running:
        yield running


def port_of(url: str) -> str:
    return url.rstrip("/").rpartition(":")[2]


def test_one_line_when_ready_and_exit_code_zero_when_told_to_stop() -> None:
    command = [*ARMILLARY, "serve", "--memory", "--port", "0", "--ready-json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        with urlopen(ready["http"] + "_armillary/health", timeout=10) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=30)
    assert list(ready) == ["ready", "endpoint", "http", "key", "pid"]
    assert ready["ready"] is True
    assert ready["pid"] == process.pid
    assert ready["endpoint"] == ready["http"].replace("http:", "https:")
    assert (rest, process.returncode) == (b"", 0)


def test_the_first_lines_are_for_people_and_the_program_in_them_runs() -> None:
    command = [*ARMILLARY, "serve", "--data", "store", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().rstrip("\n") for _ in range(12)]
        program = subprocess.run(
            [sys.executable, "-c", "\n".join(lines[5:10])], capture_output=True, timeout=60, check=False
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert [line.split()[0] for line in lines[:4]] == ["endpoint", "key", "data", "connection"]
    assert lines[2].split()[1] == str(Path("store").resolve())
    assert lines[3].split()[1].startswith("AccountEndpoint=https://127.0.0.1:")
    assert program.returncode == 0, program.stderr
    assert b"'total': 42.5" in program.stdout


def test_a_server_says_in_its_folder_where_it_is_and_takes_that_back() -> None:
    with start_server(["--data", "store", "--port", "0"]) as server:
        note = Path("store/server.json")
        assert json.loads(note.read_text())["http"] == server.http
        assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert not note.exists()


def test_a_busy_port_is_one_line_with_the_way_out(server: Server) -> None:
    result = run("serve", "--memory", "--port", port_of(server.http))
    assert result.returncode == 4
    assert b"another program listens there; stop it, or choose another port" in result.stderr
    assert (result.stdout, result.stderr.count(b"\n")) == (b"", 1)


def test_a_folder_that_cannot_be_used_is_one_line_with_the_way_out() -> None:
    Path("file").touch()
    result = run("serve", "--data", "file/store", "--port", "0")
    assert result.returncode == 3
    assert (
        b"the data folder file/store cannot be used: a file is in its place; choose another with --data"
        in result.stderr
    )
    assert result.stderr.count(b"\n") == 1


def test_a_second_server_on_a_folder_is_refused() -> None:
    with start_server(["--data", "store", "--port", "0"]):
        result = run("serve", "--data", "store", "--port", "0")
        assert result.returncode == 3
        assert b"The data folder store is in use by another server" in result.stderr
        assert b"stop it, or choose another folder with --data" in result.stderr
        assert Path("store/server.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--", sys.executable, "-c", "raise SystemExit(7)"], 7),
        (["--", sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], 137),
        (["--", "no-such-command-at-all"], 127),
        (["--", "/"], 126),
        (["--disk", "--", sys.executable, "-c", "pass"], 0),
        (["--port", "99999", "--", sys.executable, "-c", "pass"], 2),
    ],
)
def test_run_ends_with_the_code_of_its_command(arguments: list[str], code: int) -> None:
    assert run("run", *arguments).returncode == code


def test_run_tells_the_command_where_the_server_is() -> None:
    program = (
        "import os, urllib.request as u; e = os.environ; "
        "u.urlopen(e['ARMILLARY_HTTP_ENDPOINT'] + '_armillary/health').close(); "
        "print(e['ARMILLARY_ENDPOINT'], e['ARMILLARY_CONNECTION_STRING'] == "
        "'AccountEndpoint=' + e['ARMILLARY_ENDPOINT'] + ';AccountKey=' + e['ARMILLARY_KEY'] + ';')"
    )
    result = run("run", "--", sys.executable, "-c", program)
    assert result.returncode == 0, result.stderr
    endpoint, same = result.stdout.split()
    assert (endpoint.startswith(b"https://127.0.0.1:"), same) == (True, b"True")


def test_run_passes_signals_on_and_stops_the_server() -> None:
    program = (
        "import os, signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); "
        "print(os.environ['ARMILLARY_HTTP_ENDPOINT'], flush=True); signal.pause()"
    )
    command = [*ARMILLARY, "run", "--", sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(port_of(process.stdout.readline().decode().strip()))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 9
    with pytest.raises(ConnectionRefusedError):
        HTTPConnection("127.0.0.1", port, timeout=5).connect()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent was killed")
def test_a_server_ends_with_a_parent_that_is_killed() -> None:
    program = (
        "import signal; from armillary.cli.child import start_server\n"
        "with start_server(['--memory', '--port', '0']) as server: print(server.http, flush=True); signal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        port = int(port_of(parent.stdout.readline().decode().strip()))
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(b"GET /_armillary/health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"
            parent.kill()
            while connection.recv(4096):
                pass  # the rest of the answer; then the server closes, as it stops


def load(server: Server, *arguments: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    place = ["-d", "shop", "-c", "orders", "--endpoint", server.http]
    return run("load", *arguments, *place, given=given)


def dump(server: Server, *arguments: str) -> bytes:
    result = run("dump", "-d", "shop", "-c", "orders", "--endpoint", server.http, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def items_of(text: bytes) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [json.loads(line) for line in text.splitlines()]
    return sorted(rows, key=lambda item: str(item["id"]))


def test_what_is_loaded_is_dumped(server: Server) -> None:
    items = [{"id": f"{number:04}", "who": f"wé{number % 7}", "n": number / 4} for number in range(500)]
    text = b"".join(json.dumps(item).encode() + b"\n" for item in items)
    result = load(server, "-", "--partition-key", "/who", given=text)
    assert result.returncode == 0, result.stderr
    assert result.stderr.startswith(b"500 items in ")
    assert b" RU" in result.stderr
    assert items_of(dump(server)) == items
    assert sorted(json.loads(dump(server, "--array")), key=lambda item: str(item["id"])) == items
    assert {"_rid", "_ts", "_etag"} < json.loads(dump(server, "--system").splitlines()[0]).keys()


def test_an_array_is_loaded_and_nothing_is_dumped_as_an_empty_one(server: Server) -> None:
    assert load(server, "-", "--partition-key", "/a,/b", given=b" [ ] ").returncode == 0
    assert json.loads(dump(server, "--array")) == []
    assert load(server, "-", given=b'[{"id":"1","a":1,"b":null},\n {"id":"2","a":true}]').returncode == 0
    assert items_of(dump(server)) == [{"id": "1", "a": 1, "b": None}, {"id": "2", "a": True}]


def test_a_file_given_as_standard_input_is_loaded(server: Server) -> None:
    Path("items.jsonl").write_bytes(b'{"id":"1","who":"a"}\n')
    place = ["-d", "shop", "-c", "orders", "--endpoint", server.http, "--partition-key", "/who"]
    with open("items.jsonl", "rb") as file:
        subprocess.run([*ARMILLARY, "load", "-", *place], stdin=file, timeout=60, check=True)
    assert items_of(dump(server)) == [{"id": "1", "who": "a"}]


def test_bad_records_are_told_by_number_and_the_rest_is_loaded(server: Server) -> None:
    text = b'{"id":"1","who":"a"}\n{"id":\n\n[1]\n{"who":"a"}\n{"id":"2","who":"b"}\n'
    result = load(server, "-", "--partition-key", "/who", given=text)
    assert result.returncode == 1
    lines = result.stderr.decode().splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["line 2", "line 4", "line 5"]
    assert lines[-1] == "armillary: 3 records were not loaded"
    assert [item["id"] for item in items_of(dump(server))] == ["1", "2"]


def test_items_that_are_there_already_are_replaced_kept_or_refused(server: Server) -> None:
    assert load(server, "-", "--partition-key", "/who", given=b'{"id":"1","who":"a","n":1}').returncode == 0
    assert load(server, "-", "--existing", "keep", given=b'{"id":"1","who":"a","n":2}').returncode == 0
    assert items_of(dump(server))[0]["n"] == 1
    refused = load(server, "-", "--existing", "refuse", given=b'{"id":"1","who":"a","n":3}')
    assert (refused.returncode, refused.stderr.startswith(b"line 1: 409 ")) == (1, True)
    assert load(server, "-", given=b'{"id":"1","who":"a","n":4}').returncode == 0
    assert items_of(dump(server))[0]["n"] == 4


def test_a_load_goes_on_from_its_checkpoint(server: Server) -> None:
    Path("items.jsonl").write_bytes(b"".join(b'{"id":"%d","who":"a"}\n' % number for number in range(10)))
    assert load(server, "-", "--partition-key", "/who").returncode == 0
    task = {"load": "items.jsonl", "into": server.http.rstrip("/") + "/dbs/shop/colls/orders"}
    Path("done").write_text(json.dumps({"task": task, "state": {"number": 7}}))
    result = load(server, "items.jsonl", "--checkpoint", "done")
    assert result.returncode == 0, result.stderr
    assert [item["id"] for item in items_of(dump(server))] == ["7", "8", "9"]
    assert not Path("done").exists()


def test_a_load_that_stops_keeps_its_checkpoint(server: Server) -> None:
    assert load(server, "-", "--partition-key", "/who").returncode == 0
    command = [*ARMILLARY, "load", "-", "-d", "shop", "-c", "orders", "--endpoint", server.http, "--checkpoint", "done"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        for number in range(300):
            process.stdin.write(b'{"id":"%d","who":"a"}\n' % number)
        process.stdin.flush()
        wait_for_items(server, 300)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert 0 < json.loads(Path("done").read_text())["state"]["number"] <= 300


def wait_for_items(server: Server, count: int) -> None:
    for _ in range(100):
        if len(dump(server).splitlines()) == count:
            return
    pytest.fail("the items did not come")


def test_a_dump_goes_on_from_its_checkpoint(server: Server) -> None:
    items = b"".join(b'{"id":"%04d","who":"a"}\n' % number for number in range(2500))
    assert load(server, "-", "--partition-key", "/who", given=items).returncode == 0
    whole = dump(server)
    first, position = read_page(server)
    done = whole[: whole.index(b"\n", whole.index(b'"%s"' % first.encode())) + 1]
    place = server.http.rstrip("/") + "/dbs/shop/colls/orders"
    task = {"dump": place, "into": "items.jsonl", "form": "False False"}
    state = {"size": len(done), "count": done.count(b"\n"), "positions": {"0": position}}
    Path("items.jsonl").write_bytes(done + b'{"id":"torn')
    Path("done").write_text(json.dumps({"task": task, "state": state}))
    dump(server, "-o", "items.jsonl", "--checkpoint", "done")
    assert 0 < len(done) < len(whole)
    assert Path("items.jsonl").read_bytes() == whole
    assert not Path("done").exists()


def read_page(server: Server) -> tuple[str, str]:
    """The last id of the first page of the container, and where the next page begins."""
    client = Client(Account(server.http, server.key))
    answer = client.must_send("GET", "/dbs/shop/colls/orders/docs", {"x-ms-documentdb-partitionkeyrangeid": "0"})
    client.close()
    return json.loads(answer.body)["Documents"][-1]["id"], answer.headers["x-ms-continuation"]


def test_commands_say_what_is_wrong_with_the_server(server: Server) -> None:
    missing = run("dump", "-d", "shop", "-c", "none", "--endpoint", server.http)
    assert (missing.returncode, b"answered 404" in missing.stderr) == (5, True)
    stranger = run("dump", "-d", "shop", "-c", "none", "--endpoint", server.http, "--key", "a2V5")
    assert (stranger.returncode, b"answered 401" in stranger.stderr) == (5, True)
    distrusted = run("dump", "-d", "shop", "-c", "none", "--endpoint", server.endpoint)
    assert (distrusted.returncode, b"use the http endpoint, --trust FILE, or --no-verify" in distrusted.stderr) == (
        5,
        True,
    )


def test_the_certificate_can_be_trusted() -> None:
    assert run("cert", "--data", "store", "--pem", "a.pem").returncode == 0
    with start_server(["--data", "store", "--port", "0"]) as server:
        place = ["-d", "shop", "-c", "orders", "--endpoint", server.endpoint, "--trust", "a.pem"]
        assert run("load", "-", *place, "--partition-key", "/who", given=b'{"id":"1"}').returncode == 0
        assert run("dump", *place).stdout == b'{"id":"1"}\n'


def test_check_says_the_same_of_a_folder_in_use_and_of_one_at_rest() -> None:
    with start_server(["--data", "store", "--port", "0"]) as server:
        assert load(server, "-", "--partition-key", "/who", given=b'{"id":"1","who":"a"}').returncode == 0
        in_use = run("check", "--data", "store")
    at_rest = run("check", "--data", "store")
    assert in_use.returncode == 0, in_use.stderr
    assert at_rest.stdout == b"1 containers, 1 partitions, 1 items: nothing is wrong\n"
    assert (in_use.stdout, in_use.returncode) == (at_rest.stdout, at_rest.returncode)


def test_check_finds_damage_in_a_folder_in_use_and_in_one_at_rest() -> None:
    with start_server(["--data", "store", "--port", "0"]) as server:
        assert load(server, "-", "--partition-key", "/who", given=b'{"id":"1","who":"a"}').returncode == 0
    damage_items(Path("store"))
    at_rest = run("check", "--data", "store")
    with start_server(["--data", "store", "--port", "0"]):
        in_use = run("check", "--data", "store")
    assert at_rest.returncode == 1
    assert at_rest.stdout.startswith(b"shop/orders range 0 ")
    assert at_rest.stderr.endswith(b" wrong in store\n")
    assert (in_use.stdout, in_use.stderr, in_use.returncode) == (at_rest.stdout, at_rest.stderr, at_rest.returncode)


def damage_items(folder: Path) -> None:
    """Take an item away and leave everything that belongs to it."""
    engine = LmdbEngine(folder)
    try:
        (container,) = Database(engine, Clock()).every_container()

        def work(view: View) -> Changes:
            ((key, _),) = view.scan(ITEM, ITEM + b"\xff")
            return Changes({key: None}, view.header)

        (outcome,) = engine.write(container.row.ranges[0].partition, [work])
        assert isinstance(outcome, Applied)
    finally:
        engine.close()


def test_check_makes_no_data_folder() -> None:
    assert run("check", "--data", "store").returncode == 3
    assert not Path("store").exists()


def test_the_fixture_gives_tests_a_server() -> None:
    Path("test_orders.py").write_text(
        "from azure.cosmos import CosmosClient, PartitionKey\n\n\n"
        "def test_an_order_is_kept(armillary, armillary_database):\n"
        "    client = CosmosClient(armillary.http, armillary.key)\n"
        "    orders = client.create_database(armillary_database).create_container('orders', PartitionKey('/who'))\n"
        "    orders.create_item({'id': '1', 'who': 'ada'})\n"
        "    assert orders.read_item('1', partition_key='ada')['who'] == 'ada'\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_orders.py"]
    alone = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert alone.returncode == 0, alone.stdout
    assert run("run", "--", *command).returncode == 0
