"""Any engine against plain dictionaries: random works, batches, refusals, scans, terms, drops and reopening.

Works run again at random and half of the answers get lost; what was unknown is settled before the next step, so the
model always knows what is there.
"""

from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.contract.engines import ENGINES, PARAMS, Opener
from tests.contract.wrappers import UnsureEngine

from armillary.errors import Kind, Refusal
from armillary.kv.engine import Applied, Changes, Engine, Rejected, Row, Term, TermChanges, Unknown, View, Work

KEYS = st.binary(min_size=1, max_size=3).map(lambda key: b"\x01" + key) | st.sampled_from([b"k", b"k\x00", b"k" * 511])
VALUES = st.none() | st.binary(max_size=40) | st.integers(1, 20).map(lambda size: b"x" * size * 500)
EFFECTS = st.dictionaries(KEYS, VALUES, max_size=6)
HEADERS = st.none() | st.binary(max_size=8)
TERMS = st.tuples(st.sampled_from([b"a", b"ab", b"b", b"\x00", b"t" * 511]), st.integers(0, 5) | st.just(2**60 - 1))
PAGES = st.sampled_from([0, 1, 2, 50])


class Model:
    """What one partition holds."""

    def __init__(self, header: bytes) -> None:
        self.lsn = 0
        self.header = header
        self.items: dict[bytes, bytes] = {}
        self.terms: set[Term] = set()
        self.watermark = 0

    def apply(self, changes: Changes) -> None:
        self.lsn += 1
        for key, value in changes.effects.items():
            if value is None:
                self.items.pop(key, None)
            else:
                self.items[key] = value
        self.header = self.header if changes.header is None else changes.header

    def scan(self, start: bytes, stop: bytes, *, reverse: bool) -> list[Row]:
        return sorted((row for row in self.items.items() if start <= row[0] < stop), reverse=reverse)


def make_work(changes: Changes | None, start: bytes, stop: bytes, *, reverse: bool, limit: int) -> Work:
    """A work that looks around, then changes or refuses; its result is what it saw."""

    def work(view: View) -> Changes:
        rows = view.scan(start, stop, reverse=reverse, limit=limit)
        seen = (view.lsn, view.header, view.get(start), rows)
        if changes is None:
            raise Refusal(Kind.ITEM_MISSING, id="x")
        return changes._replace(result=seen)

    return work


