"""The tree as the laws see it: every file once, parsed once."""

import ast
import io
import subprocess
import tokenize
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
PRODUCT: Final = ROOT / "src"
PACKAGE: Final = "armillary"


class Source(NamedTuple):
    """One Python file; `module` is its dotted name from the folder that holds it (`src` or the project's root)."""

    path: Path
    module: str
    text: str
    tree: ast.Module

    @property
    def place(self) -> str:
        return str(self.path.relative_to(ROOT))


class Import(NamedTuple):
    """One import: who, what, where, and whether it stands inside a function."""

    importer: str
    imported: str
    line: int
    late: bool


@cache
def read_sources(folder: str) -> tuple[Source, ...]:
    """All Python files below `src`, `tests`, `bench` or `examples`."""
    base = PRODUCT if folder == "src" else ROOT
    return tuple(_read(path, base) for path in sorted((ROOT / folder).rglob("*.py")))


def _read(path: Path, base: Path) -> Source:
    parts = path.relative_to(base).with_suffix("").parts
    text = path.read_text(encoding="utf-8")
    return Source(path, ".".join(parts).removesuffix(".__init__"), text, ast.parse(text, str(path)))


def read_product() -> tuple[Source, ...]:
    return read_sources("src")


def read_everything() -> tuple[Source, ...]:
    return read_sources("src") + read_sources("tests") + read_sources("bench") + read_sources("examples")


@cache
def list_files() -> tuple[Path, ...]:
    """Every file that is, or is about to be, under version control."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    )  # fmt: skip
    return tuple(path for name in sorted(set(listed.stdout.split("\0"))) if name and (path := ROOT / name).is_file())


def find_imports(source: Source) -> list[Import]:
    """Absolute names of what a module imports; `from a import b` counts as `a.b` when that is a module of ours."""
    found: list[Import] = []

    def walk(node: ast.AST, late: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                found.extend(Import(source.module, name.name, child.lineno, late) for name in child.names)
            elif isinstance(child, ast.ImportFrom):
                found.extend(_from(source, child, late))
            walk(child, late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))

    walk(source.tree, late=False)
    return found


def _from(source: Source, node: ast.ImportFrom, late: bool) -> list[Import]:
    package = source.module if source.path.stem == "__init__" else source.module.rpartition(".")[0]
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    ours = _product_modules()
    names = [f"{base}.{name.name}" if f"{base}.{name.name}" in ours else base for name in node.names]
    return [Import(source.module, name, node.lineno, late) for name in dict.fromkeys(names)]


@cache
def _product_modules() -> frozenset[str]:
    return frozenset(source.module for source in read_product())


@cache
def read_tokens(text: str) -> tuple[tokenize.TokenInfo, ...]:
    return tuple(tokenize.generate_tokens(io.StringIO(text).readline))


@cache
def strip_prose(text: str) -> list[tuple[int, str]]:
    """The code of a file line by line, without its comments; a text is `""`."""
    kept = {tokenize.NAME: None, tokenize.NUMBER: None, tokenize.OP: None, tokenize.STRING: '""'}
    lines: dict[int, list[str]] = {}
    for token in read_tokens(text):
        if token.type in kept:
            lines.setdefault(token.start[0], []).append(kept[token.type] or token.string)
    return [(number, " ".join(words)) for number, words in lines.items()]
