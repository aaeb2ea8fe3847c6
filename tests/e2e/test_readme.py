"""The README word by word: its tour against a live server, its example test under `armillary run`."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from armillary.cli.child import Server

ROOT: Final = Path(__file__).resolve().parents[2]
BLOCKS: Final = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
PROGRAMS: Final = [text for language, text in BLOCKS if language == "python"]
BEFORE_KEYS: Final = """
import os
from azure.cosmos import CosmosClient, PartitionKey
client = CosmosClient(os.environ["ARMILLARY_HTTP_ENDPOINT"], os.environ["ARMILLARY_KEY"])
container = client.create_database(os.environ["DATABASE"]).create_container("cars", PartitionKey("/partitionKey"))
"""
ARMILLARY: Final = str(Path(sys.executable).with_name("armillary"))

pytestmark = pytest.mark.e2e


def test_the_tour(armillary: Server, tmp_path: Path) -> None:
    (tour,) = [text for text in PROGRAMS if "http://127.0.0.1:8081" in text]
    program = tmp_path / "tour.py"
    program.write_text(tour.replace("http://127.0.0.1:8081", armillary.http.rstrip("/")), encoding="utf-8")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    etag, charge, refused, listed = done.stdout.splitlines()
    assert re.fullmatch(r'"[0-9a-f-]{36}" \S+ \d{10}', etag)
    assert float(charge.split()[0]) == 1.0
    assert refused == "412 somebody else was faster"
    assert listed == "['1001']"


def test_the_keys(armillary: Server, armillary_database: str, tmp_path: Path) -> None:
    (keys,) = [text for text in PROGRAMS if "keyed(container" in text]
    program = tmp_path / "keys.py"
    program.write_text(BEFORE_KEYS + keys + "print(len(day), day[0]['partitionKey'])\n", encoding="utf-8")
    told = {**os.environ, **armillary.environment, "DATABASE": armillary_database}
    done = subprocess.run([sys.executable, program], env=told, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 2018-08-09.10\n"


def test_the_example_test(tmp_path: Path) -> None:
    (example,) = [text for text in PROGRAMS if "def test_" in text]
    (tmp_path / "test_orders.py").write_text(example, encoding="utf-8")
    command = [ARMILLARY, "run", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_orders.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_a_failing_test_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_wrong.py").write_text("def test_wrong():\n    assert 1 == 2\n", encoding="utf-8")
    command = [ARMILLARY, "run", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_wrong.py"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60).returncode == 1
