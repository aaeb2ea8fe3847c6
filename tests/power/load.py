"""The program whose writes are recorded: a few partitions of the embedded engine, written so that all is predictable.

What a partition holds after LSN n, and its terms after watermark w, are functions of n and w: whoever opens an image
can tell whether it is one of the states that ever were. Each acknowledgement is one line: what holds from then on.
"""

import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from armillary.errors import Refusal
from armillary.kv.engine import Applied, Changes, Term, TermChanges, View
from armillary.kv.lmdb import LmdbEngine

NAMES = {"A": b"A" * 16, "B": b"B" * 16, "C": b"C" * 16}


def draw_changes(name: str, lsn: int) -> Changes:
    """What the member with this LSN does."""
    chance = random.Random(f"{name} {lsn}")
    effects: dict[bytes, bytes | None] = {
        b"k%03d" % chance.randrange(120): None if chance.random() < 0.25 else chance.randbytes(chance.randrange(900))
        for _ in range(chance.randrange(1, 5))
    }
    if lsn % 13 == 0:
        effects[b"large"] = chance.randbytes(9000)
    return Changes(effects, b"header %d" % lsn)


def draw_terms(name: str, watermark: int) -> tuple[list[Term], list[Term]]:
    """What the step to this watermark removes and adds."""
    chance = random.Random(f"{name} terms {watermark}")
    removes, adds = ([(b"t%d" % chance.randrange(9), chance.randrange(60)) for _ in range(12)] for _ in range(2))
    return removes, adds


def replay_items(name: str, lsn: int) -> dict[bytes, bytes]:
    items: dict[bytes, bytes] = {}
    for at in range(1, lsn + 1):
        for key, value in draw_changes(name, at).effects.items():
            if value is None:
                items.pop(key, None)
            else:
                items[key] = value
    return items


def replay_terms(name: str, watermark: int) -> set[Term]:
    terms: set[Term] = set()
    for at in range(1, watermark + 1):
        removes, adds = draw_terms(name, at)
        terms = (terms - set(removes)) | set(adds)
    return terms


def run(folder: Path, acks: Path, rounds: int, seed: int, boast: bool) -> None:
    """Write for some rounds; who boasts promises the newest watermark, which a power failure may take back."""
    chance = random.Random(seed)
    descriptor = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def acknowledge(text: str) -> None:
        os.write(descriptor, f"{text}\n".encode())

    engine = LmdbEngine(folder)

    def write(name: str, size: int) -> None:
        outcomes = engine.write(NAMES[name], [lambda view: change(name, view)] * size)
        assert all(isinstance(outcome, Applied) for outcome in outcomes)
        last = outcomes[-1]
        assert isinstance(last, Applied)
        acknowledge(f"lsn {name} {last.lsn}")

    def index(name: str) -> None:
        terms = engine.terms(NAMES[name])
        terms.apply(lambda watermark: TermChanges(*draw_terms(name, watermark + 1), watermark + 1))
        with terms.read() as reader:
            acknowledge(f"synced {name} {reader.watermark if boast else reader.synced}")

    for name, partition in NAMES.items():
        engine.create(partition, b"born")
        acknowledge(f"create {name}")
        write(name, 2)
    index("C")
    engine.drop(NAMES["C"])
    acknowledge("drop C")
    for at in range(rounds):
        name = chance.choice("AAB")
        write(name, chance.choice((1, 1, 3)))
        if at % 4 == 0:
            index(chance.choice("AB"))
        if at == rounds // 2:
            engine.close()
            engine = LmdbEngine(folder)
    engine.close()


def change(name: str, view: View) -> Changes:
    return draw_changes(name, view.lsn)


def check(folder: Path, acknowledged: Sequence[bytes]) -> list[str]:
    """What an image lacks: a partition that was made, an LSN or a watermark that was promised, or sense."""
    promised: dict[tuple[str, str], int] = {}
    for line in acknowledged:
        verb, name, *number = line.decode().split()
        promised[verb, name] = int(number[0]) if number else 1
    try:
        engine = LmdbEngine(folder / "data")
    except (Refusal, OSError) as error:
        return [f"does not open: {error}"]
    try:
        return [
            complaint
            for name in NAMES
            for complaint in _check_partition(engine, name, promised)
        ]  # fmt: skip
    finally:
        engine.close()


def _check_partition(engine: LmdbEngine, name: str, promised: dict[tuple[str, str], int]) -> list[str]:
    partition = NAMES[name]
    listed = partition in engine.partitions()
    if ("drop", name) in promised:
        return [f"{name} is still there"] if listed else []
    if not listed:
        return [f"{name} is not there"] if ("create", name) in promised and name != "C" else []
    try:
        with engine.read(partition) as reader:
            lsn, header = reader.lsn, reader.header
            rows = [row for page in reader.scan(b"\x01", b"\xff") for row in page.rows]
        with engine.terms(partition).read() as terms:
            watermark, synced = terms.watermark, terms.synced
            found = {term for part in terms.scan((b"\x00", 0), (b"\xff", 0)) for term in part}
    except Refusal as refusal:
        return [] if name == "C" and refusal.kind.name == "PARTITION_MISSING" else [f"{name}: {refusal}"]
    complaints = []
    if lsn < promised.get(("lsn", name), 0):
        complaints.append(f"{name} is at LSN {lsn}, {promised['lsn', name]} was acknowledged")
    if rows != sorted(replay_items(name, lsn).items()):
        complaints.append(f"{name} does not hold what it held at LSN {lsn}")
    if header != (b"header %d" % lsn if lsn else b"born"):
        complaints.append(f"{name} has the header {header!r} at LSN {lsn}")
    if synced > watermark or watermark < promised.get(("synced", name), 0):
        complaints.append(f"{name} has terms up to {watermark}, {promised['synced', name]} was promised")
    if found != replay_terms(name, watermark):
        complaints.append(f"{name} does not have the terms of watermark {watermark}")
    return complaints


if __name__ == "__main__":
    places = Path(os.environ["RECORD_ROOT"]) / "data", Path(os.environ["RECORD_ACKS"])
    run(*places, rounds=int(sys.argv[1]), seed=int(sys.argv[2]), boast="boast" in sys.argv)
