"""What the members of one commit have done so far, laid over what is stored.

A work reads through it, so each sees the members before it; the engine writes at the end, one effect for each key
however many members touched it. Leaves out: the limits (`rules`) and how anything is stored.
"""

from bisect import bisect_left, insort
from typing import Protocol

from armillary.kv.engine import Changes, Row


class Source(Protocol):
    """What is stored already."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = 100) -> list[Row]: ...


class Overlay:
    """The view of a work; `lsn` is the one that the next applied member takes."""

    __slots__ = ("_effects", "_keys", "_source", "header", "lsn")

    def __init__(self, source: Source, lsn: int, header: bytes) -> None:
        self._source = source
        self._effects: dict[bytes, bytes | None] = {}
        self._keys: list[bytes] = []
        self.lsn = lsn
        self.header = header

    def get(self, key: bytes) -> bytes | None:
        if key in self._effects:
            return self._effects[key]
        return self._source.get(key)

    def scan(self, start: bytes, stop: bytes, *, reverse: bool = False, limit: int = 100) -> list[Row]:
        touched = self._keys[bisect_left(self._keys, start) : bisect_left(self._keys, stop)]
        if not touched:
            return self._source.scan(start, stop, reverse=reverse, limit=limit)
        # Each touched key can take at most one stored row away, so the first `limit` of what is left are stored here.
        rows = dict(self._source.scan(start, stop, reverse=reverse, limit=limit + len(touched)))
        for key in touched:
            value = self._effects[key]
            if value is None:
                rows.pop(key, None)
            else:
                rows[key] = value
        return sorted(rows.items(), reverse=reverse)[:limit]

    def apply(self, changes: Changes) -> None:
        """Take one member in: it has its LSN now."""
        for key, value in changes.effects.items():
            if key not in self._effects:
                insort(self._keys, key)
            self._effects[key] = value
        if changes.header is not None:
            self.header = changes.header
        self.lsn += 1

    def fold(self) -> list[tuple[bytes, bytes | None]]:
        """One effect for each key, in key order."""
        return [(key, self._effects[key]) for key in self._keys]
