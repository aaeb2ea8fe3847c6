"""Files kept open: the limit, the order of closing, and pins."""

import threading

import pytest

from armillary.errors import Kind, Refusal
from armillary.kv.environments import Environments, Opened

GONE = Refusal(Kind.PARTITION_MISSING, partition="a")


class Shelf:
    """Makes things to open and remembers what was closed."""

    def __init__(self, most: int) -> None:
        self.environments: Environments[str] = Environments(most)
        self.opened: list[str] = []
        self.closed: list[str] = []

    def pin(self, name: str) -> Opened[str]:
        def make() -> Opened[str]:
            self.opened.append(name)
            return Opened(name, lambda: self.closed.append(name))

        return self.environments.pin((name.encode(), "items"), make)

    def use(self, *names: str) -> None:
        for name in names:
            self.pin(name).pins.pop()


def test_unused_longest_is_closed_first() -> None:
    shelf = Shelf(2)
    shelf.use("a", "b", "a", "c", "a", "d")
    assert shelf.opened == ["a", "b", "c", "d"]
    assert shelf.closed == ["b", "c"]
    assert len(shelf.environments) == 2


def test_pinned_is_never_closed() -> None:
    shelf = Shelf(2)
    pinned = [shelf.pin("a"), shelf.pin("b")]
    shelf.use("c")
    assert shelf.closed == []
    pinned[0].pins.pop()
    shelf.use("d")
    assert shelf.closed == ["a", "c"]
    assert pinned[1].handle == "b"


def test_retired_is_closed_when_nobody_uses_it() -> None:
    shelf = Shelf(4)
    opened = shelf.pin("a")
    shelf.environments.retire((b"a", "items"), GONE)
    assert shelf.closed == []
    with pytest.raises(Refusal) as found:
        shelf.pin("a")
    assert found.value is GONE
    opened.pins.pop()
    shelf.use("a")
    assert shelf.closed == ["a"]
    assert shelf.opened == ["a", "a"]


def test_each_pins_and_closes_the_retired() -> None:
    shelf = Shelf(4)
    shelf.use("a")
    held = shelf.pin("b")
    shelf.environments.retire((b"b", "items"), GONE)
    held.pins.pop()
    (found,) = shelf.environments.each()
    assert (found.handle, found.pins, shelf.closed) == ("a", [None], ["b"])


def test_a_child_of_the_fork_is_refused() -> None:
    shelf = Shelf(4)
    shelf.environments.forget_parent()
    shelf.use("a")
    shelf.environments.forget_parent()
    with pytest.raises(Refusal):
        shelf.use("a")


def test_threads_never_see_a_closed_one() -> None:
    shelf = Shelf(2)
    wrong: list[str] = []

    def run(offset: int) -> None:
        for at in range(3000):
            opened = shelf.pin("abcd"[(at * 7 + offset) % 4])
            if opened.closed:
                wrong.append(opened.handle)
            opened.pins.pop()

    threads = [threading.Thread(target=run, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(shelf.closed) > 100
