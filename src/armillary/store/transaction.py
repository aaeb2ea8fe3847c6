"""One member of a commit while it is being made: what it has read, and what it will change.

The law: a transaction sees its own changes, has one effect for each key, and writes nothing itself: whoever made it
hands all of it to the engine at once. It is a pure function of its view and of its `Moment`, so the engine may run it
again.
"""

from typing import Final, NamedTuple

from armillary.errors import Kind, Refusal
from armillary.kv.engine import Row, View
from armillary.store.header import FILLING, ONLINE, SEALED, Header, header_seal, header_state
from armillary.store.rules import Rules, adopt_rules

_STATES: Final = {SEALED: "sealed", FILLING: "filling", ONLINE: "online"}


class Moment(NamedTuple):
    """What a work may not find out by itself: the time in ticks, and 16 random bytes for its etags."""

    ticks: int
    salt: bytes


class Overlay:
    """Reads of a view through the effects that were put on it."""

    __slots__ = ("effects", "view")

    def __init__(self, view: View) -> None:
        self.view = view
        self.effects: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        if key in self.effects:
            return self.effects[key]
        return self.view.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self.effects[key] = value

    def delete(self, key: bytes) -> None:
        self.effects[key] = None

    def stored(self, start: bytes, stop: bytes, limit: int) -> list[Row]:
        """Rows as they were before this transaction: for walks over what it does not change itself."""
        return self.view.scan(start, stop, limit=limit)


class Transaction(Overlay):
    """An overlay that knows the header, the rules of the container and the moment.

    `position` numbers its changes within the one LSN it takes; `fresh` counts the tombstones among them.
    """

    __slots__ = ("fresh", "header", "lsn", "moment", "position", "rules")

    def __init__(self, view: View, partition: bytes, rules: Rules, moment: Moment, state: int = ONLINE) -> None:
        raw = view.header
        check_header(raw, partition, rules.version, state)
        super().__init__(view)
        self.rules = rules
        self.moment = moment
        self.header = Header(raw)
        self.lsn = view.lsn + self.header.base
        self.position = 0
        self.fresh = 0
        adopt_rules(self.header, rules)

    def next_position(self) -> int:
        self.position += 1
        return self.position - 1


def check_header(raw: bytes, partition: bytes, version: int, wanted: int = ONLINE) -> None:
    """Refuse what cannot be done here now; the caller looks at the catalog again and comes back.

    A header behind the caller's version is no error: whoever changed the definition stopped between catalog and header.
    """
    state, known = header_state(raw)
    if state != wanted:
        seal = header_seal(raw) if state == SEALED else b""
        raise Refusal(Kind.PARTITION_CLOSED, partition=partition.hex(), state=_STATES.get(state, "gone"), seal=seal)
    if known > version:
        raise Refusal(Kind.DEFINITION_NEWER, partition=partition.hex(), version=known)
