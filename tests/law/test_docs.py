"""Documentation cannot drift: tables come from the code, links and commands lead somewhere, all has its place."""

import re
from typing import Final

import click
import pytest
from tests.law import tables
from tests.law.source import PACKAGE, ROOT, list_files

from armillary.cli.main import VERBS, command

PAGES: Final = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in tables.list_pages()}
GUIDE: Final = "docs/guide"
LINK: Final = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[\w-]+)?\)")
CODE: Final = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
VERB: Final = re.compile(rf"(?:^|[\s`/]){PACKAGE} ([a-z][a-z-]*)\b", re.MULTILINE)
TARGET: Final = re.compile(r"(?:^|[\s`])make ((?:[a-z]+ ?)+)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_tables_are_the_ones_the_code_gives(page: str) -> None:
    assert tables.redraw(PAGES[page]) == PAGES[page], "run: .venv/bin/python -m tests.law.tables --rewrite"


@pytest.mark.parametrize("name", tables.TABLES)
def test_every_table_has_its_page(name: str) -> None:
    assert [page for page, text in PAGES.items() if f"<!-- table: {name} -->" in text]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_explained(verb: str) -> None:
    page = PAGES[f"{GUIDE}/command-line.md"]
    assert f"## `{PACKAGE} {verb}`" in page
    found = command.get_command(click.Context(command), verb)
    assert found
    parts = [found, *(found.commands.values() if isinstance(found, click.Group) else ())]
    options = {name for part in parts for option in part.params for name in option.opts if name.startswith("--")}
    # On the page an option ends where its name ends: `--port` is not `--port-file`.
    missing = sorted(name for name in options if not re.search(rf"{name}(?![\w-])", page))
    assert not missing, f"not on the page: {missing}"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    broken = [link for link in LINK.findall(PAGES[page]) if not (ROOT / page).parent.joinpath(link).exists()]
    assert not broken


@pytest.mark.parametrize("page", PAGES)
def test_commands_on_pages_exist(page: str) -> None:
    code = "\n".join(CODE.findall(PAGES[page]))
    verbs = set(VERB.findall(code)) - set(VERBS)
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    asked = {word for words in TARGET.findall(code) for word in words.split()}
    assert not verbs, f"no such verb: {sorted(verbs)}"
    assert asked <= targets, f"no such target: {sorted(asked - targets)}"


def test_the_guide_lists_its_pages() -> None:
    index = PAGES[f"{GUIDE}/README.md"]
    pages = {
        name for page in PAGES if page.rpartition("/")[0] == GUIDE and (name := page.rpartition("/")[2]) != "README.md"
    }
    assert pages == {link for link in LINK.findall(index) if "/" not in link}


def test_decisions_have_a_date_and_a_status() -> None:
    pages = {page: text for page, text in PAGES.items() if page.startswith("docs/decisions/") and "README" not in page}
    for page, text in pages.items():
        assert re.fullmatch(r"docs/decisions/20\d{6}-[a-z0-9-]+\.md", page), page
        assert re.match(r"# .+\n\nStatus: \w+", text), f"{page}: title, empty line, `Status: ...`"


def test_the_package_needs_no_file_outside_itself() -> None:
    assert (ROOT / "LICENSE").exists()
    assert not [path for path in list_files() if path.suffix in (".pyc", ".mdb", ".pem", ".log")]
