"""A sorted map whose old versions stay whole: what the memory engine keeps its keys in.

A tree of lists at most `WIDTH` wide. Whoever holds a root holds one moment for ever: an `Edit` copies a node the first
time it touches it and changes only its own copies, so a change costs a few short lists, not the map, and readers need
no lock. Branches keep the smallest key of each child beside it.

    branch  keys [a, k, t]   values [leaf, leaf, leaf]
    leaf    keys [a, c, f]   values [value, value, value]

Nodes that empty are removed; nodes that merely shrink are not joined with their neighbours, so a map from which most
keys were deleted at random keeps up to one node for each key that is left.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, Final, Generic, NamedTuple, TypeVar

WIDTH: Final = 64

Key = TypeVar("Key", bound=Any)
Value = TypeVar("Value")


class Node:
    """One list of keys with what belongs to them; only the edit that made it changes it."""

    __slots__ = ("keys", "owner", "values")

    def __init__(self, keys: list[Any], values: list[Any], owner: object) -> None:
        self.keys = keys
        self.values = values
        self.owner = owner


class Tree(NamedTuple, Generic[Key, Value]):
    """One moment of a map: `depth` levels of branches above the leaves."""

    root: Node
    depth: int

    def get(self, key: Key) -> Value | None:
        node = self.root
        for _ in range(self.depth):
            node = node.values[max(bisect_right(node.keys, key) - 1, 0)]
        at = bisect_left(node.keys, key)
        if at < len(node.keys) and node.keys[at] == key:
            found: Value = node.values[at]
            return found
        return None

    def scan(self, start: Key, stop: Key) -> Iterator[tuple[Key, Value]]:
        """What lies in [start, stop), in order."""
        return _walk(self.root, self.depth, start, stop)

    def scan_back(self, start: Key, stop: Key) -> Iterator[tuple[Key, Value]]:
        """What lies in [start, stop), from the end."""
        return _walk_back(self.root, self.depth, start, stop)


EMPTY: Final[Tree[Any, Any]] = Tree(Node([], [], None), 0)


class Edit(Generic[Key, Value]):
    """Changes to a tree. The one they began with stays as it was; `tree` is what they come to, for keeps at the end."""

    __slots__ = ("_depth", "_mark", "_root")

    def __init__(self, tree: Tree[Key, Value]) -> None:
        self._root, self._depth = tree
        # Nodes bear a mark, not the edit: through it they would keep alive every tree there ever was.
        self._mark = object()

    @property
    def tree(self) -> Tree[Key, Value]:
        return Tree(self._root, self._depth)

    def put(self, key: Key, value: Value) -> None:
        root = self._root = self._own(self._root)
        right = self._put(root, self._depth, key, value)
        if right is not None:
            self._root = Node([root.keys[0], right.keys[0]], [root, right], self._mark)
            self._depth += 1

    def delete(self, key: Key) -> None:
        if self.tree.get(key) is None:
            return
        self._root = self._own(self._root)
        self._delete(self._root, self._depth, key)
        while self._depth and len(self._root.keys) == 1:
            self._root = self._root.values[0]
            self._depth -= 1
        if not self._root.keys:
            self._root, self._depth = EMPTY

    def _own(self, node: Node) -> Node:
        return node if node.owner is self._mark else Node(node.keys.copy(), node.values.copy(), self._mark)

    def _put(self, node: Node, depth: int, key: Key, value: Value) -> Node | None:
        """Put below a node that is ours; the right half if the node grew too wide."""
        if depth:
            at = max(bisect_right(node.keys, key) - 1, 0)
            child = node.values[at] = self._own(node.values[at])
            right = self._put(child, depth - 1, key, value)
            node.keys[at] = child.keys[0]
            if right is not None:
                node.keys.insert(at + 1, right.keys[0])
                node.values.insert(at + 1, right)
        else:
            at = bisect_left(node.keys, key)
            if at < len(node.keys) and node.keys[at] == key:
                node.values[at] = value
            else:
                node.keys.insert(at, key)
                node.values.insert(at, value)
        return self._split(node) if len(node.keys) > WIDTH else None

    def _split(self, node: Node) -> Node:
        half = len(node.keys) // 2
        right = Node(node.keys[half:], node.values[half:], self._mark)
        del node.keys[half:], node.values[half:]
        return right

    def _delete(self, node: Node, depth: int, key: Key) -> None:
        if not depth:
            at = bisect_left(node.keys, key)
            del node.keys[at], node.values[at]
            return
        at = max(bisect_right(node.keys, key) - 1, 0)
        child = node.values[at] = self._own(node.values[at])
        self._delete(child, depth - 1, key)
        if child.keys:
            node.keys[at] = child.keys[0]
        else:
            del node.keys[at], node.values[at]


def _walk(node: Node, depth: int, start: Any, stop: Any) -> Iterator[tuple[Any, Any]]:
    keys = node.keys
    last = bisect_left(keys, stop)
    if depth:
        for child in node.values[max(bisect_right(keys, start) - 1, 0) : last]:
            yield from _walk(child, depth - 1, start, stop)
    else:
        first = bisect_left(keys, start)
        yield from zip(keys[first:last], node.values[first:last], strict=True)


def _walk_back(node: Node, depth: int, start: Any, stop: Any) -> Iterator[tuple[Any, Any]]:
    keys = node.keys
    last = bisect_left(keys, stop)
    if depth:
        for child in reversed(node.values[max(bisect_right(keys, start) - 1, 0) : last]):
            yield from _walk_back(child, depth - 1, start, stop)
    else:
        first = bisect_left(keys, start)
        yield from zip(reversed(keys[first:last]), reversed(node.values[first:last]), strict=True)
