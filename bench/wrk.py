"""One block: wrk drives one server for some seconds, and its processor time is read around it."""

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench import family
from bench.peers import Server

SCRIPT: Final = Path(__file__).with_name("load.lua")


class Load(NamedTuple):
    """What is asked: the files of the script, the number of the first create, creates in a hundred requests."""

    reads: Path
    template: Path
    first: int
    share: int


class Result(NamedTuple):
    """What came of it; times in microseconds."""

    rate: float
    processor: float
    p50: int
    p99: int
    bytes: float
    bad: int
    requests: int


def write_records(path: Path, records: Iterable[bytes]) -> Path:
    path.write_bytes(b"".join(b"%d\n%s" % (len(record), record) for record in records))
    return path


def run_block(server: Server, load: Load, connections: int, seconds: float) -> Result:
    before = family.read_processor_seconds(server.pid)
    found = json.loads(_run(server.port, load, connections, seconds).splitlines()[-1])
    used = family.read_processor_seconds(server.pid) - before
    count = max(1, found["requests"])
    return Result(
        rate=count / found["microseconds"] * 1e6,
        processor=used / count * 1e6,
        p50=found["p50"],
        p99=found["p99"],
        bytes=found["bytes"] / count,
        bad=found["refused"] + found["broken"],
        requests=found["requests"],
    )


def _run(port: int, load: Load, connections: int, seconds: float) -> str:
    command: Sequence[str] = (
        "wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "10s", "-s", str(SCRIPT), f"http://127.0.0.1:{port}/",
        "--", str(load.reads), str(load.template), str(load.first), str(load.share),
    )  # fmt: skip
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
