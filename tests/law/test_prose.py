"""What is written about the code: docstrings everywhere, reasons beside exceptions, nothing that belongs elsewhere."""

import ast
import re
from collections.abc import Iterable
from typing import Final

import pytest
from tests.law.source import PACKAGE, ROOT, Source, list_files, read_everything, read_product, strip_prose

# Written so that this file does not contain what it looks for.
BANNED: Final = {
    "a machine's path": r"(?:^|[^\w.])/(?:w[o]rk|f[a]rm|r[o]ot|h[o]me|U[s]ers)/",
    "a scratch path": r"/tm[p]/armillary",
    "a registry host": r"py[p]i\.org|registry\.np[m]js|proxy\.go[l]ang|repo1?\.mav[e]n|deb\.deb[i]an|crates\.i[o]/api",
    "unfinished work": r"\b(?:TO[D]O|FIX[M]E|XX[X])\b",
}
VAGUE: Final = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc", "core"}
MUTED: Final = re.compile(r"#\s*(noqa|type:\s*ignore)(.*)$", re.MULTILINE)
REASON: Final = re.compile(r"^(?:: [A-Z]+\d+(?:, ?[A-Z]+\d+)* - \S.*|\[[\w-]+(?:, ?[\w-]+)*\]\s+# .+)$")


def test_modules_say_what_they_are() -> None:
    silent = [source.place for source in read_product() if not ast.get_docstring(source.tree)]
    assert not silent


def test_module_names_are_nouns_of_the_house() -> None:
    vague = [source.place for source in read_everything() if VAGUE & set(source.module.lower().split("."))]
    assert not vague


def test_muted_checks_have_a_reason() -> None:
    muted = [(source.place, *found.groups()) for source in read_everything() for found in MUTED.finditer(source.text)]
    bare = [f"{place}: {word}{rest}" for place, word, rest in muted if not REASON.match(rest.rstrip())]
    assert not bare, "\n".join(bare)
    ignored = sum(word != "noqa" for _, word, _ in muted)
    assert ignored <= sum(source.text.count("\n") for source in read_everything()) / 1000 + 1


@pytest.mark.parametrize("what", BANNED)
def test_files_hold_nothing_banned(what: str) -> None:
    pattern = re.compile(BANNED[what], re.MULTILINE)
    found = []
    for path in list_files():
        if path.suffix == ".lock" or b"\0" in (data := path.read_bytes())[:4096]:
            continue
        text = data.decode(errors="replace")
        found += [f"{path.relative_to(ROOT)}: {match.group()!r}" for match in pattern.finditer(text)]
    assert not found, "\n".join(found)


def test_nothing_is_skipped_in_silence() -> None:
    """A test may be skipped where the machine lacks what it needs, and then it says what; never because it fails."""
    words = re.compile(
        r"\b(?:xfail|importorskip|NotImplementedError)\b|\bexcept : pass\b|\bmark \. skip\b|\bskip \( \)"
    )
    assert not find_words(read_everything(), words)
    conditions = [
        (source.place, call.lineno, {keyword.arg for keyword in call.keywords})
        for source in read_everything()
        for call in ast.walk(source.tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "skipif"
    ]
    assert not [(place, line) for place, line, names in conditions if "reason" not in names]


def find_words(sources: Iterable[Source], words: re.Pattern[str]) -> list[str]:
    """Where the code of a file, without its comments and texts, has one of the words."""
    return [
        f"{source.place}:{number}: {code}"
        for source in sources
        for number, code in strip_prose(source.text)
        if words.search(code)
    ]


def test_every_sync_is_real() -> None:
    """LMDB's NOSYNC can corrupt and WRITEMAP lets a stray pointer write the file: no setting turns either on."""
    words = re.compile(r"\bsync = False|\bwritemap\b|\bMDB_(?:NOSYNC|WRITEMAP|MAPASYNC)\b|\bmap_async\b")
    assert not find_words(read_everything(), words)


def test_the_product_prints_only_from_the_command_line() -> None:
    below = [source for source in read_product() if not source.module.startswith(f"{PACKAGE}.cli")]
    assert not find_words(below, re.compile(r"(?<![.\w] )\bprint \("))
