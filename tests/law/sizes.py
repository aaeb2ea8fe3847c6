"""How large things are: lines of files and functions, arguments, public names, prose.

`python -m tests.law.sizes` prints the table; `test_sizes.py` holds the limits.
"""

import ast
import sys
import tokenize
from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from tests.law.source import PACKAGE, Source, read_product, read_tokens

FILE_LINES: Final = 600
FUNCTION_LINES: Final = 60
ARGUMENTS: Final = 7
NAMES: Final = 30
ROOT_NAMES: Final = 12

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Size(NamedTuple):
    """One measured thing and where it stands."""

    place: str
    value: int


def count_lines(source: Source) -> int:
    return source.text.count("\n")


def measure_files(sources: Iterable[Source]) -> list[Size]:
    return [Size(source.place, count_lines(source)) for source in sources]


def measure_functions(sources: Iterable[Source]) -> list[Size]:
    """Lines of every function with its docstring, without its decorators."""
    return [
        Size(f"{source.place}:{node.lineno} {node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)
        for source in sources
        for node in _functions(source)
    ]


def measure_arguments(sources: Iterable[Source]) -> list[Size]:
    return [
        Size(f"{source.place}:{node.lineno} {node.name}", _count_arguments(node))
        for source in sources
        for node in _functions(source)
    ]


@cache
def _functions(source: Source) -> tuple[Function, ...]:
    return tuple(node for node in ast.walk(source.tree) if isinstance(node, Function))


def _count_arguments(node: Function) -> int:
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def measure_names(sources: Iterable[Source]) -> list[Size]:
    return [Size(source.place, len(list_public_names(source))) for source in sources]


def list_public_names(source: Source) -> list[str]:
    """What `__all__` says, or else the functions and classes without an underscore; constants are rows of tables."""
    names: list[str] = []
    for node in source.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=listed) | ast.Tuple(elts=listed)):
                return [str(ast.literal_eval(name)) for name in listed]
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case _:
                pass
    return [name for name in names if not name.startswith("_")]


def measure_prose(sources: Iterable[Source]) -> list[Size]:
    """Percent of a file's lines that are comments and docstrings."""
    return [Size(source.place, round(100 * count_prose(source) / max(1, count_lines(source)))) for source in sources]


def count_prose(source: Source) -> int:
    comments = {token.start[0] for token in read_tokens(source.text) if token.type == tokenize.COMMENT}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node):
            first = node.body[0]
            comments.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(comments)


def pick(sizes: Iterable[Size], share: float) -> int:
    """The value that this share of all values does not pass."""
    values = sorted(size.value for size in sizes)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0


def draw_table(sources: Iterable[Source]) -> str:
    """The sizes of the product: one row for each measure, one for each top-level package."""
    sources = tuple(sources)
    lines = [f"{'':24}{'count':>8}{'median':>8}{'p90':>8}{'max':>8}   largest"]
    for title, sizes in (
        ("lines of a file", measure_files(sources)),
        ("lines of a function", measure_functions(sources)),
        ("arguments", measure_arguments(sources)),
        ("public names", measure_names(sources)),
        ("prose, percent", measure_prose(source for source in sources if count_lines(source) > 1)),
    ):
        top = max(sizes, key=lambda size: size.value)
        figures = "".join(f"{figure:8}" for figure in (len(sizes), pick(sizes, 0.5), pick(sizes, 0.9), top.value))
        lines.append(f"{title:24}{figures}   {top.place}")
    lines += ["", f"{'package':24}{'files':>8}{'lines':>8}{'prose':>8}"]
    groups: dict[str, list[Source]] = {}
    for source in sources:
        groups.setdefault(source.module.removeprefix(PACKAGE).lstrip(".").partition(".")[0] or PACKAGE, []).append(
            source
        )
    for name, members in sorted(groups.items()):
        total = sum(map(count_lines, members))
        prose = round(100 * sum(map(count_prose, members)) / max(1, total))
        lines.append(f"{name:24}{len(members):8}{total:8}{prose:7}%")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(draw_table(read_product()) + "\n")
