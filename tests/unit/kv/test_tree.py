"""The map of the memory engine: every version stays what it was."""

import gc
import random

from armillary.kv.tree import EMPTY, Edit, Node, Tree


def list_all(tree: Tree[int, int]) -> list[tuple[int, int]]:
    return list(tree.scan(-1, 10**9))


def test_random_edits_against_a_dictionary() -> None:
    seed = random.randrange(2**32)
    print(f"{seed=}")
    chance = random.Random(seed)
    tree: Tree[int, int] = EMPTY
    model: dict[int, int] = {}
    kept: list[tuple[Tree[int, int], dict[int, int]]] = []
    for round_ in range(60):
        edit = Edit(tree)
        for _ in range(chance.randrange(200)):
            key = chance.randrange(3000)
            if chance.random() < (0.8 if round_ % 20 < 10 else 0.2):
                edit.put(key, round_)
                model[key] = round_
            else:
                edit.delete(key)
                model.pop(key, None)
        tree = edit.tree
        kept.append((tree, dict(model)))
    for old, expected in kept:
        assert list_all(old) == sorted(expected.items())
        start, stop = sorted(chance.sample(range(3000), 2))
        part = sorted((key, value) for key, value in expected.items() if start <= key < stop)
        assert list(old.scan(start, stop)) == part
        assert list(old.scan_back(start, stop)) == part[::-1]
        assert [old.get(key) for key in range(0, 3000, 7)] == [expected.get(key) for key in range(0, 3000, 7)]


def test_ordered_filling_and_emptying() -> None:
    edit: Edit[int, int] = Edit(EMPTY)
    for key in range(5000):
        edit.put(key, key)
    full = edit.tree
    assert 1 <= full.depth <= 3
    edit = Edit(full)
    for key in range(5000):
        edit.delete(key)
    assert list_all(edit.tree) == []
    assert len(list_all(full)) == 5000


def test_old_versions_are_forgotten() -> None:
    """What nobody holds is gone: a long life of edits leaves only the nodes of the last tree."""
    before = count_nodes()
    tree: Tree[int, int] = EMPTY
    for at in range(500):
        edit = Edit(tree)
        edit.put(at * 7 % 501, at)
        tree = edit.tree
    del edit
    assert len(list_all(tree)) == 500
    assert count_nodes() - before < 100


def count_nodes() -> int:
    gc.collect()
    return sum(isinstance(found, Node) for found in gc.get_objects())
