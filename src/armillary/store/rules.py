"""What a work must know about its container, and what follows from it for one item.

A `Rules` is made of one version of a container's definition and handed to every work; the header of a partition says
which version it follows, so nobody works by old rules for long. Leaves out: what only the APIs care about.

The AGE entries of a partition follow the default ttl, by steps that the keeper takes (`expiry`):

    OFF -> STARTING -> BUILDING -> COMPLETE     the default became positive
    COMPLETE -> CLEARING -> OFF                 the default is positive no longer

A writer keeps the entries of what it writes right in every one of these states.
"""

from dataclasses import dataclass
from typing import Final

from armillary.clock import TICKS_PER_SECOND
from armillary.store.header import Header
from armillary.store.layout import NEVER, NO_TTL, Envelope

KEY_BYTES: Final = 20 * 10**9
OFF, BUILDING, COMPLETE, CLEARING, STARTING = range(5)
_TURNED_ON: Final = {
    OFF: STARTING,
    STARTING: STARTING,
    BUILDING: BUILDING,
    COMPLETE: COMPLETE,
    CLEARING: STARTING,  # from the first item again: writers made no entries meanwhile
}
_TURNED_OFF: Final = {OFF: OFF, STARTING: CLEARING, BUILDING: CLEARING, COMPLETE: CLEARING, CLEARING: CLEARING}


@dataclass(frozen=True, slots=True)
class Rules:
    """One version of a container, as the store needs it.

    `default_ttl`: None = off, then nothing ever expires; -1 = only items with a ttl of their own; else seconds.
    `unique`: for each unique-key rule the paths it names, each a tuple of property names.
    `owner`: database and container numbers; `prefix`: the `_self` of the container's documents.
    `key_bytes`: what the items of one key value may take together; `note`: what a message about it adds.
    """

    version: int
    owner: tuple[int, int]
    prefix: bytes
    default_ttl: int | None = None
    unique: tuple[tuple[tuple[str, ...], ...], ...] = ()
    key_bytes: int = KEY_BYTES
    note: str = ""

    @property
    def ages(self) -> bool:
        """Whether an item without a ttl of its own expires."""
        return self.default_ttl is not None and self.default_ttl > 0


def first_aging(rules: Rules) -> int:
    """The state of an empty partition."""
    return COMPLETE if rules.ages else OFF


def adopt_rules(header: Header, rules: Rules) -> None:
    """Let the partition follow this version, when it is newer than the one it follows."""
    if rules.version > header.version:
        header.version = rules.version
        header.aging = (_TURNED_ON if rules.ages else _TURNED_OFF)[header.aging]


def expires_at(envelope: Envelope, rules: Rules) -> int | None:
    """The moment in ticks from which this item is not there any more, or None."""
    if rules.default_ttl is None or envelope.ttl == NEVER:
        return None
    seconds = rules.default_ttl if envelope.ttl == NO_TTL else envelope.ttl
    return None if seconds < 0 else envelope.time + seconds * TICKS_PER_SECOND


def has_expired(envelope: Envelope, rules: Rules, ticks: int) -> bool:
    if rules.default_ttl is None:
        return False
    moment = expires_at(envelope, rules)
    return moment is not None and moment <= ticks
