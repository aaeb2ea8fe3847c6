"""Moves: a crash before any of their calls, others faster before any of them. Nothing is lost, nothing doubled."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.unit.clients.shelf import FORMS, Item, Shelf, ShelfError, open_shelf

from armillary.clients import Keyed, Mend, Mended, Reason
from armillary.clients.calls import Options
from armillary.clients.moves import Again, Found, Mark, Mover
from armillary.errors import Refusal
from armillary.keys.synthetic import Key, concat, hierarchical, random_suffix, rollup

PLACES: Final = ("a", "b", "c")
BY_PLACE: Final = concat("/place")
STEPS: Final = ("read", "create", "replace", "replace", "delete")
CREATE, DECIDE, CONFIRM, DELETE = 2, 3, 4, 5  # which call of a move each step is


class KilledError(BaseException):
    """The end of a process: nothing in it can go on from here."""


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def at(shelf: Shelf, number: int, act: Callable[[], object]) -> None:
    """Do something once, before the call of this number from now on."""
    left = [number]

    def meet(_name: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            act()

    shelf.meet = meet


def rest(shelf: Shelf) -> None:
    shelf.meet = lambda _name: None


def kill() -> None:
    raise KilledError


def open_moving(form: str, shelf: Shelf) -> Any:
    return open_shelf(form, shelf, BY_PLACE, on_change="move")


def cut_a_move(shelf: Shelf, before: int = DELETE) -> Item:
    """An item whose client was killed while it moved it from a to b."""
    box = Keyed(shelf, BY_PLACE, on_change="move")
    made = box.create_item({"id": "1", "place": "a", "n": 1})
    at(shelf, before, kill)
    with pytest.raises(KilledError):
        box.replace_item("1", {**made, "place": "b", "n": 2})
    rest(shelf)
    return made


def list_numbers(shelf: Shelf) -> dict[Key, Any]:
    return {key: item["n"] for key, item in shelf.find("1").items()}


def test_an_item_moves(form: str, shelf: Shelf) -> None:
    box = open_moving(form, shelf)
    made = box.create_item({"id": "1", "place": "a", "n": 1})
    shelf.visits.clear()
    moved = box.replace_item("1", {**made, "place": "b", "n": 2})
    assert tuple(visit.name for visit in shelf.visits) == STEPS
    assert shelf.find("1") == {"b": moved}
    assert (moved["partitionKey"], moved["n"]) == ("b", 2)
    assert set(moved) == set(made), "no mark is left"
    again = box.upsert_item({**moved, "place": "c"})
    assert shelf.find("1") == {"c": again}
    stays = box.replace_item("1", {**again, "n": 3})
    assert shelf.find("1") == {"c": stays}
    assert box.repair() == []


def test_where_an_item_was_can_be_said(form: str, shelf: Shelf) -> None:
    box = open_moving(form, shelf)
    box.create_item({"id": "1", "place": "a"})
    box.replace_item("1", {"place": "b"}, was={"place": "a"})
    assert list(shelf.find("1")) == ["b"]
    with pytest.raises(ShelfError) as missing:
        box.replace_item("1", {"place": "c"}, was={"place": "a"})
    assert missing.value.reason is Reason.MISSING


def test_hierarchical_and_random_keys_move(form: str) -> None:
    levels = Shelf("/tenant", "/day")
    box = open_shelf(form, levels, hierarchical("/tenant", rollup("/at", "day", name="day")), on_change="move")
    made = box.create_item({"id": "1", "tenant": "t", "at": 0})
    box.replace_item("1", {**made, "at": 86_400})
    box.replace_item("1", {"tenant": "u", "at": 86_400}, was={"tenant": "t", "at": 86_400})
    assert list(levels.find("1")) == [("u", "1970-01-02")]
    dates = Shelf()
    by_day = open_shelf(form, dates, random_suffix("/date", 3), on_change="move")
    moved = by_day.replace_item("1", {**by_day.create_item({"id": "1", "date": "d"}), "date": "e"})
    assert moved["partitionKey"].startswith("e.")
    assert list(dates.find("1")) == [moved["partitionKey"]]


# ---- crashes


@pytest.mark.parametrize(
    ("before", "left", "what"),
    [
        (1, "a", None),
        (CREATE, "a", None),
        (DECIDE, "a", Mend.TAKEN_BACK),
        (CONFIRM, "b", Mend.FINISHED),
        (DELETE, "b", Mend.FINISHED),
    ],
)
def test_a_crash_before_each_step_is_repaired(
    form: str, shelf: Shelf, before: int, left: str, what: Mend | None
) -> None:
    cut_a_move(shelf, before)
    box = open_moving(form, shelf)
    before_repair = shelf.find("1")
    assert set(before_repair) == ({"a", "b"} if what else {"a"})
    found = [Mended("1", "a", "b", what)] if what else []
    assert box.repair(dry_run=True) == found
    assert shelf.find("1") == before_repair, "a dry run changes nothing"
    assert box.repair({"place": "c"}) == []
    assert box.repair() == found
    assert list_numbers(shelf) == {left: 2 if left == "b" else 1}
    assert not {"_movingTo", "_movedFrom"} & set(shelf.find("1")[left])
    assert box.repair() == []


@pytest.mark.parametrize("place", ["a", "b"])
@pytest.mark.parametrize("before", [CONFIRM, DELETE])
def test_a_repair_may_begin_at_either_key(form: str, shelf: Shelf, place: str, before: int) -> None:
    cut_a_move(shelf, before)
    found = [] if (place, before) == ("b", DELETE) else [Mended("1", "a", "b", Mend.FINISHED)]
    assert open_moving(form, shelf).repair({"place": place}) == found
    assert list_numbers(shelf) == ({"b": 2} if found else {"a": 1, "b": 2})


@pytest.mark.parametrize("elsewhere", ["b", "c"])
@pytest.mark.parametrize("before", [DECIDE, CONFIRM, DELETE])
def test_a_move_is_begun_again_after_a_crash(form: str, shelf: Shelf, before: int, elsewhere: str) -> None:
    """The trap of a create and a delete alone: what was left under b must not stay when the item is at c."""
    made = cut_a_move(shelf, before)
    box = open_moving(form, shelf)
    write = {**made, "place": elsewhere, "n": 3}
    if before == DECIDE:
        box.replace_item("1", write)
        box.repair()
        assert list_numbers(shelf) == {elsewhere: 3}
        return
    with pytest.raises(ShelfError) as gone:
        box.replace_item("1", write)
    assert gone.value.reason is Reason.MISSING, "the move was decided: the item is elsewhere now"
    assert list_numbers(shelf) == {"b": 2}
    box.upsert_item(write)
    box.repair()
    assert list_numbers(shelf) == ({"b": 3} if elsewhere == "b" else {"b": 2, "c": 3})


@pytest.mark.parametrize(
    ("write", "numbers"),
    [
        (lambda box: box.replace_item("1", {"place": "a", "n": 3}), {"a": 3}),
        (lambda box: box.upsert_item({"id": "1", "place": "a", "n": 3}), {"a": 3}),
        (lambda box: box.delete_item("1", {"place": "a"}), {}),
    ],
)
def test_whoever_writes_the_old_one_before_it_is_decided_wins(
    form: str, shelf: Shelf, write: Callable[[Any], Item], numbers: dict[Key, int]
) -> None:
    cut_a_move(shelf, DECIDE)
    box = open_moving(form, shelf)
    write(box)
    assert [row.what for row in box.repair()] == [Mend.TAKEN_BACK]
    assert list_numbers(shelf) == numbers


@pytest.mark.parametrize(
    ("write", "numbers"),
    [
        (lambda box: box.replace_item("1", {"place": "b", "n": 3}), {"b": 3}),
        (lambda box: box.upsert_item({"id": "1", "place": "b", "n": 3}), {"b": 3}),
        (lambda box: box.replace_item("1", {"place": "c", "n": 3}, was={"place": "b"}), {"c": 3}),
        (lambda box: box.delete_item("1", {"place": "b"}), {}),
    ],
)
@pytest.mark.parametrize("before", [CONFIRM, DELETE])
def test_whoever_writes_the_new_one_after_it_is_decided_writes_the_item(
    form: str, shelf: Shelf, before: int, write: Callable[[Any], Item], numbers: dict[Key, int]
) -> None:
    cut_a_move(shelf, before)
    box = open_moving(form, shelf)
    write(box)
    box.repair()
    assert list_numbers(shelf) == numbers


def test_whoever_writes_the_new_one_before_it_is_decided_finds_none(form: str, shelf: Shelf) -> None:
    cut_a_move(shelf, DECIDE)
    box = open_moving(form, shelf)
    with pytest.raises(ShelfError) as missing:
        box.replace_item("1", {"place": "b", "n": 3})
    assert missing.value.reason is Reason.MISSING
    assert list_numbers(shelf) == {"a": 1}


# ---- others


@pytest.mark.parametrize("before", [DECIDE, CONFIRM, DELETE])
def test_another_item_under_the_old_key_is_left_alone(form: str, shelf: Shelf, before: int) -> None:
    cut_a_move(shelf, before)
    del shelf.items["a", "1"]
    other = shelf.create("a", {"id": "1", "place": "a", "partitionKey": "a", "n": "other"})
    open_moving(form, shelf).repair()
    assert shelf.find("1")["a"] == other
    assert list_numbers(shelf) == ({"a": "other", "b": 2} if before == DELETE else {"a": "other"})


@pytest.mark.parametrize("write", ["replace", "upsert"])
def test_another_item_under_the_new_key_is_left_alone(form: str, shelf: Shelf, write: str) -> None:
    box = open_moving(form, shelf)
    other = box.create_item({"id": "1", "place": "b", "n": "other"})
    made = box.create_item({"id": "1", "place": "a", "n": 1})
    moved = {**made, "place": "b"}
    with pytest.raises(ShelfError) as taken:
        box.upsert_item(moved) if write == "upsert" else box.replace_item("1", moved)
    assert taken.value.reason is Reason.EXISTS
    assert list_numbers(shelf) == {"a": 1, "b": "other"}
    assert shelf.find("1")["b"] == other
    assert "_movingTo" not in shelf.find("1")["a"]


def change_under(shelf: Shelf, key: str, number: int) -> None:
    shelf.replace(key, "1", {**shelf.items[key, "1"], "n": number}, "")


@pytest.mark.parametrize("number", [1, CREATE, DECIDE])
def test_a_change_during_a_move_under_an_etag_takes_it_back(form: str, shelf: Shelf, number: int) -> None:
    box = open_moving(form, shelf)
    made = box.create_item({"id": "1", "place": "a", "n": 1})
    at(shelf, number, lambda: change_under(shelf, "a", 9))
    with pytest.raises(ShelfError) as changed:
        box.replace_item("1", {**made, "place": "b", "n": 2}, etag=made["_etag"])
    assert changed.value.reason is Reason.CHANGED
    assert list_numbers(shelf) == {"a": 9}


@pytest.mark.parametrize("number", [1, CREATE, DECIDE])
def test_without_an_etag_the_move_comes_after_the_change(form: str, shelf: Shelf, number: int) -> None:
    box = open_moving(form, shelf)
    made = box.create_item({"id": "1", "place": "a", "n": 1})
    at(shelf, number, lambda: change_under(shelf, "a", 9))
    box.replace_item("1", {**made, "place": "b", "n": 2})
    assert list_numbers(shelf) == {"b": 2}


@pytest.mark.parametrize(
    ("number", "what"), [(DECIDE, Mend.TAKEN_BACK), (CONFIRM, Mend.FINISHED), (DELETE, Mend.FINISHED)]
)
def test_a_repair_during_a_move_does_no_harm(form: str, shelf: Shelf, number: int, what: Mend) -> None:
    box = open_moving(form, shelf)
    made = box.create_item({"id": "1", "place": "a", "n": 1})
    seen: list[Mended] = []

    def repair() -> None:
        rest(shelf)
        seen.extend(Keyed(shelf, BY_PLACE).repair())

    at(shelf, number, repair)
    box.replace_item("1", {**made, "place": "b", "n": 2})
    assert [row.what for row in seen] == [what]
    assert list_numbers(shelf) == {"b": 2}


def test_who_is_always_late_gives_up(form: str, shelf: Shelf) -> None:
    box = open_moving(form, shelf)
    made = box.create_item({"id": "1", "place": "a", "n": 1})

    def be_faster(name: str) -> None:
        if name == "replace":
            meet, shelf.meet = shelf.meet, lambda _name: None
            change_under(shelf, "a", 9)
            shelf.meet = meet

    shelf.meet = be_faster
    with pytest.raises(ShelfError) as changed:
        box.replace_item("1", {**made, "n": 2})
    assert changed.value.reason is Reason.CHANGED


MARKS: Final[tuple[object, ...]] = (
    *(5, None, [], {}, {"key": "a"}, {"key": []}, {"key": ["a"], "etag": 1, "move": "1"}),
    *({"key": ["a"], "etag": "1"}, {"key": [], "etag": "1", "move": "1"}, {"etag": "1", "move": "1"}),
)


@pytest.mark.parametrize("mark", MARKS)
def test_what_only_looks_like_a_mark_is_none(form: str, shelf: Shelf, mark: object) -> None:
    box = open_moving(form, shelf)
    lock = None if isinstance(mark, dict) and "move" in mark and mark.get("key") else mark
    box.create_item({"id": "1", "place": "a", "_movedFrom": mark, "_movingTo": lock})
    assert box.repair() == []
    box.delete_item("1", {"place": "a"})


# ---- any history


class Author:
    """Reads an item, and writes it again with a number of its own and all the numbers that it has seen in it."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.acknowledged: set[int] = set()
        self._number = 0

    def open(self) -> Keyed:
        return Keyed(self.shelf, BY_PLACE, on_change="move")

    def write(self, place: str, to: str) -> None:
        """One read and one write through a client of its own, which may move the item."""
        box = self.open()
        self._number += 1
        number = self._number
        try:
            item = box.read_item("1", {"place": place})
            seen = [*item["seen"], number]
            box.replace_item("1", {**item, "place": to, "seen": seen}, etag=item["_etag"])
        except (ShelfError, Refusal):
            return
        self.acknowledged.add(number)

    def lost(self) -> set[int]:
        """What was acknowledged and stands in no item any more."""
        return self.acknowledged - {number for item in self.shelf.items.values() for number in item["seen"]}


