"""An item moves to another key by a create there and a delete here; a crash anywhere between them is found and mended.

    1. create   the new item, with `_movedFrom`: the old key, the old etag, the name of this move
    2. decide   the old item is replaced by itself with `_movingTo`, under the etag of 1: the new key, the same name
    3. confirm  the mark is taken off the new item
    4. delete   the old item

    what a crash leaves                              what it means         what mends it
    the new one marked, the old one as it was        not decided           TAKEN_BACK: the old one is touched, so that
                                                                           2 cannot come any more; the new one deleted
    the new one marked, the old one changed or gone  it never will be      TAKEN_BACK: the new one is deleted
    the old one locked                               decided               FINISHED: 3 and 4 are done

The laws: step 2 decides, by a condition that only one move of an item can meet, so an item has one successor however
many clients move, change or repair it at once; 3 comes before 4, so what is marked while nothing is locked for it was
never decided. Nothing is deleted but under an etag that was seen, and no write that was acknowledged is lost. Whoever
writes or deletes an item with a mark or a lock mends it first. Readers may see both items between 1 and 4. A program
that does not know the marks must not write items that have one.

Create and delete alone would need no mark that is taken off, and cost half. But then a client that was killed between
them leaves an item that looks like a finished move once somebody has moved the old one elsewhere: both would stay.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from secrets import token_hex
from typing import Any, Final, NamedTuple

from armillary.clients.calls import Item, Options, Reason, Steps, attempt
from armillary.errors import Refusal
from armillary.keys.synthetic import Key, Strategy
from armillary.keys.texts import refuse

MOVED_FROM: Final = "_movedFrom"
MOVING_TO: Final = "_movingTo"
TRIES: Final = 8

_SYSTEM: Final = frozenset({"_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"})
_NAME_BYTES: Final = 9


class Mend(Enum):
    """What became of a move that was cut."""

    FINISHED = "it was decided: the old item is gone, the new one is the item"
    TAKEN_BACK = "it was not decided: the new item is gone, the old one is the item"


class Mended(NamedTuple):
    """One item whose move was cut."""

    item_id: str
    was: Key
    now: Key
    what: Mend


class Mark(NamedTuple):
    """Where a new item was moved from: the old key, the old etag, the name of the move."""

    key: Key
    etag: str
    name: str


class Lock(NamedTuple):
    """Where an old item is moved to: the new key, the name of the move."""

    key: Key
    name: str


class Found(NamedTuple):
    """An item and the key it is under."""

    key: Key
    item: Item


class Again(Enum):
    """An outcome that is none: something had to be mended first, or somebody was faster; look again."""

    AGAIN = "look again"


AGAIN: Final = Again.AGAIN


@dataclass(frozen=True)
class Mover:
    """Moves and mends."""

    strategy: Strategy
    reason_of: Callable[[Exception], Reason | None]

    def move(self, old: Found, body: Item, etag: str, options: Options) -> Steps[Any]:
        """All steps: the item under its new key, or the error of what was not as it had to be, with nothing changed."""
        plain = {name: value for name, value in self.strategy.strip(body).items() if name not in _SYSTEM}
        item: Item = self.strategy.apply(plain)
        key, item_id = self.strategy.for_item(item), old.item["id"]
        mark = Mark(old.key, etag or old.item["_etag"], token_hex(_NAME_BYTES))
        made = yield from attempt("create", key, {**item, MOVED_FROM: _write_mark(mark)}, options=options)
        if isinstance(made, Exception):
            return (yield from self._give_way(Found(key, {"id": item_id}), made, options))
        lock = {**old.item, MOVING_TO: {"key": _write_key(key), "move": mark.name}}
        locked = yield from attempt("replace", old.key, item_id, lock, mark.etag, options=options)
        if isinstance(locked, Exception):
            if self.reason_of(locked) is not None:
                yield from self._take_back(Found(key, {"id": item_id, **(made or {})}), mark, options)
            return locked
        there = yield from self._know(locked, old.key, item_id, options)
        if there is None:
            return made  # a repair was faster
        return (yield from self._finish(Found(old.key, there), Lock(key, mark.name), made, options))

    def settle(self, found: Found, options: Options) -> Steps[Mend | Again | None]:
        """Mend the move that an item is part of, if it was cut; None when the item may be written as it is."""
        lock, mark = read_lock(found.item), read_mark(found.item)
        if lock is not None:
            yield from self._finish(found, lock, None, options)
            return Mend.FINISHED
        return None if mark is None else (yield from self._settle_new(found, mark, options))

    def mend(self, items: Sequence[Item], dry_run: bool, options: Options) -> Steps[list[Mended]]:
        """Mend whatever of these items was cut, or only tell."""
        mended = []
        for item in items:
            key, lock, mark = self.strategy.find_key(item), read_lock(item), read_mark(item)
            if key is None or (lock is None and mark is None):
                continue
            found = Found(key, item)
            what = yield from (self._look(found, options) if dry_run else self.settle(found, options))
            if isinstance(what, Mend):
                was, now = (key, lock.key) if lock else (mark.key, key) if mark else (key, key)
                mended.append(Mended(item["id"], was, now, what))
        return mended

    def _look(self, found: Found, options: Options) -> Steps[Mend | Again | None]:
        """What `settle` would do."""
        mark = read_mark(found.item)
        if read_lock(found.item) is not None or mark is None:
            return Mend.FINISHED
        old = yield from self._read(mark.key, found.item["id"], options)
        return Mend.FINISHED if old is not None and _is_locked_for(old, mark) else Mend.TAKEN_BACK

    def _finish(self, old: Found, lock: Lock, new: Item | None, options: Options) -> Steps[Any]:
        """Steps 3 and 4; `new` is the new item as its client has made it. What comes of 3 is returned."""
        item_id = old.item["id"]
        for _ in range(TRIES):
            new = yield from self._know(new, lock.key, item_id, options)
            mark = None if new is None else read_mark(new)
            if new is None or mark is None or mark.name != lock.name:
                break
            outcome = yield from attempt("replace", lock.key, item_id, drop_marks(new), new["_etag"], options=options)
            if not isinstance(outcome, Exception):
                new = outcome
                break
            if self.reason_of(outcome) is None:
                raise outcome
            new = None
        else:
            raise _refuse_change(lock.key, item_id)
        yield from self._try("delete", old.key, item_id, old.item["_etag"], options=options)
        return new

    def _settle_new(self, new: Found, mark: Mark, options: Options) -> Steps[Mend | Again]:
        item_id = new.item["id"]
        for _ in range(TRIES):
            old = yield from self._read(mark.key, item_id, options)
            if old is not None and _is_locked_for(old, mark):
                yield from self._finish(Found(mark.key, old), Lock(new.key, mark.name), None, options)
                return Mend.FINISHED
            if old is None or old["_etag"] != mark.etag:
                etag = new.item["_etag"]
                is_done = yield from self._try("delete", new.key, item_id, etag, options=options)
                return Mend.TAKEN_BACK if is_done else AGAIN
            # Its client may only be slow: with another etag it cannot decide any more.
            yield from self._try("replace", mark.key, item_id, old, mark.etag, options=options)
        raise _refuse_change(mark.key, item_id)

    def _give_way(self, new: Found, error: Exception, options: Options) -> Steps[Any]:
        """What comes of a create that failed: an item that is itself half moved is mended, any other stays."""
        if self.reason_of(error) is Reason.EXISTS:
            there = yield from self._read(new.key, new.item["id"], options)
            if there is None or (yield from self.settle(Found(new.key, there), options)) is not None:
                return AGAIN
        return error

    def _take_back(self, new: Found, mark: Mark, options: Options) -> Steps[None]:
        there = yield from self._know(new.item, new.key, new.item["id"], options)
        if there is not None and read_mark(there) == mark:
            yield from self._try("delete", new.key, there["id"], there["_etag"], options=options)

    def _know(self, item: Item | None, key: Key, item_id: str, options: Options) -> Steps[Item | None]:
        """An item as it is: what a write has answered, or, where its caller wanted no answer, what is read."""
        return item if item and "_etag" in item else (yield from self._read(key, item_id, options))

    def _read(self, key: Key, item_id: str, options: Options) -> Steps[Item | None]:
        found = yield from attempt("read", key, item_id, options=options)
        if isinstance(found, Exception):
            if self.reason_of(found) is not Reason.MISSING:
                raise found
            return None
        item: Item = found
        return item

    def _try(self, name: str, *given: Any, options: Options) -> Steps[bool]:
        """A call under an etag: whether it was in time. If not, whoever looks again sees what others have done."""
        outcome = yield from attempt(name, *given, options=options)
        if isinstance(outcome, Exception) and self.reason_of(outcome) is None:
            raise outcome
        return not isinstance(outcome, Exception)


def read_mark(item: Item) -> Mark | None:
    """Where an item was moved from; None for one without a mark."""
    mark = item.get(MOVED_FROM)
    key = _read_key(mark)
    if key is None or not isinstance(mark, dict):
        return None
    etag, name = mark.get("etag"), mark.get("move")
    return Mark(key, etag, name) if isinstance(etag, str) and isinstance(name, str) else None


def read_lock(item: Item) -> Lock | None:
    """Where an item is moved to; None for one that is not locked."""
    lock = item.get(MOVING_TO)
    key = _read_key(lock)
    if key is None or not isinstance(lock, dict) or not isinstance(lock.get("move"), str):
        return None
    return Lock(key, lock["move"])


def drop_marks(item: Item) -> Item:
    """The item without what a move has put in."""
    return {name: value for name, value in item.items() if name not in (MOVED_FROM, MOVING_TO)}


def _refuse_change(key: Key, item_id: str) -> Refusal:
    return refuse(f"the item {item_id!r} under {key!r} is changed again and again by others")


def _is_locked_for(old: Item, mark: Mark) -> bool:
    lock = read_lock(old)
    return lock is not None and lock.name == mark.name


def _write_mark(mark: Mark) -> dict[str, Any]:
    return {"key": _write_key(mark.key), "etag": mark.etag, "move": mark.name}


def _write_key(key: Key) -> list[Any]:
    return list(key) if isinstance(key, tuple) else [key]


def _read_key(mark: object) -> Key | None:
    key = mark.get("key") if isinstance(mark, dict) else None
    if not isinstance(key, list) or not key:
        return None
    return key[0] if len(key) == 1 else tuple(key)