class EngineMachine(RuleBasedStateMachine):
    """One engine, a few partitions."""

    names = Bundle("names")

    def __init__(self, opener: Opener, *, durable: bool) -> None:
        super().__init__()
        self._opener = opener
        self._durable = durable
        self._models: dict[bytes, Model] = {}

    @initialize(seed=st.integers(0, 2**32))
    def open(self, seed: int) -> None:
        self._seed = seed
        self._engine: Engine = UnsureEngine(self._opener(), seed)

    @rule(target=names, header=st.binary(max_size=8))
    def create(self, header: bytes) -> bytes:
        name = uuid4().bytes
        self._engine.create(name, header)
        self._models[name] = Model(header)
        return name

    @rule(name=consumes(names))
    def drop(self, name: bytes) -> None:
        self._engine.drop(name)
        del self._models[name]
        with pytest.raises(Refusal), self._engine.read(name) as reader:
            reader.get(b"any")

    @precondition(lambda self: self._durable)
    @rule()
    def reopen(self) -> None:
        self._engine.close()
        self._engine = UnsureEngine(self._opener(), self._seed)

    @rule(name=names, data=st.data(), size=st.integers(1, 4), start=KEYS, stop=KEYS, reverse=st.booleans())
    def write(self, name: bytes, data: st.DataObject, size: int, start: bytes, stop: bytes, reverse: bool) -> None:
        model = self._models[name]
        several = data.draw(
            st.lists(st.none() | st.builds(Changes, EFFECTS, HEADERS, st.none()), min_size=size, max_size=size)
        )
        limit = data.draw(st.integers(1, 5))
        works = [make_work(changes, start, stop, reverse=reverse, limit=limit) for changes in several]
        for changes, outcome in zip(several, self._write(name, works), strict=True):
            if changes is None:
                assert isinstance(outcome, Rejected)
            elif isinstance(outcome, Applied):
                rows = model.scan(start, stop, reverse=reverse)[:limit]
                assert outcome.result == (outcome.lsn, model.header, model.items.get(start), rows)
                model.apply(changes)
                assert outcome.lsn == model.lsn

    def _write(self, name: bytes, works: list[Work]) -> list[object]:
        outcomes = self._engine.write(name, works)
        return [self._engine.settle(name, out) if isinstance(out, Unknown) else out for out in outcomes]

    @rule(name=names, start=KEYS, stop=KEYS, reverse=st.booleans(), page=PAGES)
    def scan(self, name: bytes, start: bytes, stop: bytes, reverse: bool, page: int) -> None:
        model = self._models[name]
        with self._engine.read(name) as reader:
            pages = list(reader.scan(start, stop, reverse=reverse, page=page))
            assert reader.unchanged()
        assert [row for part in pages for row in part.rows] == model.scan(start, stop, reverse=reverse)
        assert all(part.lsn == model.lsn for part in pages)

    @rule(name=names, removes=st.lists(TERMS, max_size=4), adds=st.lists(TERMS, max_size=6))
    def index(self, name: bytes, removes: list[Term], adds: list[Term]) -> None:
        model = self._models[name]
        if not (removes or adds):
            assert self._engine.terms(name).apply(lambda _: None) == model.watermark
            return
        model.terms = (model.terms - set(removes)) | set(adds)
        model.watermark += 1
        applied = self._engine.terms(name).apply(lambda found: TermChanges(removes, adds, found + 1))
        assert applied == model.watermark

    @rule(name=names)
    def clear(self, name: bytes) -> None:
        self._engine.terms(name).clear()
        self._models[name].terms = set()
        self._models[name].watermark = 0

    @rule(name=names, start=TERMS, stop=TERMS, reverse=st.booleans(), page=PAGES)
    def list_terms(self, name: bytes, start: Term, stop: Term, reverse: bool, page: int) -> None:
        model = self._models[name]
        expected = sorted((term for term in model.terms if start <= term < stop), reverse=reverse)
        with self._engine.terms(name).read() as reader:
            pages = list(reader.scan(start, stop, reverse=reverse, page=page))
            assert [term for part in pages for term in part] == expected
            assert reader.count(start, stop) == len(expected)
            assert reader.seek(start) == min((term for term in model.terms if term >= start), default=None)
            assert reader.synced <= reader.watermark == model.watermark

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "_engine"):
            return
        assert set(self._engine.partitions()) == set(self._models)
        for name, model in self._models.items():
            with self._engine.read(name) as reader:
                for key in list(model.items)[:3]:
                    assert reader.get(key) == model.items[key]
                reader.get(b"any")
                assert (reader.lsn, reader.header) == (model.lsn, model.header)

    def teardown(self) -> None:
        if hasattr(self, "_engine"):
            for name in self._models:
                self._engine.drop(name)
            self._engine.close()


def run_machine(request: pytest.FixtureRequest, folder: Path, name: str, *, examples: int, steps: int) -> None:
    kept = ENGINES[name]
    folders = count()

    def build() -> EngineMachine:
        place = folder / str(next(folders))
        return EngineMachine(lambda: kept.open(request, place), durable=kept.durable)

    limits = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(build, settings=limits)  # type: ignore[arg-type]  # hypothesis takes any maker


@pytest.mark.parametrize("name", PARAMS)
def test_engine_is_the_model(request: pytest.FixtureRequest, tmp_path: Path, name: str) -> None:
    run_machine(request, tmp_path, name, examples=25, steps=25)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", PARAMS)
def test_engine_is_the_model_for_long(request: pytest.FixtureRequest, tmp_path: Path, name: str) -> None:
    run_machine(request, tmp_path, name, examples=400, steps=60)
