"""Who may import whom: the layers of ARCHITECTURE.md as contracts that import-linter checks.

A package appears in the tables before its first line is written: what does not exist yet is left out of the contracts,
and what exists without a place in the tables breaks the first of them (it is exhaustive).
"""

from typing import Any, Final

import importlinter.api  # noqa: F401 - importing it configures import-linter
from importlinter.application.use_cases import create_report
from importlinter.application.user_options import UserOptions
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract
from importlinter.domain.contract import registry

# Top to bottom; modules on one line are strangers to each other.
LAYERS: Final = (
    ("cli",),
    ("server", "clients"),
    ("api", "explorer"),
    ("advisor",),
    ("querying",),
    ("database",),
    ("answers", "container", "admission"),
    ("lang", "wire", "procedures"),
    ("query", "store"),
    ("kv",),
    ("keys",),
    ("meter",),
    ("budget", "hotkeys", "units"),
    ("keycode",),
    ("values",),
    ("json",),
    ("limits",),
    ("config",),
    ("errors", "clock"),
)

# Groups whose members never import each other. The engines all know the contract, which knows none of them.
STRANGERS: Final = (
    ("api.nosql", "api.mongo", "api.table", "api.gremlin"),
    ("lang.sql", "lang.mongo", "lang.odata", "lang.gremlin"),
    ("kv.memory", "kv.lmdb", "kv.cassandra_engine"),
)

# One colour: everything below the server is plain synchronous code; only engines hold locks and threads of their own.
SYNCHRONOUS: Final = tuple(name for layer in LAYERS[2:] for name in layer)
WAITING: Final = ("asyncio", "uvloop", "concurrent", "selectors", "multiprocessing")
THREADS: Final = ("threading", "queue", "_thread")

# Usable without the server: what runs in the client knows keys, values and errors, and nothing else of ours.
CLIENTS: Final = ("clients",)
KNOWN_TO_CLIENTS: Final = ("keys", "values", "errors")

# Pure packages: bytes and values in, bytes and values out.
PURE: Final = ("wire", "lang", "query", "json", "values", "keycode", "keys", "units", "budget", "hotkeys", "limits")
IMPURE: Final = ("asyncio", "socket", "ssl", "threading", "select", "selectors", "subprocess", "multiprocessing")
STORAGE: Final = ("kv", "store")


def list_contracts(package: str, modules: frozenset[str]) -> list[dict[str, Any]]:
    """The contracts for a package with these modules (dotted names without the package's own)."""

    def name(found: str) -> str:
        return f"{package}.{found}"

    def present(group: tuple[str, ...]) -> list[str]:
        return [name(member) for member in group if member in modules]

    layers = [" | ".join(f"({member})" for member in layer) for layer in LAYERS]
    unknown = [name for layer in LAYERS for name in layer if name not in (*CLIENTS, *KNOWN_TO_CLIENTS)]
    pure, threadless = present(PURE), present(tuple(member for member in SYNCHRONOUS if member != "kv"))
    contracts: list[dict[str, Any]] = [
        {"name": "layers", "type": "layers", "containers": [package], "layers": layers, "exhaustive": "true"},
        {"name": "no circles", "type": "acyclic_siblings", "ancestors": [package]},
        _forbid("one colour below the server", present(SYNCHRONOUS), list(WAITING)),
        _forbid("threads below the server belong to engines", threadless, list(THREADS)),
        _forbid("pure packages do no I/O", pure, list(IMPURE)),
        _forbid("pure packages know no storage", pure, present(STORAGE)),
        _forbid("clients know no server", present(CLIENTS), present(tuple(unknown))),
    ]
    for group in STRANGERS:
        members = present(group)
        if len(members) > 1:
            contracts.append({"name": f"strangers: {', '.join(group)}", "type": "independence", "modules": members})
    return [contract for contract in contracts if contract.get("source_modules", True)]


def _forbid(name: str, sources: list[str], forbidden: list[str]) -> dict[str, Any]:
    # Direct imports only: every module of these packages is a source itself, so a chain has no place to hide.
    return {
        "name": name,
        "type": "forbidden",
        "source_modules": sources if forbidden else [],
        "forbidden_modules": forbidden,
        "allow_indirect_imports": "true",
    }


def find_broken(package: str, modules: frozenset[str]) -> dict[str, str]:
    """Check all contracts; the broken ones by name, with what import-linter found."""
    for contract in (LayersContract, ForbiddenContract, IndependenceContract, AcyclicSiblingsContract):
        registry.register(contract, contract.type_name)
    options = UserOptions(
        {"root_packages": [package], "include_external_packages": "true"}, list_contracts(package, modules)
    )
    report = create_report(options, cache_dir=None)
    return {
        contract.name: str(check.metadata)
        for contract, check in report.get_contracts_and_checks()
        if not check.kept
    }  # fmt: skip
