"""Many keys read as one feed: side by side, in pages, with one continuation for all.

    no order       up to `parallel` keys at a time, a page of each in turn; within a key the service's own order
    an order       all keys at once, the smallest item first, then by key; every key must come in this order itself
                   (by `/id` from Armillary; by what a service promises from others), and one that does not is refused

    lanes          key 0 at "a7"   key 1 at "c2"   key 2 at ""   ...        one for each key that is being read
    continuation   AK1~ base64 of {"of": these keys, "lanes": [[0, "a7", ...], ...], "next": 3, "after": the last item}

The laws: an item that nobody touches comes exactly once, whatever the pages and wherever a reader stops and goes on;
a page is never cut without an order, so it may hold fewer items than asked for; with an order, a reader that goes on
reads the pages again that were begun, and leaves out what is not behind the last item (items of one key that are alike
in the order may come twice when the last one was deleted meanwhile). No position is an offset. A continuation belongs
to its keys and its query: with more suffixes it is another feed.
"""

import heapq
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from armillary.clients.calls import Ask, Item, Options, Page, Steps
from armillary.errors import Kind, Refusal
from armillary.keys.path import KeyPath, parse_path
from armillary.keys.synthetic import Key
from armillary.values import UNDEFINED, KeyValue, is_number, key_value, value_at

_MARK: Final = "AK1~"
_FINGERPRINT_BYTES: Final = 9

Rank: TypeAlias = tuple[int, Any]

_FIRST: Final = (0, None)


@dataclass(eq=False, slots=True)
class Lane:
    """One key that is being read: the token of its page, and what of that page was read and not given yet."""

    index: int
    token: str = ""
    items: deque[Item] | None = None
    next: str = ""
    last: Rank | None = None  # with an order: where the page before this one ended
    end: Rank | None = None  # and where this one ends
    resumed: bool = False


class Last(NamedTuple):
    """The last item of an ordered feed that was given: where it stands in the order, its key and its id."""

    rank: Rank
    key: int
    item_id: object


@dataclass
class FanOut:
    """A feed of many keys; `next_page` until `is_over`."""

    keys: Sequence[Key | None]
    size: int
    parallel: int
    options: Options
    lanes: deque[Lane] = field(default_factory=deque)
    unstarted: int = 0

    @property
    def is_over(self) -> bool:
        return not self.lanes and self.unstarted == len(self.keys)

    @property
    def continuation(self) -> str:
        """Where the next page begins, as text; "" when the feed is over."""
        if self.is_over:
            return ""
        lanes = [[lane.index, lane.token, lane.last] for lane in self.lanes]
        position = {"of": self._fingerprint(), "lanes": lanes, "next": self.unstarted, **self._more()}
        return _MARK + urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")

    def next_page(self) -> Steps[Page]:
        """Whole pages of the keys in turn, as many as fit."""
        items: list[Item] = []
        while len(items) < self.size and self._start_lanes(self.parallel):
            lane = self.lanes[0]
            if lane.items is None:
                yield from self._fetch()
            found = lane.items or ()
            if items and len(items) + len(found) > self.size:
                break
            items += found
            self.lanes.popleft()
            if lane.next:
                self.lanes.append(Lane(lane.index, lane.next))
        return Page(items, self.continuation)

    def go_on(self, position: dict[str, Any]) -> bool:
        """Go on where another reader has stopped; False when its keys were others, ValueError for no position."""
        if position["of"] != self._fingerprint():
            return False
        self.unstarted = _take(position["next"], int)
        lanes = [
            Lane(_take(index, int), _take(token, str), last=_read_rank(last), resumed=True)
            for index, token, last in position["lanes"]
        ]
        indexes = {lane.index for lane in lanes}
        if len(indexes) < len(lanes) or not indexes <= set(range(self.unstarted)) or self.unstarted > len(self.keys):
            raise ValueError("its lanes are no lanes")
        self.lanes = deque(lanes)
        return True

    def _start_lanes(self, most: int) -> bool:
        while len(self.lanes) < most and self.unstarted < len(self.keys):
            self.lanes.append(Lane(self.unstarted))
            self.unstarted += 1
        return bool(self.lanes)

    def _fetch(self) -> Steps[None]:
        """Read the next page of every lane that has none."""
        lanes = [lane for lane in self.lanes if lane.items is None]
        for at in range(0, len(lanes), self.parallel):
            some = lanes[at : at + self.parallel]
            size = self._asked_size()
            outcomes = yield [Ask("page", (self.keys[lane.index], size, lane.token), self.options) for lane in some]
            for lane, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    raise outcome
                self._receive(lane, outcome)

    def _receive(self, lane: Lane, page: Page) -> None:
        lane.items, lane.next = deque(page.items), page.next

    def _fingerprint(self) -> str:
        asked = [self.options.get(name) for name in ("query", "parameters")]
        text = json.dumps([self.keys, *self._more(), asked], default=str)
        return urlsafe_b64encode(blake2b(text.encode(), digest_size=_FINGERPRINT_BYTES).digest()).decode()

    def _asked_size(self) -> int:
        return self.size

    def _more(self) -> dict[str, Any]:
        """What else a position holds; its names are part of what tells feeds apart."""
        return {}


