"""Imports point down, drivers have one importer, and nothing is imported late without a reason."""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest
from tests.law.contracts import find_broken
from tests.law.source import PACKAGE, find_imports, read_product, read_sources, strip_prose

# Every package that is not ours: where it may be imported, and whether that is one single module.
DRIVERS: Final = {
    "azure": ("clients.cosmos", True),
    "cassandra": ("kv", True),
    "click": ("cli", False),
    "cryptography": ("server", True),
    "httptools": ("wire.http", True),
    "lmdb": ("kv.lmdb", True),
    "mmh3": ("keys", True),
    "orjson": ("json", True),
    "pytest": ("cli.fixture", True),
    "re2": ("query", True),
    "rich": ("cli", False),
    "uvloop": ("server", True),
}

# The folder that knows nothing of the product.
NAIVE: Final = "tests.naive"

# Imports inside a function: importer, what it imports, and why not at the top.
LATE: Final = {
    ("armillary", "importlib"): "importlib.metadata costs more than the whole command line; few ask for the version",
    ("cli.heatmap", "cli.heat_blocks"): "it loads rich, and JSON and HTML draw no blocks",
    ("cli.heatmap", "rich"): "20 ms, and only a terminal sees it",
    ("clients.cosmos", "azure"): "whoever has a container has it; nobody else needs it",
    ("cli.meter", "rich"): "20 ms, and only a terminal sees it",
    ("cli.partitions", "cli.partition_table"): "it loads rich, and JSON draws no table",
    ("cli.partitions", "rich"): "20 ms, and only a terminal sees it",
    ("server.certificate", "cryptography"): "40 ms, needed once in the life of a data folder",
    ("server.start", "kv.lmdb"): "an optional engine: a server in memory never loads it",
    ("server.start", "resource"): "not there on Windows",
}


def test_every_contract_is_kept() -> None:
    modules = frozenset(source.module.removeprefix(f"{PACKAGE}.") for source in read_product())
    broken = find_broken(PACKAGE, modules)
    assert not broken, "\n".join(f"{name}: {found}" for name, found in broken.items())


def test_every_folder_is_a_package() -> None:
    bare = {source.path.parent for source in read_product() if not (source.path.parent / "__init__.py").exists()}
    assert not bare, f"import-linter does not see into a folder without __init__.py: {sorted(map(str, bare))}"


def test_drivers_have_one_importer() -> None:
    importers: dict[str, set[str]] = defaultdict(set)
    for source in read_product():
        for found in find_imports(source):
            top = found.imported.partition(".")[0]
            if top != PACKAGE and top not in sys.stdlib_module_names:
                importers[top].add(source.module.removeprefix(f"{PACKAGE}."))
    wrong = []
    for driver, modules in sorted(importers.items()):
        home, single = DRIVERS.get(driver, ("nowhere", True))
        outside = {module for module in modules if module != home and not module.startswith((f"{home}.", f"{home}_"))}
        if outside or (single and len(modules) > 1):
            wrong.append(f"{driver} belongs to {home}{' alone' if single else ''}, not to {sorted(modules)}")
    assert not wrong, "\n".join(wrong)


def test_late_imports_are_listed() -> None:
    late = {
        (found.importer.removeprefix(f"{PACKAGE}."), _shorten(found.imported))
        for source in read_product()
        for found in find_imports(source)
        if found.late
    }
    assert late == set(LATE), f"not listed: {sorted(late - set(LATE))}; gone: {sorted(set(LATE) - late)}"


def _shorten(name: str) -> str:
    """Modules of ours in full, others by their top package."""
    return name.removeprefix(f"{PACKAGE}.") if name.startswith(PACKAGE) else name.partition(".")[0]


def test_only_the_command_line_imports_by_name() -> None:
    dynamic = {
        source.module
        for source in read_product()
        if any(word in code for _, code in strip_prose(source.text) for word in ("import_module (", "__import__"))
    }
    assert dynamic <= {f"{PACKAGE}.cli.main"}


def test_the_naive_evaluator_is_a_stranger() -> None:
    """It judges the product's answers: what it shared with the product, it could not find wrong."""
    sources = [source for source in read_sources("tests") if source.module.startswith(f"{NAIVE}.")]
    known = sys.stdlib_module_names - {"importlib"} | {"pytest"}
    foreign = [
        (source.place, found.imported)
        for source in sources
        for found in find_imports(source)
        if found.imported.partition(".")[0] not in known and not f"{found.imported}.".startswith(f"{NAIVE}.")
    ]
    assert sources
    assert not foreign
    assert not [source.place for source in sources if any("__import__" in code for _, code in strip_prose(source.text))]


PLANTED: Final = {
    "up": ("store/items.py", "from {p}.database import Database"),
    "up for types": ("kv/steps.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import {p}.database"),
    "up, late": ("keys/path.py", "def read() -> None:\n    import {p}.store.items"),
    "stranger": ("kv/memory.py", "import {p}.kv.lmdb"),
    "circle": ("kv/lmdb.py", "import {p}.kv.steps"),
    "no place": ("helpers.py", ""),
    "not one colour": ("store/items.py", "import asyncio"),
    "waits": ("database.py", "from threading import Lock"),
    "not pure": ("wire/http.py", "import socket"),
    "not only in the client": ("clients/keyed.py", "import {p}.database"),
}  # fmt: skip


@pytest.mark.parametrize("fault", [None, *PLANTED])
def test_contracts_catch_planted_faults(fault: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = f"planted_{[None, *PLANTED].index(fault)}"
    files = {
        "__init__.py": "", "clients/keyed.py": f"import asyncio\nimport {package}.keys.path",
        "database.py": f"class Database: ...\nimport {package}.store.items",
        "keys/path.py": "", "wire/http.py": "import json",
        "kv/lmdb.py": "import threading", "kv/memory.py": "", "kv/steps.py": f"import {package}.kv.lmdb",
        "server/listen.py": f"import asyncio\nimport {package}.database",
        "store/items.py": f"import {package}.kv.steps",
    }  # fmt: skip
    if fault:
        place, text = PLANTED[fault]
        files[place] = files.get(place, "") + "\n" + text.format(p=package)
    for place, text in files.items():
        path = tmp_path / package / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.joinpath("__init__.py").touch()
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = {place.removesuffix(".py").replace("/", ".") for place in files}
    packages = {name.rpartition(".")[0] for name in modules} - {""}
    assert bool(find_broken(package, frozenset(modules | packages))) is bool(fault)
