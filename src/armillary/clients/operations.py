"""What a container seen through its synthetic key does for each call, as steps.

    create            the key is made and put in
    upsert, replace   the item stays under the key it has while its sources may give that key; else the change is
                      refused, or the item is moved
    read, delete      under the key that its sources give; where they give several (a random suffix, earlier counts, a
                      source left out), all of them are asked and the first in their order counts

Where items move, whoever writes or deletes one reads it first: only so is a move that was cut short seen before its
mark is overwritten (`moves`). What a caller did not bind to an etag is then bound to the one that was read, and tried
again when somebody was faster.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from armillary.clients.calls import Ask, Item, Options, Reason, Steps, ask, attempt
from armillary.clients.fanout import FanOut, open_fan_out
from armillary.clients.moves import AGAIN, TRIES, Found, Mover, drop_marks
from armillary.errors import Kind, Refusal
from armillary.keys import read_definition
from armillary.keys.synthetic import Key
from armillary.keys.texts import refuse, refuse_definition

Sources: TypeAlias = Mapping[str, object]


@dataclass(frozen=True)
class Operations(Mover):
    """Every operation; `moves` says whether an item may move to another key."""

    parallel: int = 8
    moves: bool = False

    def check(self) -> Steps[None]:
        """Hold the container's own key against the one that is made: with another, all items would lack theirs."""
        found = read_definition((yield from ask("definition", options={})))
        wanted = self.strategy.definition
        if [path.names for path in found.paths] != [path.names for path in wanted.paths]:
            texts = [", ".join(path.text for path in definition.paths) for definition in (found, wanted)]
            raise refuse_definition(f"the container has its key at {texts[0]}, and this one is made at {texts[1]}")
        if found.version != wanted.version and self.strategy.is_balanced:
            raise refuse_definition(
                "suffixes are balanced for a key of version 2 only, and the container's has another"
            )

    def create(self, item: Item, options: Options) -> Steps[Item]:
        item = self.strategy.apply(item)
        made: Item = yield from ask("create", self.strategy.for_item(item), item, options=options)
        return made

    def upsert(self, item: Item, options: Options) -> Steps[Item]:
        kept = self.strategy.find_key(item)
        keys = [kept] if kept is not None else self._find_sure_keys(item)
        if len(keys) == 1 and not self.moves:
            self._must_fit(item, keys[0])
            made: Item = yield from ask("upsert", keys[0], self.strategy.stamp(item, keys[0]), options=options)
            return made
        if not isinstance(item.get("id"), str):
            raise refuse("an item that may be there already needs its id")
        if kept is not None and not self.strategy.may_have(item, kept):
            keys = [*keys, *self.strategy.keys_of(item)]  # it may have been moved already
        once = partial(self._upsert_once, item, kept, keys, options)
        done: Item = yield from self._persist(once, {Reason.CHANGED, Reason.MISSING})
        return done

    def read(self, item_id: str, sources: Sources, options: Options) -> Steps[Item]:
        return (yield from self._find(self._list_keys(sources), item_id, options)).item

    def replace(self, item_id: str, item: Item, was: Sources | None, etag: str, options: Options) -> Steps[Item]:
        if item.get("id", item_id) != item_id:
            raise refuse(f"an item keeps its id: {item_id!r} cannot become {item['id']!r}")
        body = {**item, "id": item_id}
        kept = self.strategy.find_key(body) if was is None else None
        keys = self._list_keys(was) if was is not None else [kept] if kept is not None else self.strategy.keys_of(body)
        once = partial(self._replace_once, keys, body, etag, options)
        done: Item = yield from self._persist(once, self._find_races(etag))
        return done

    def delete(self, item_id: str, sources: Sources, etag: str, options: Options) -> Steps[None]:
        keys = self._list_keys(sources)
        once = partial(self._delete_once, keys, item_id, etag, options)
        yield from self._persist(once, self._find_races(etag))

    def fan_out(self, sources: Sources | None, size: int, order_by: str, continuation: str, options: Options) -> FanOut:
        """A feed of all items with these sources, or of everything."""
        keys: Sequence[Key | None] = [None] if sources is None else self.strategy.for_read(**sources)
        return open_fan_out(keys, (size, self.parallel), order_by, continuation, options)

    def _upsert_once(self, item: Item, kept: Key | None, keys: Sequence[Key], options: Options) -> Steps[Any]:
        found = yield from self._search(keys, item["id"], options)
        if isinstance(found, Found):
            return (yield from self._rewrite(found, item, "", options))
        fits = kept is not None and self.strategy.may_have(item, kept)
        plain = item if fits else self.strategy.strip(item)
        fresh = self.strategy.apply(drop_marks(plain))
        made = yield from attempt("create", self.strategy.for_item(fresh), fresh, options=options)
        was_faster = isinstance(made, Exception) and self.reason_of(made) is Reason.EXISTS
        return AGAIN if was_faster else made

    def _replace_once(self, keys: Sequence[Key], body: Item, etag: str, options: Options) -> Steps[Any]:
        found = yield from self._locate(keys, body["id"], options)
        return (yield from self._rewrite(found, body, etag, options))

    def _delete_once(self, keys: Sequence[Key], item_id: str, etag: str, options: Options) -> Steps[Any]:
        found = yield from self._locate(keys, item_id, options)
        if self.moves:
            if (yield from self.settle(found, options)) is not None:
                return AGAIN
            etag = etag or found.item["_etag"]
        return (yield from attempt("delete", found.key, item_id, etag, options=options))

    def _find_races(self, etag: str) -> set[Reason]:
        """What means that somebody was faster, and not that the caller's own condition failed."""
        return {Reason.CHANGED} if self.moves and not etag else set()

    def _persist(self, once: Callable[[], Steps[Any]], races: set[Reason]) -> Steps[Any]:
        """Try again while others are faster."""
        for _ in range(TRIES):
            outcome = yield from once()
            if outcome is not AGAIN and not isinstance(outcome, Exception):
                return outcome
            if isinstance(outcome, Exception) and self.reason_of(outcome) not in races:
                raise outcome
        if isinstance(outcome, Exception):
            raise outcome
        raise refuse(f"others were faster {TRIES} times: the item is being moved again and again")

    def _list_keys(self, sources: Sources) -> list[Key]:
        keys = self.strategy.for_read(**sources)
        if not all(map(self.strategy.is_whole, keys)):
            raise refuse("one item is found by all levels of its key, and the sources of some are not given")
        return keys

    def _find_sure_keys(self, item: Item) -> list[Key]:
        self.strategy.for_item(item, _refuse_choice)
        return self.strategy.keys_of(item)

    def _search(self, keys: Sequence[Key], item_id: str, options: Options) -> Steps[Found | Exception]:
        """The item under the first key that has it, else what was answered where it is not."""
        missing: Exception = Refusal(Kind.ITEM_MISSING, id=item_id)
        for at in range(0, len(keys), self.parallel):
            some = keys[at : at + self.parallel]
            outcomes = yield [Ask("read", (key, item_id), options) for key in some]
            for key, outcome in zip(some, outcomes, strict=True):
                if not isinstance(outcome, Exception):
                    return Found(key, outcome)
                if self.reason_of(outcome) is not Reason.MISSING:
                    raise outcome
                missing = outcome
        return missing

    def _find(self, keys: Sequence[Key], item_id: str, options: Options) -> Steps[Found]:
        found = yield from self._search(keys, item_id, options)
        if isinstance(found, Exception):
            raise found
        return found

    def _locate(self, keys: Sequence[Key], item_id: str, options: Options) -> Steps[Found]:
        """Where an item is; one that can be under a single key only, and cannot move, need not be read."""
        if len(keys) == 1 and not self.moves:
            return Found(keys[0], {})
        return (yield from self._find(keys, item_id, options))

    def _rewrite(self, found: Found, body: Item, etag: str, options: Options) -> Steps[Any]:
        """The outcome of a replacement under the key the item is under, or of its move to another."""
        if not self.moves:
            self._must_fit(body, found.key)
            return (yield from attempt("replace", *self._name(found.key, body), etag, options=options))
        if (yield from self.settle(found, options)) is not None:
            return AGAIN
        body = drop_marks(body)
        if self.strategy.may_have(body, found.key):
            bound = etag or found.item["_etag"]
            return (yield from attempt("replace", *self._name(found.key, body), bound, options=options))
        return (yield from self.move(found, body, etag, options))

    def _name(self, key: Key, body: Item) -> tuple[Key, str, Item]:
        return key, body["id"], self.strategy.stamp(body, key)

    def _must_fit(self, body: Item, key: Key) -> None:
        if not self.strategy.may_have(body, key):
            raise refuse(
                f"a source of the item {body.get('id')!r} has changed: it is under {key!r}, and belongs under "
                f"{self.strategy.keys_of(body)[0]!r} now; leave the source as it was, or let items move"
            )


def _refuse_choice(count: int) -> int:
    raise refuse(f"nobody knows under which of {count} random suffixes the item may be: create it, or read it first")
