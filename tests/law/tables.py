"""Tables of the documentation that are drawn from the code, so that they cannot drift.

A page marks the place with `<!-- table: NAME -->` and `<!-- end of table -->`; `python -m tests.law.tables --rewrite`
draws every table anew, and a law fails when one on a page is not the one the code gives.
"""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from tests.law.source import ROOT, list_files

from armillary.api.nosql.errors import ANSWERS, Answer
from armillary.api.nosql.operations import NOT_BUILT, OPERATIONS, UNBUILT, Operation
from armillary.api.nosql.policies import POLICIES
from armillary.config import SETTINGS, show_value
from armillary.errors import Fault, Kind, fault_of
from armillary.units import KB, PRICES, price_read, price_write

MARK: Final = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
WHOSE: Final = {
    Fault.CALLER: "the request",
    Fault.STATE: "the state of the data",
    Fault.SERVER: "this server",
}


def draw_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def draw_kinds() -> str:
    """Every kind of error: whose fault, its text, and what the document API answers."""
    rows = [
        (f"`{kind.name}`", WHOSE[fault_of(kind)], kind.value, draw_answer(ANSWERS[kind]) if kind in ANSWERS else "")
        for kind in Kind
    ]
    return draw_table(("Kind", "At fault", "Text", "Document API"), rows)


def draw_answer(answer: Answer) -> str:
    return f"{answer.status}{f' / {answer.substatus}' if answer.substatus else ''} {answer.code}".rstrip()


def draw_operations() -> str:
    """Every operation of the document API, built or not."""
    rows = [
        (
            operation.name,
            f"`{operation.method} /{operation.path}`"
            + (f" with `{operation.flag.decode()}`" if operation.flag else ""),
            operation.state,
            operation.note,
        )
        for operation in OPERATIONS
    ]
    unbuilt = [(name, f"`/{path}`", NOT_BUILT, "") for path, name in UNBUILT.items() if not path.endswith("*")]
    return draw_table(("Operation", "Request", "State", "Note"), [*rows, *unbuilt])


def draw_request(operation: Operation) -> str:
    flag = f" with `{operation.flag.decode()}`" if operation.flag else ""
    return f"`{operation.method} /{operation.path}`{flag}"


def draw_policies() -> str:
    """Every policy a container may have, and whether it does something yet."""
    rows = [(f"`{policy.name}`", policy.state.value, policy.note) for policy in POLICIES]
    return draw_table(("Policy", "State", "Note"), rows)


def draw_prices() -> str:
    """The price table of request units."""
    rows = [(price.meaning, f"{price.units:.4g}") for price in PRICES.values()]
    return draw_table(("For", "Request units"), rows)


def draw_sizes() -> str:
    """What the operations users ask about first are charged: items of four sizes."""
    sizes = (1, 4, 10, 100)
    rows = [
        (what, *(f"{price(size * KB):.2f}" for size in sizes))
        for what, price in (
            ("read by id and key", price_read),
            ("the same, strong or bounded staleness", lambda size: price_read(size, 2.0)),
            ("create, or delete", price_write),
            ("replace", lambda size: price_write(size, size)),
        )
    ]
    return draw_table(("An item of", *(f"{size} KB" for size in sizes)), rows)


def draw_settings() -> str:
    """Every setting: option, variable, place in the file, default."""
    rows = [
        (
            f"`{setting.option}{f' {setting.reader.hint}' if setting.reader.hint else ''}`",
            f"`{setting.variable}`",
            f"`[{setting.section}] {setting.name}`",
            f"`{show_value(setting, setting.default)}`" if show_value(setting, setting.default) else "",
            setting.help,
        )
        for setting in SETTINGS
    ]
    return draw_table(("Option", "Variable", "In the file", "Default", "What it is"), rows)


TABLES: Final[dict[str, Callable[[], str]]] = {
    "charges": draw_sizes,
    "errors": draw_kinds,
    "operations": draw_operations,
    "policies": draw_policies,
    "prices": draw_prices,
    "settings": draw_settings,
}


def list_pages() -> list[Path]:
    return [path for path in list_files() if path.suffix == ".md"]


def redraw(text: str) -> str:
    """The page with each of its tables as the code gives it now."""
    return MARK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}{found[3]}", text)


def rewrite_pages() -> list[Path]:
    """Redraw the tables of all pages; returns those that changed."""
    changed = []
    for page in list_pages():
        text = page.read_text(encoding="utf-8")
        if (fresh := redraw(text)) != text:
            page.write_text(fresh, encoding="utf-8")
            changed.append(page)
    return changed


if __name__ == "__main__":
    if sys.argv[1:] != ["--rewrite"]:
        sys.exit("usage: python -m tests.law.tables --rewrite")
    sys.stdout.writelines(f"rewrote {page.relative_to(ROOT)}\n" for page in rewrite_pages())
