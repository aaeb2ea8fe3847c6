"""Runs the official Python client's own tests against a live server of ours: `python -m tests.compat.python_suite`.

Without arguments all files of `suite.TOPICS` run and the result page is written; with names of files only these run,
and what failed is printed. The tests take a server for an emulator only at https://localhost:8081/, so this port must
be free. Ends with 1 when a test failed for a reason that is not in `reasons.NEEDS`, with 2 when nothing could be run.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.compat.distance import HOSTS, put_at_distance
from tests.compat.page import draw_page, find_unexplained
from tests.compat.reasons import find_reason
from tests.compat.suite import ROOT, SPLIT_MARK, SPLITS, SuiteError, fetch_suite, list_files, stand_in_folder
from tests.compat.witness import Ending
from tests.e2e.live import run_live

from armillary.cli.child import Server

PORT: Final = 8081
PAGE: Final = ROOT / "docs" / "support" / "nosql-python-suite.md"
DISTANCE: Final = 0.003
FILE_LIMIT: Final = 3600
_COLLECTED_NONE: Final = 5
_TESTS_FAILED: Final = 1


def main(names: Sequence[str]) -> int:
    try:
        return run_suite(names)
    except SuiteError as error:
        print(error, file=sys.stderr)
        return 2


def run_suite(names: Sequence[str]) -> int:
    folder = fetch_suite()
    topics = list_files(folder)
    unknown = set(names) - {name for files in topics.values() for name in files}
    if unknown:
        raise SuiteError(f"no file of the suite that is run here: {', '.join(sorted(unknown))}")
    must_be_free(PORT)
    results: dict[str, dict[str, list[Ending]]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="armillary-suite-") as data,
        run_live(Path(data) / "data") as live,
        put_at_distance(PORT, urlsplit(live.https).port or 0, DISTANCE),
    ):
        for topic, files in topics.items():
            chosen = [name for name in files if not names or name in names]
            results[topic] = {name: run_file(folder, topic, name, live.server) for name in chosen}
    if not names:
        PAGE.write_text(draw_page(results), encoding="utf-8")
    unexplained = find_unexplained(results)
    for ending in unexplained:
        print(f"unexplained: {ending.test}\n    {ending.message}\n    refused: {'; '.join(ending.refused[-3:])}")
    return 1 if unexplained else 0


def must_be_free(port: int) -> None:
    """Refuse to run against whatever listens there already."""
    for address in HOSTS:
        with suppress(OSError), socket.create_connection((address, port), timeout=1):
            raise SuiteError(
                f"something listens on port {port} of this machine. The client's tests run against "
                f"https://localhost:{port}/ and no other address: stop it, then run this again."
            )


def run_file(folder: Path, topic: str, name: str, server: Server) -> list[Ending]:
    """The tests of one file, in a process of their own."""
    seen = folder.parent / "results" / f"{name}.jsonl"
    seen.parent.mkdir(exist_ok=True)
    seen.unlink(missing_ok=True)
    command = [sys.executable, "-P", "-m", "pytest", "-q", "--no-header", "--tb=short", "-p", "tests.compat.witness"]
    command += ["-p", "no:cacheprovider", "--witness", str(seen), name]
    command += ["-m", SPLIT_MARK] if topic == SPLITS else []
    done = subprocess.run(
        command, cwd=folder / "tests", env=_environment(folder, server), capture_output=True, text=True,
        timeout=FILE_LIMIT, check=False,
    )  # fmt: skip
    seen.with_suffix(".txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode not in (0, _TESTS_FAILED, _COLLECTED_NONE):
        raise SuiteError(f"{name} did not run to its end:\n{(done.stdout + done.stderr)[-3000:]}")
    lines = seen.read_text(encoding="utf-8").splitlines() if seen.exists() else []
    endings = [Ending(**json.loads(line)) for line in lines]
    failed = [ending for ending in endings if ending.outcome == "failed"]
    unexplained = sum(not find_reason(ending) for ending in failed)
    print(f"{name}: {len(endings)} tests, {len(failed)} failed, {unexplained} of them unexplained", flush=True)
    return endings


def _environment(folder: Path, server: Server) -> dict[str, str]:
    """What the suite reads; the client is the one that came with its tests."""
    return {
        **os.environ,
        "ACCOUNT_HOST": f"https://localhost:{PORT}/",
        "ACCOUNT_KEY": server.key,
        "COSMOS_TEST_DATA_AUTH_MODE": "key",
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, stand_in_folder(folder), folder))),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
