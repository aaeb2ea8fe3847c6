"""What was acknowledged, kept outside of the server and of its clients: the judge of what a killed server still has.

A resource (an item, or a container as a whole) has one owner, who has one write of it under way at a time. So what may
be found after a kill is the state that was acknowledged last, or what the one unanswered write makes of it; nothing
else. A counter has many owners, who compare and set: each value is acknowledged at most once, none is skipped.

    + intent        before the request is sent
    - answer        after the answer came
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

Place = tuple[str, str]

COUNTER: Final = "counter"
UNIQUE_CLASH: Final = 3301


class Verb(StrEnum):
    """What a client does to a resource."""

    CREATE = "create"
    UPSERT = "upsert"
    REPLACE = "replace"
    DELETE = "delete"
    COUNT = "count"


class Intent(NamedTuple):
    """A write that is about to be sent. `mark` tells its effect from that of any other write; `at` is the time."""

    write: str
    verb: Verb
    place: Place
    mark: int
    ttl: int
    at: float


class Answer(NamedTuple):
    """What the server answered; `lsn` and `ts` are 0 where it said none. `at` is the time when it came."""

    write: str
    status: int
    substatus: int
    etag: str
    lsn: int
    ts: int
    at: float


class Known(NamedTuple):
    """A resource as it was acknowledged."""

    mark: int
    etag: str
    ts: int
    ttl: int

    def may_be_gone(self, now: float) -> bool:
        return self.ttl > 0 and now >= self.ts + self.ttl

    def must_be_gone(self, now: float) -> bool:
        """Its second is known, the moment within it is not."""
        return self.ttl > 0 and now >= self.ts + 1 + self.ttl


class Found(NamedTuple):
    """Everything that was read from a server after a restart, between two moments."""

    documents: Mapping[Place, Mapping[str, Any]]
    lsn: int
    began: float
    ended: float


class Settled(NamedTuple):
    """What came of the unanswered writes."""

    unanswered: int
    landed: int
    complaints: list[str]


def make_pad(mark: int) -> str:
    """What an item carries besides its mark: as much of it as the mark says, and no two alike."""
    return hashlib.sha256(str(mark).encode()).hexdigest() * (1 + mark % 13)


@dataclass
class Ledger:
    """The list; complaints are things that no server may do."""

    known: dict[Place, Known] = field(default_factory=dict)
    pending: dict[str, Intent] = field(default_factory=dict)
    counted: dict[Place, set[int]] = field(default_factory=dict)
    lsns: set[int] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    acknowledged: int = 0
    refused: int = 0

    # ---- while the server runs

    def note(self, report: Sequence[Any]) -> None:
        """Take in one report of a client."""
        sign, *fields = report
        if sign == "+":
            intent = Intent(fields[0], Verb(fields[1]), (fields[2], fields[3]), *fields[4:])
            self.pending[intent.write] = intent
        elif sign == "-":
            answer = Answer(*fields)
            intent = self.pending.pop(answer.write)
            if answer.status < 300:
                self._acknowledge(intent, answer)
            else:
                self._refuse(intent, answer)
        else:
            self.complaints.append(f"a client failed: {fields}")

    def _acknowledge(self, intent: Intent, answer: Answer) -> None:
        self.acknowledged += 1
        if answer.lsn:
            if answer.lsn in self.lsns:
                self.complaints.append(f"the LSN {answer.lsn} was given twice, the second time to {intent}")
            self.lsns.add(answer.lsn)
        if intent.verb is Verb.COUNT:
            counted = self.counted.setdefault(intent.place, {0})
            if intent.mark in counted:
                self.complaints.append(f"{intent.place} was set to {intent.mark} twice: an update is lost")
            counted.add(intent.mark)
            return
        known = self.known.pop(intent.place, None)
        if intent.verb is Verb.CREATE and known is not None and not known.may_be_gone(answer.at):
            self.complaints.append(f"{intent} was answered {answer}, but there was {known}")
        if intent.verb in (Verb.REPLACE, Verb.DELETE) and (known is None or known.must_be_gone(intent.at)):
            self.complaints.append(f"{intent} was answered {answer}, but there was {known}")
        if intent.verb is not Verb.DELETE:
            self.known[intent.place] = Known(intent.mark, answer.etag, answer.ts, intent.ttl)

    def _refuse(self, intent: Intent, answer: Answer) -> None:
        self.refused += 1
        known = self.known.get(intent.place)
        if intent.verb is Verb.COUNT:
            wrong = answer.status != 412  # another client was faster
        elif answer.status == 404:
            wrong = known is not None and not known.may_be_gone(answer.at)
        elif answer.status == 409:
            wrong = answer.substatus != UNIQUE_CLASH and (known is None or known.must_be_gone(intent.at))
        else:
            wrong = answer.status != 412
        if wrong:
            self.complaints.append(f"{intent} was answered {answer}; what is known is {known}")

    # ---- after a restart

    def settle(self, found: Found) -> Settled:
        """Judge what was found, and take it for the state from now on."""
        complaints, self.complaints = self.complaints, []
        pending = {intent.place: intent for intent in self.pending.values() if intent.verb is not Verb.COUNT}
        landed = 0
        if self.lsns and found.lsn < max(self.lsns):
            complaints.append(f"the partition is at LSN {found.lsn}, {max(self.lsns)} was acknowledged")
        for place in self.counted:
            landed += self._settle_counter(place, found, complaints)
        for place in (self.known.keys() | pending.keys() | found.documents.keys()) - self.counted.keys():
            intent, document = pending.get(place), found.documents.get(place)
            if document is None:
                wrong, came = _judge_absence(self.known.pop(place, None), intent, found)
            else:
                wrong, came = _judge_document(self.known.get(place), intent, document, found)
                self.known[place] = _read_document(document)
            complaints += [f"{place}: {reason}" for reason in wrong]
            landed += came
        unanswered = len(self.pending)
        self.pending.clear()
        return Settled(unanswered, landed, complaints)

    def _settle_counter(self, place: Place, found: Found, complaints: list[str]) -> int:
        document = found.documents.get(place)
        value = document["mark"] if document is not None else None
        newest = max(self.counted[place])
        asked = {intent.mark for intent in self.pending.values() if intent.place == place}
        if value is None or value < newest or not asked.issuperset(range(newest + 1, value + 1)):
            complaints.append(f"{place} is {value}; {newest} was acknowledged, {sorted(asked)} asked for")
            return 0
        self.counted[place].add(value)
        return int(value) - newest


def _judge_absence(known: Known | None, intent: Intent | None, found: Found) -> tuple[Iterable[str], bool]:
    """Whether a resource may be missing, and whether that shows that the unanswered write landed."""
    if known is None:
        return (), False
    if intent is not None and intent.verb is Verb.DELETE:
        return (), not known.may_be_gone(found.ended)
    has_come_and_gone = intent is not None and 0 < intent.ttl <= found.ended - intent.at
    if has_come_and_gone or known.may_be_gone(found.ended):
        return (), False
    return [f"is missing, {known} was acknowledged, {intent} is open"], False


def _judge_document(
    known: Known | None, intent: Intent | None, document: Mapping[str, Any], found: Found
) -> tuple[list[str], bool]:
    now = _read_document(document)
    wrong = [] if document["pad"] == make_pad(now.mark) else ["its body is not the one that was written"]
    if now.must_be_gone(found.began):
        wrong.append(f"is served though it has expired: {now}")
    if known is not None and now.mark == known.mark:
        if now.etag != known.etag:
            wrong.append(f"has another etag than the one acknowledged: {now}, not {known}")
        return wrong, False
    if intent is not None and intent.verb is not Verb.DELETE and now.mark == intent.mark:
        return wrong, True
    return [*wrong, f"is {now}; {known} was acknowledged, {intent} is open"], False


def _read_document(document: Mapping[str, Any]) -> Known:
    return Known(document["mark"], document["_etag"], document["_ts"], document.get("ttl", 0))
