"""What `pip install .` gives: a wheel with everything the command needs, in an environment that has nothing else."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]


def test_an_empty_environment(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python, armillary = (str(tmp_path / "env" / "bin" / name) for name in ("python", "armillary"))
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, str(ROOT), "pytest", "azure-cosmos"], check=True)
    (tmp_path / "test_it.py").write_text(
        "import os\n"
        "from azure.cosmos import CosmosClient, PartitionKey\n\n"
        "def test_it(armillary, armillary_database):\n"
        "    assert armillary.http == os.environ['ARMILLARY_HTTP_ENDPOINT']\n"
        "    database = CosmosClient(armillary.http, armillary.key).create_database(armillary_database)\n"
        "    things = database.create_container('things', PartitionKey('/kind'))\n"
        "    things.create_item({'id': '1', 'kind': 'a'})\n"
        "    assert things.read_item('1', 'a')['id'] == '1'\n",
        encoding="utf-8",
    )
    command = [armillary, "run", "--", python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
