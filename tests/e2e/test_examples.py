"""The programs of `examples/` against a live server: the keys of the documents, and what they cost."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from tests.e2e.live import Live

from armillary.clients.cosmos import Meter, keyed
from armillary.keys.synthetic import concat

pytestmark = pytest.mark.e2e

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples"
PAGE: Final = (ROOT / "docs" / "guide" / "synthetic-keys.md").read_text(encoding="utf-8")


def run(live: Live, program: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, program],
        env={**os.environ, **live.server.environment},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def find_cost(line: str) -> tuple[int, float]:
    """How many reads a line tells of, and their request units."""
    found = re.search(r"(\d+) reads?, ([\d.]+) RU$", line)
    assert found, line
    return int(found[1]), float(found[2])


def test_device_and_year(live: Live) -> None:
    key, written, one, year, same = run(live, EXAMPLES / "device_and_year.py")
    assert key == "the key of the last item: abc-123-2018"
    assert written.startswith("10 writes: ")
    assert one == "one item by device and year: 23 degrees, 1 read, 1.0 RU"
    assert re.fullmatch(r"a device's year: 5 items, 1 read, 1\.\d+ RU", year)
    assert same == "without the library: 23 degrees"


def test_random_suffix(live: Live) -> None:
    keys, written, one, missing, day = run(live, EXAMPLES / "random_suffix.py")
    assert keys == "the keys of a day: 2018-08-09.1 to 2018-08-09.400, 400 of them"
    found = re.match(r"200 writes under (\d+) keys: ", written)
    assert found
    assert 120 < int(found[1]) < 200, "200 items in 400 places: 157 are expected to be used"
    reads, units = find_cost(one)
    assert units == reads <= 400
    assert missing == "an item that is not there: CosmosResourceNotFoundError after 400 reads, 400.0 RU"
    assert day.startswith("the whole day in order: 200 items, 400 reads, ")
    assert find_cost(day)[1] > 400


def test_vin_and_date(live: Live) -> None:
    lines = run(live, EXAMPLES / "vin_and_date.py")
    (shown,) = re.findall(r"^```\n(hashed: .*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert lines[:8] == shown.splitlines(), "the guide shows what the program prints"
    kinds = {lines[at].partition(":")[0]: lines[at : at + 4] for at in range(0, len(lines), 4)}
    assert set(kinds) == {"hashed", "balanced", "random"}
    found = {kind: find_cost(rows[2]) for kind, rows in kinds.items()}
    assert found["hashed"] == found["balanced"] == (1, 1.0), "who knows VIN and date reads one item"
    reads, units = found["random"]
    assert units == reads > 1, "by a random suffix it is a search"
    days = {kind: find_cost(rows[3]) for kind, rows in kinds.items()}
    assert {kind: reads for kind, (reads, _) in days.items()} == {"hashed": 400, "balanced": 8, "random": 400}
    assert days["balanced"][1] < days["hashed"][1] / 10
    assert all("200 items" in rows[3] for rows in kinds.values())


def test_the_programs_of_the_guide(live: Live, tmp_path: Path) -> None:
    programs = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(programs) == 2
    (tmp_path / "cars.py").write_text("\n".join(programs) + "client.delete_database(database)\n", encoding="utf-8")
    one, ids, day, *moments = run(live, tmp_path / "cars.py")
    assert moments == ["2018-08-09T08:00:00Z 12", "2018-08-09T14:30:00Z 40"]
    assert re.fullmatch(r"2018-08-09\.\d+ 1 read 1\.0 RU", one)
    assert (ids, day) == ("['1', '2']", "16 reads")


def test_what_the_guide_says_of_moves(live: Live, name: str) -> None:
    """27 RU for an item of 1 KB, where a replacement costs 8 and the read before it 1."""
    with CosmosClient(live.http, live.key) as client:
        container = client.create_database(name).create_container("c", PartitionKey("/partitionKey"))
        box = keyed(container, concat("/place"), on_change="move")
        made = box.create_item({"id": "1", "place": "a", "pad": "x" * 700})
        replaced, moved = Meter(), Meter()
        made = box.replace_item("1", {**made, "n": 1}, response_hook=replaced)
        box.replace_item("1", {**made, "place": "b"}, response_hook=moved)
    assert (replaced.calls, round(replaced.units)) == (2, 1 + 8)
    assert (moved.calls, round(moved.units)) == (5, 27)
