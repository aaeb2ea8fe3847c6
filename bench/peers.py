"""The servers of a run: how each is fetched, started, and known to be ready.

One of the peers listens on every interface and cannot be told otherwise, so the whole run happens in a network
namespace of its own, where only loopback is up: whatever the servers listen on, nobody else can reach it.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
CACHE: Final = ROOT / ".cache" / "bench"
READY_WITHIN: Final = 30.0
INSIDE: Final = "ARMILLARY_BENCH_INSIDE"

COSMIUM: Final = "github.com/pikami/cosmium"
COSMIUM_VERSION: Final = "v0.1.20"
VERCEL: Final = "@vercel/cosmosdb-server"
VERCEL_VERSION: Final = "1.0.1"


class Server(NamedTuple):
    """A server that runs: its name in the tables, its port, the first process of its family."""

    name: str
    port: int
    pid: int


class Peer(NamedTuple):
    """How to start one: `command` takes the port and an empty folder; `fetch` says why it cannot be had, or nothing."""

    name: str
    note: str
    command: Callable[[int, Path], Sequence[str]]
    fetch: Callable[[], str] = str
    home: Path = ROOT


def _fetch_vercel() -> str:
    if not shutil.which("npm"):
        return "Node is not installed"
    if (CACHE / "vercel" / "node_modules").exists():
        return ""
    return _build("vercel", [["npm", "install", "--silent", "--prefix", ".", f"{VERCEL}@{VERCEL_VERSION}"]])


def _fetch_cosmium() -> str:
    if not shutil.which("go"):
        return "Go is not installed"
    if (CACHE / "cosmium" / "server").exists():
        return ""
    folder = CACHE / "cosmium"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text(f"module bench\n\ngo 1.24\n\nrequire {COSMIUM} {COSMIUM_VERSION}\n")
    (folder / "main.go").write_text(f'package bench\n\nimport _ "{COSMIUM}/api"\n')
    return _build("cosmium", [["go", "mod", "tidy"], ["go", "build", "-o", "server", f"{COSMIUM}/cmd/server"]])


def _build(name: str, commands: Sequence[Sequence[str]]) -> str:
    """Run the commands in the peer's folder; the last words of one that fails."""
    folder = CACHE / name
    folder.mkdir(parents=True, exist_ok=True)
    for command in commands:
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if made.returncode:
            return f"`{' '.join(command)}` failed: {made.stderr.strip().splitlines()[-1:]}"
    return ""


def _ours(*options: str) -> Callable[[int, Path], Sequence[str]]:
    def command(port: int, folder: Path) -> Sequence[str]:
        serve = (sys.executable, "-m", "armillary.cli", "serve", "--port", str(port), "--log-level", "warning")
        store = () if "--memory" in options else ("--data", str(folder / "data"))
        return (*serve, "--ready-json", *store, *options)

    return command


def _run_floor(port: int, _folder: Path) -> Sequence[str]:
    return (sys.executable, "-m", "bench.floor", str(port))


def _run_vercel(port: int, _folder: Path) -> Sequence[str]:
    """As its users start it: it closes the connection after every answer."""
    command = CACHE / "vercel" / "node_modules" / VERCEL / "lib" / "cli.js"
    return ("node", str(command), "--port", str(port), "--host", "127.0.0.1", "--no-ssl")


def _run_vercel_kept(port: int, _folder: Path) -> Sequence[str]:
    """With an option of the package that its command does not have: connections are kept."""
    program = f"require({VERCEL!r}).createHttpServer({{keepAlive: true}}).listen({port}, '127.0.0.1')"
    return ("node", "-e", program)


def _run_cosmium(port: int, _folder: Path) -> Sequence[str]:
    return (str(CACHE / "cosmium" / "server"), "-Port", str(port), "-DisableTls", "-LogLevel", "error")


FLOOR: Final = "floor"
OURS: Final = "armillary"
MEMORY: Final = "armillary --memory"
VERCEL_NAME: Final = "vercel"
PEERS: Final = (
    Peer(FLOOR, "uvloop and httptools, answers fixed bytes", _run_floor),
    Peer(OURS, "one worker, every write synced before it is answered", _ours("--workers", "1")),
    Peer(MEMORY, "memory only", _ours("--memory")),
    Peer(
        VERCEL_NAME,
        f"{VERCEL} {VERCEL_VERSION} as its command starts it, memory only, checks no signature",
        _run_vercel,
        _fetch_vercel,
        CACHE / "vercel",
    ),
    Peer(
        f"{VERCEL_NAME}, kept",
        "the same started by a program of ours that makes it keep connections",
        _run_vercel_kept,
        _fetch_vercel,
        CACHE / "vercel",
    ),
    Peer("cosmium", f"{COSMIUM} {COSMIUM_VERSION}, memory only", _run_cosmium, _fetch_cosmium),
)
USUAL: Final = Peer("armillary, as it starts", "as many workers as cores, at most four", _ours())


def ours_with(workers: int) -> Peer:
    """Our server with so many workers."""
    return Peer(name_workers(workers), "", _ours("--workers", str(workers)))


def name_workers(workers: int) -> str:
    return f"{OURS}, {workers} worker{'s' if workers > 1 else ''}"


def enter_namespace() -> None:
    """Start this program again where only loopback exists; returns when it is there already."""
    if os.environ.get(INSIDE):
        return
    script = 'ip link set lo up && exec "$@"'
    command = ["unshare", "--net", "--map-root-user", "sh", "-c", script, "sh", sys.executable, *sys.orig_argv[1:]]
    os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})


@contextmanager
def start(peer: Peer, folder: Path) -> Iterator[Server]:
    """One server in a folder of its own, as long as the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(peer.command(port, folder), stdout=log, stderr=log, cwd=peer.home)
        try:
            _await_port(process, port, peer.name)
            yield Server(peer.name, port, process.pid)
        finally:
            process.terminate()
            try:
                process.wait(timeout=READY_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _await_port(process: "subprocess.Popen[bytes]", port: int, name: str) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended with exit code {process.returncode} before it was ready")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError(f"{name} was not ready in {READY_WITHIN:g} s")


def measure_ready(folder: Path, times: int = 5) -> list[float]:
    """Seconds from the start of our server to its line that says ready."""
    seconds = []
    for turn in range(times):
        command = [*_ours()(0, folder / str(turn))]
        begun = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            seconds.append(time.perf_counter() - begun)
            process.terminate()
        if not json.loads(line)["ready"]:
            raise RuntimeError("armillary did not say that it is ready")
    return sorted(seconds)
