"""One throw-away Cassandra node on loopback, from Maven artefacts only, for tests and benchmarks.

    python tests/cassandra_node/node.py fetch          the class path and an archive of classes into .cassandra/, once
    python tests/cassandra_node/node.py start FOLDER   a node that keeps everything under FOLDER; prints its address
    python tests/cassandra_node/node.py stop FOLDER    end it, by its process id

`.cassandra/` at the root of the project is only a cache, shared by every session on the machine behind a lock. Data,
settings, log and ports belong to one node each, so sessions do not meet. Made for tests: a small heap and a compiler
that starts quickly, not one that runs fast. Real readiness is an answered query, never an open port.
"""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final
from xml.etree import ElementTree

HERE: Final = Path(__file__).resolve().parent
CACHE: Final = HERE.parents[1] / ".cassandra"
LIBRARY: Final = CACHE / "lib"
ARCHIVE: Final = CACHE / "classes.jsa"
PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
FOREIGN: Final = ("osx", "windows", "riscv", "aarch_64")
ADDRESS: Final = "127.0.0.1"
START_LIMIT: Final = 120.0
STOP_LIMIT: Final = 30.0


class NodeError(Exception):
    """The node cannot be fetched or does not start; the text says what the operator sees."""


@dataclass(frozen=True, slots=True)
class Node:
    """A running node: where it answers, where it lives, and the process that is it."""

    folder: Path
    port: int
    process: int
    child: "subprocess.Popen[bytes] | None" = None


def find_missing() -> str | None:
    """Why no node can run on this machine, in plain words; None when one can."""
    missing = [program for program in ("java", "mvn") if shutil.which(program) is None]
    if missing and not (missing == ["mvn"] and is_fetched()):
        return f"the Cassandra node needs {' and '.join(missing)}, which this machine does not have"
    return None


def is_fetched() -> bool:
    return (LIBRARY / f"cassandra-all-{read_version()}.jar").exists()


def read_version() -> str:
    found = ElementTree.parse(HERE / "pom.xml").find(".//{*}cassandra.version")
    if found is None or found.text is None:
        raise NodeError("pom.xml names no cassandra.version")
    return found.text


def fetch() -> None:
    """Fill the cache, if it is not filled. Whoever comes meanwhile waits for the lock."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_fetched():
            fetch_library()
        if not ARCHIVE.exists():
            make_archive()


def fetch_library() -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        partial = Path(scratch, "lib")
        command = ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), PLUGIN, "-DincludeScope=runtime"]
        done = subprocess.run(
            [*command, f"-DoutputDirectory={partial}"], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode:
            raise NodeError("Maven could not fetch Cassandra:\n" + done.stdout.decode(errors="replace")[-3000:])
        for jar in partial.glob("netty-*"):
            if any(word in jar.name for word in FOREIGN):
                jar.unlink()
        shutil.rmtree(LIBRARY, ignore_errors=True)
        ARCHIVE.unlink(missing_ok=True)
        partial.rename(LIBRARY)


def make_archive() -> None:
    """Run a node once and let the JVM keep what it loaded: later starts take half the time."""
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        written = Path(scratch, "classes.jsa")
        stop(start(Path(scratch, "node"), archive=f"-XX:ArchiveClassesAtExit={written}"))
        if written.exists():
            written.rename(ARCHIVE)


def find_ports(count: int) -> list[int]:
    """Ports that were free a moment ago: all are held open before any is given back, so they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for held in sockets:
            held.bind((ADDRESS, 0))
        return [held.getsockname()[1] for held in sockets]
    finally:
        for held in sockets:
            held.close()


def write_settings(folder: Path, native: int, storage: int, settings: Mapping[str, str]) -> None:
    places = {
        "commitlog_directory": "commitlog",
        "saved_caches_directory": "caches",
        "hints_directory": "hints",
        "cdc_raw_directory": "cdc",
    }
    lines = [f"{name}: {folder / place}" for name, place in places.items()]
    lines += [f"data_file_directories: [{folder / 'data'}]"]
    lines += [f"native_transport_port: {native}", f"storage_port: {storage}"]
    seeds = f"parameters: [{{seeds: '{ADDRESS}:{storage}'}}]"
    lines += [f"seed_provider: [{{class_name: org.apache.cassandra.locator.SimpleSeedProvider, {seeds}}}]"]
    lines += [f"{name}: {value}" for name, value in settings.items()]
    common = [line for line in (HERE / "node.yaml").read_text().splitlines() if line.split(":")[0] not in settings]
    (folder / "cassandra.yaml").write_text("\n".join([*common, *lines, ""]))


