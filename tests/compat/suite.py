"""The official Python client's own tests: where they come from, which of their files are run, and what they need here.

Its source distribution carries them. It is fetched once, by name, and kept outside the tracked tree. What it leaves out
is made beside it: pytest's settings, and a stand-in for the package its tests take credentials from.
"""

import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = ROOT / ".cache" / "compat"
NAME: Final = "azure-cosmos"
VERSION: Final = "4.17.1"
SPLIT_MARK: Final = "cosmosSplit"

# Each file runs with its asynchronous twin, where it has one.
TOPICS: Final = {
    "items, containers and databases": (
        "test_crud",
        "test_crud_container",
        "test_crud_database",
        "test_crud_response_payload_on_write_disabled",
    ),
    "partition keys": ("test_partition_key",),
    "hierarchical keys": ("test_crud_subpartition",),
    "sessions": ("test_session",),
    "throughput": ("test_auto_scale",),
    "change feed": ("test_change_feed", "test_change_feed_all_versions", "test_changefeed_partition_key_variation"),
}
# Beside them, from all other files, the tests that split partitions.
SPLITS: Final = "splits"

_STAND_IN: Final = {
    "__init__.py": "",
    "helpers.py": "def is_live() -> bool:\n    return False\n",
    "azure_recorded_testcase.py": (
        "def get_credential(**_: object) -> object:\n    raise RuntimeError('there is no tenant here')\n"
    ),
}
# Asynchronous fixtures of a class make clients that its tests use: both run in one loop.
_SETTINGS: Final = """\
[pytest]
asyncio_default_fixture_loop_scope = class
asyncio_default_test_loop_scope = class
timeout = 300
markers =
"""


class SuiteError(Exception):
    """The suite cannot be had or run here; the text says why."""


def fetch_suite() -> Path:
    """The folder of the source distribution, ready to run."""
    folder = CACHE / f"{NAME.replace('-', '_')}-{VERSION}"
    if not (folder / "PKG-INFO").is_file():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tarfile.open(_download()) as archive:
            archive.extractall(CACHE, filter="data")
    _prepare(folder)
    return folder


def _download() -> Path:
    archive = CACHE / f"{NAME.replace('-', '_')}-{VERSION}.tar.gz"
    if not archive.is_file():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--no-binary", ":all:", "--dest", str(CACHE), f"{NAME}=={VERSION}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not archive.is_file():
            raise SuiteError(f"{NAME} {VERSION} could not be fetched: {done.stderr.strip()[-500:]}")
    return archive


def _prepare(folder: Path) -> None:
    stand_in = stand_in_folder(folder) / "devtools_testutils"
    stand_in.mkdir(parents=True, exist_ok=True)
    for name, text in _STAND_IN.items():
        (stand_in / name).write_text(text)
    texts = [path.read_text(encoding="utf-8") for path in (folder / "tests").glob("*.py")]
    marks = sorted({mark for text in texts for mark in re.findall(r"pytest\.mark\.(\w+)", text)})
    (folder / "tests" / "pytest.ini").write_text(_SETTINGS + "".join(f"    {mark}\n" for mark in marks))


def stand_in_folder(folder: Path) -> Path:
    return folder.with_name("stand-in")


def list_files(folder: Path) -> dict[str, list[str]]:
    """The files to run, by topic, each once."""
    found = {topic: [twin for name in names for twin in _twins(folder, name)] for topic, names in TOPICS.items()}
    known = {name for names in found.values() for name in names}
    marked = sorted(path.name for path in _list_marked(folder))
    return {**found, SPLITS: [name for name in marked if name not in known]}


def _twins(folder: Path, name: str) -> list[str]:
    return [file for file in (f"{name}.py", f"{name}_async.py") if (folder / "tests" / file).is_file()]


def _list_marked(folder: Path) -> list[Path]:
    return [
        path
        for path in (folder / "tests").glob("test_*.py")
        if f"pytest.mark.{SPLIT_MARK}" in path.read_text(encoding="utf-8")
    ]