PLACE: Final = st.sampled_from(PLACES)
DEED: Final = st.one_of(st.tuples(PLACE, PLACE), st.just(()))
STEP: Final = st.tuples(DEED, st.integers(0, 11), st.lists(DEED, max_size=3))


HISTORY: Final = st.lists(STEP, max_size=12)


@given(HISTORY)
def test_nothing_is_lost_and_nothing_is_doubled(steps: list[Any]) -> None:
    live_through(steps)


def live_through(steps: list[Any]) -> None:
    """Each step is a write or a repair; before one of its calls others do theirs, or, with none, it is killed."""
    shelf = Shelf()
    author = Author(shelf)
    author.open().create_item({"id": "1", "place": "a", "seen": []})

    def do(deed: Any) -> None:
        if deed:
            author.write(*deed)
        else:
            author.open().repair()

    for deed, number, others in steps:

        def disturb(others: Any = others) -> None:
            rest(shelf)
            if not others:
                raise KilledError
            for other in others:
                do(other)

        if number:
            at(shelf, number, disturb)
        try:
            do(deed)
        except KilledError:
            assert not others
        rest(shelf)
        assert not author.lost()
    author.open().repair()
    assert not author.lost()
    assert len(shelf.items) == 1
    assert author.open().repair() == []


def delete_new_at_once(mover: Mover, new: Found, mark: Mark, options: Options) -> Any:
    """Leave out the touch: the client of the move may be slow, and decide after its new item is gone."""
    old = yield from mover._read(mark.key, new.item["id"], options)
    if old is not None and old.get("_movingTo"):
        return Again.AGAIN
    yield from mover._try("delete", new.key, new.item["id"], new.item["_etag"], options=options)
    return Mend.TAKEN_BACK


def delete_old_before_confirming(mover: Mover, old: Found, _lock: object, new: Item, options: Options) -> Any:
    """Leave out step 3: what is marked and has no old item may be the item."""
    yield from mover._try("delete", old.key, old.item["id"], old.item["_etag"], options=options)
    return new


@pytest.mark.parametrize(
    ("name", "fault"), [("_settle_new", delete_new_at_once), ("_finish", delete_old_before_confirming)]
)
def test_a_rule_that_is_left_out_is_missed(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mover, name, fault)
    search = settings(max_examples=3_000, phases=[Phase.generate], database=None)
    with pytest.raises((AssertionError, ExceptionGroup)):
        search(given(HISTORY)(live_through))()