@dataclass
class OrderedFanOut(FanOut):
    """The same in the order of a path."""

    path: KeyPath = field(default=KeyPath("/id", ("id",)))
    heads: list[tuple[Rank, int, Lane]] = field(default_factory=list)
    after: Last | None = None
    begun_size: int = 0  # of the pages that another reader had begun: they are read again as they were

    def next_page(self) -> Steps[Page]:
        """The smallest items of all keys."""
        items: list[Item] = []
        while len(items) < self.size and self._start_lanes(len(self.keys)):
            if any(lane.items is None for lane in self.lanes):
                yield from self._fetch()
                continue
            rank, index, lane = heapq.heappop(self.heads)
            assert lane.items
            items.append(lane.items.popleft())
            self.after = Last(rank, index, items[-1].get("id"))
            self._offer(lane)
        return Page(items, self.continuation)

    def go_on(self, position: dict[str, Any]) -> bool:
        same = super().go_on(position)
        if same:
            rank, key, item_id = position[f"after by {self.path.text}"]
            self.after = Last(_read_rank(rank) or _FIRST, _take(key, int), item_id)
            self.begun_size = max(_take(position["size"], int), 1)
        return same

    def _receive(self, lane: Lane, page: Page) -> None:
        ranks = [lane.last or _FIRST, *map(self._rank, page.items)]
        if any(later < earlier for earlier, later in pairwise(ranks)):
            reason = f"The items of {self.keys[lane.index]!r} do not come in the order of {self.path.text}"
            raise Refusal(Kind.BAD_REQUEST, reason=reason)
        super()._receive(lane, page)
        lane.end = ranks[-1]
        if lane.resumed:
            lane.items = deque(self._leave_out(lane.index, page.items))
            lane.resumed = not lane.items
        self._offer(lane)

    def _offer(self, lane: Lane) -> None:
        """Put the lane's next item among the heads, or move the lane on to its next page, or let it end."""
        if lane.items:
            heapq.heappush(self.heads, (self._rank(lane.items[0]), lane.index, lane))
        elif lane.next:
            lane.token, lane.last, lane.items = lane.next, lane.end, None
        else:
            self.lanes.remove(lane)

    def _leave_out(self, index: int, items: list[Item]) -> list[Item]:
        """What of a page is behind the last item that was given."""
        if self.after is None:
            return items
        rank, key, item_id = self.after
        ties = [
            at for at, item in enumerate(items) if (self._rank(item), index, item.get("id")) == (rank, key, item_id)
        ]
        rest = items[ties[-1] + 1 :] if ties else items
        return [item for item in rest if (self._rank(item), index) >= (rank, key)]

    def _rank(self, item: Item) -> Rank:
        return _rank_value(value_at(item, self.path.names))

    def _asked_size(self) -> int:
        return self.begun_size or self.size

    def _more(self) -> dict[str, Any]:
        return {f"after by {self.path.text}": self.after, "size": self._asked_size()}


def open_fan_out(
    keys: Sequence[Key | None], limits: tuple[int, int], order_by: str, continuation: str, options: Options
) -> FanOut:
    """A feed over these keys; `limits` are the items of a page, and the calls side by side."""
    size, parallel = limits
    if min(limits) < 1:
        raise Refusal(Kind.BAD_REQUEST, reason="A page has one item or more, and one call or more goes side by side")
    fan = FanOut(keys, size, parallel, options)
    if order_by:
        fan = OrderedFanOut(keys, size, parallel, options, path=parse_path(order_by, "order"))
    if continuation:
        _go_on(fan, continuation)
    return fan


def _go_on(fan: FanOut, continuation: str) -> None:
    try:
        code = continuation.removeprefix(_MARK)
        if code == continuation:
            raise ValueError("it has another beginning")
        same = fan.go_on(json.loads(urlsafe_b64decode(code + "=" * (-len(code) % 4))))
    except (ValueError, TypeError, KeyError, IndexError):
        raise Refusal(Kind.BAD_CONTINUATION, reason="it is none of a read of several keys") from None
    if not same:
        raise Refusal(Kind.BAD_CONTINUATION, reason="it belongs to other keys, another order or another query")


def _rank_value(value: KeyValue) -> Rank:
    """Where a value stands: undefined, null, false, true, numbers, texts by their code points."""
    if value is UNDEFINED or value is None:
        return (int(value is None), None)
    return (2, value) if isinstance(value, bool) else (3, value) if is_number(value) else (4, value)


def _read_rank(value: Any) -> Rank | None:
    if value is None:
        return None
    kind, content = value
    if (kind, content) not in (_FIRST, _rank_value(key_value(content))):
        raise ValueError("it stands nowhere in the order")
    return (kind, content)


def _take(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError("it is of another type")
    return value