def build_command(folder: Path, archive: str) -> list[str]:
    options = [line for line in (HERE / "jvm.options").read_text().splitlines() if line and not line.startswith("#")]
    # The order of the jars is part of what the archive is checked against.
    jars = os.pathsep.join(str(jar) for jar in sorted(LIBRARY.glob("*.jar")))
    own = [
        archive,
        f"-Dcassandra.config=file://{folder}/cassandra.yaml",
        f"-Dcassandra.storagedir={folder}",
        f"-Dlogback.configurationFile={HERE / 'logback.xml'}",
    ]
    return ["java", *options, *own, "-cp", jars, "org.apache.cassandra.service.CassandraDaemon"]


def start(
    folder: Path, *, archive: str = "", settings: Mapping[str, str] = MappingProxyType({}), bound: bool = False
) -> Node:
    """Start a node and wait until it answers a query. `settings` go over those of `node.yaml`.

    A node that is bound ends with this process, however that ends, where the system can do this.
    """
    text = ""
    for _ in range(3):  # a port can be taken between looking and listening
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        native, storage = find_ports(2)
        write_settings(folder, native, storage, settings)
        command = build_command(folder, archive or f"-XX:SharedArchiveFile={ARCHIVE}")
        if bound and shutil.which("setpriv"):
            command = ["setpriv", "--pdeathsig", "KILL", "--", *command]
        with (folder / "log").open("ab") as log:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, start_new_session=True
            )
        (folder / "address").write_text(f"{child.pid} {native}\n")
        if await_answer(child, native):
            return Node(folder, native, child.pid, child)
        text = (folder / "log").read_text(errors="replace")
        if "in use" not in text:
            break
    raise NodeError(f"the Cassandra node did not start; the end of its log:\n{text[-3000:]}")


def await_answer(child: "subprocess.Popen[bytes]", port: int) -> bool:
    """Whether the node answers; one that ended, or takes too long, is no more."""
    limit = time.monotonic() + START_LIMIT
    while child.poll() is None and time.monotonic() < limit:
        if answers(port):
            return True
        time.sleep(0.05)
    child.kill()
    child.wait()
    return False


def answers(port: int) -> bool:
    """Whether a query over bare CQL (version 4 of the protocol) is answered with rows."""
    query = b"SELECT release_version FROM system.local"
    try:
        with socket.create_connection((ADDRESS, port), 2) as talk:
            talk.settimeout(5)
            ready = ask(talk, 1, b"\0\1\0\x0bCQL_VERSION\0\x053.0.0")
            return ready == 2 and ask(talk, 7, len(query).to_bytes(4, "big") + query + b"\0\1\0") == 8
    except OSError:
        return False


def ask(talk: socket.socket, code: int, body: bytes) -> int:
    """Send one frame; the code of the answer (2 ready, 8 rows)."""
    talk.sendall(bytes((4, 0, 0, 0, code)) + len(body).to_bytes(4, "big") + body)
    head = talk.recv(9, socket.MSG_WAITALL)
    if len(head) < 9:
        return 0
    talk.recv(int.from_bytes(head[5:], "big"), socket.MSG_WAITALL)
    return head[4]


def stop(node: Node, *, at_once: bool = False) -> None:
    """End the process: it is asked to, unless nothing of it is needed any more."""
    for sign in (signal.SIGKILL,) if at_once else (signal.SIGTERM, signal.SIGKILL):
        limit = time.monotonic() + STOP_LIMIT
        with suppress(ProcessLookupError):
            os.kill(node.process, sign)
        while is_alive(node):
            if time.monotonic() > limit:
                break
            time.sleep(0.02)
        else:
            return


def is_alive(node: Node) -> bool:
    if node.child is not None:
        return node.child.poll() is None
    try:
        os.kill(node.process, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def run_node(settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Node]:
    """A node with a temporary folder, for as long as the block lasts."""
    fetch()
    with tempfile.TemporaryDirectory(prefix="armillary-cassandra-", ignore_cleanup_errors=True) as scratch:
        node = start(Path(scratch, "node"), settings=settings, bound=True)
        try:
            yield node
        finally:
            stop(node, at_once=True)


def main(verb: str, folder: str = "") -> None:
    fetch()
    if verb == "start":
        node = start(Path(folder).resolve())
        print(f"{ADDRESS}:{node.port} process {node.process}")
    elif verb == "stop":
        process, port = Path(folder, "address").read_text().split()
        stop(Node(Path(folder), int(port), int(process)))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except NodeError as failure:
        sys.exit(str(failure))
