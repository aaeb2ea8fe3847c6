"""Puts questions to a server of its own and tells the answers without what may differ between two servers.

Rids and etags are told by the order in which they were first seen; LSNs, session tokens, range ids, positions and
activity ids are not told. Feeds over several ranges end their pages where they like, so a walk is told as a whole; what
others wrote while it lasted is left out. A charge may differ by the partitions that were visited, and by nothing else.
"""

import re
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final

from tests.model.questions import DEEP, KEY_NAMES, PLAIN, UNSAID, Act, Question, Recall, name_item
from tests.unit.api.nosql.account import NOW, Account

from armillary.admission import Admission
from armillary.clock import TICKS_PER_SECOND, Clock
from armillary.json import dump, load
from armillary.kv.engine import Engine
from armillary.kv.memory import MemoryEngine
from armillary.kv.steps import Pause, Result, Steps
from armillary.meter import MeterMap, Meters
from armillary.wire.http import Response, format_date

STEP: Final = TICKS_PER_SECOND // 20
DEFINITIONS: Final[Mapping[str, dict[str, Any]]] = {
    PLAIN: {
        "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/mark", "/n"]}]},
        "defaultTtl": -1,
    },
    DEEP: {"partitionKey": {"paths": ["/at/region", "/at/user", "/at/session"], "kind": "MultiHash", "version": 2}},
}
_NAMES: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[A-Za-z0-9+-]{22}==")
_TOLD: Final = ("x-ms-request-charge", "content-type", "x-ms-substatus", "x-ms-alt-content-path", "x-ms-item-count")
_PRESENT: Final = ("x-ms-session-token", "lsn", "x-ms-documentdb-partitionkeyrangeid", "x-ms-content-path", "etag")
_LATEST: Final = {"a-im": "Incremental Feed"}
_ITEM_PRICE: Final = 0.05
_KB_PRICE: Final = 1 / 11

Headers = dict[str, str]


class _Server(Account):
    """An account whose waits are filled by somebody else's work."""

    def __init__(self, clock: Clock) -> None:
        engine = MemoryEngine()
        # Hours lie between two questions: throughput refuses none of them.
        hours = count(0.0, 3600.0)
        meters = Meters(MeterMap(1, Clock(monotonic=lambda: next(hours)), slots=256))
        super().__init__(engine, clock, Admission(engine, meters))
        self.pause: Callable[[], None] = lambda: None

    def drive(self, steps: Steps[Result]) -> Result:
        return super().drive(self._without_pauses(steps))

    def _without_pauses(self, steps: Steps[Result]) -> Steps[Result]:
        try:
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    self.pause()
                    step = steps.send(None)
                    continue
                try:
                    sent = yield step
                except Exception as error:  # noqa: BLE001 - not handled here: thrown on into the operation
                    step = steps.throw(error)
                else:
                    step = steps.send(sent)
        except StopIteration as end:
            result: Result = end.value
            return result


class _Stroll:
    """A walk that goes on over many questions: what it saw, and what was written meanwhile."""

    def __init__(self) -> None:
        self.token = ""
        self.over = False
        self.seen: list[str] = []
        self.touched: set[str] = set()


class Player:
    """One server with a plain and a hierarchical container, both made with the same throughput."""

    def __init__(self, throughput: int) -> None:
        self._ticks = NOW * TICKS_PER_SECOND
        self._waited = 0.0
        self.account = _Server(Clock(ticks=lambda: self._ticks, monotonic=self._wait))
        self.account.drive(self.account.database.recover())
        self._must("POST", "/dbs", {"id": "d"})
        for name, definition in DEFINITIONS.items():
            self._must("POST", "/dbs/d/colls", {"id": name, **definition}, {"x-ms-offer-throughput": str(throughput)})
        self._links = {name: load(self._must("GET", f"/dbs/d/colls/{name}").body)["_self"] for name in DEFINITIONS}
        self._memory: dict[Recall, str] = {}
        self._labels: dict[str, str] = {}
        self._strolls: dict[str, _Stroll] = {}
        self._positions: dict[str, Headers] = {}
        self._acts: dict[Act, Callable[[Question], object]] = {
            Act.ASK: self._ask,
            Act.PAGE: self._page,
            Act.WALK: self._walk,
            Act.STROLL: self._stroll,
            Act.CHANGES: self._changes,
            Act.FOLLOW: self._follow,
        }

    @property
    def engine(self) -> Engine:
        return self.account.engine

    def answer(self, question: Question) -> object:
        """What this server says, without what may differ."""
        self._ticks += STEP
        half = NOW + (self._ticks // TICKS_PER_SECOND - NOW) // 2
        self._memory[Recall("moment", "now")] = format_date(half).decode()
        return self._acts[question.act](question)

    def count_ranges(self, container: str) -> int:
        return len(self._ranges(container))

    # ---- one request

    def _ask(self, question: Question) -> object:
        headers = {name: self._recall(value, question.item) for name, value in question.headers.items()}
        answer = self.account.send(question.method, self._path(question), question.body, headers)
        self._learn(question, answer)
        return self._tell(answer)

    def _path(self, question: Question) -> str:
        if question.whole:
            return question.whole
        link = (
            f"/{self._links[question.container].strip('/')}"
            if question.by_rid
            else f"/dbs/d/colls/{question.container}"
        )
        rid = self._memory.get(Recall("rid", question.item)) if question.by_rid else None
        return link + question.path.replace("{id}", rid or question.id)

    def _recall(self, value: str | Recall, item: str) -> str:
        if not isinstance(value, Recall):
            return value
        return self._memory.get(value if value.name else Recall(value.what, item), "")

    def _learn(self, question: Question, answer: Response) -> None:
        """Keep what later questions may ask for."""
        headers = read_head(answer)
        if answer.status >= 300 or not question.item:
            return
        item = question.item
        token = Recall("session", item.rpartition("/")[0])
        self._memory[token] = headers.get("x-ms-session-token", "")
        if question.method != "GET":
            for stroll in self._strolls.values():
                stroll.touched.add(item)
        if "etag" in headers:
            known = Recall("etag", item)
            if self._memory.get(known, headers["etag"]) != headers["etag"]:
                self._memory[Recall("old etag", item)] = self._memory[known]
            self._memory[known] = headers["etag"]
        if answer.body:
            self._memory[Recall("rid", item)] = load(answer.body)["_rid"]

    def _tell(self, answer: Response) -> object:
        headers = read_head(answer)
        told = {name: headers[name] for name in _TOLD if name in headers}
        there = {name: name in headers for name in _PRESENT}
        return answer.status, told, there, self._label(headers.get("etag", "")), self._tell_body(answer.body)

    def _tell_body(self, body: bytes) -> object:
        if not body:
            return None
        value = load(body)
        if "message" in value:
            return value["code"], self._tell_words(value["message"].partition("\r\nActivityId")[0])
        return self._tell_value(value)

    def _tell_value(self, value: dict[str, Any]) -> dict[str, Any]:
        told = {name: found for name, found in value.items() if name not in ("_rid", "_self", "_etag", "_lsn")}
        told["_names"] = [self._label(str(value[name])) for name in ("_rid", "_self", "_etag") if name in value]
        if "Documents" in told:
            told["Documents"] = [self._tell_value(found) for found in told["Documents"]]
        return told

    def _tell_words(self, text: str) -> str:
        for link in self._links.values():
            for rid in link.split("/")[1:4:2]:
                text = text.replace(rid, self._label(rid))
        text = _NAMES.sub(lambda found: self._label(found[0]), text)
        return re.sub(r"this partition is at \d+", "this partition is behind", text)

    def _label(self, text: str) -> str:
        """The same name for the same text, by the order in which texts were first seen."""
        text = text.strip('"')
        return self._labels.setdefault(text, f"#{len(self._labels)}") if text else ""

    # ---- feeds

    def _get(self, container: str, headers: Headers, path: str = "docs") -> Response:
        return self.account.send("GET", f"/dbs/d/colls/{container}/{path}", headers=headers)

    def _page(self, question: Question) -> object:
        """Pages of one key lie in one range: they are the same everywhere, and so is their end."""
        token = Recall("continuation", question.slot)
        sent = {**self._plain(question), "x-ms-continuation": self._memory.get(token, "")}
        answer = self._get(question.container, sent)
        self._memory[token] = read_head(answer).get("x-ms-continuation", "")
        return self._tell(answer), bool(self._memory[token])

    def _walk(self, question: Question) -> object:
        found: list[object] = []
        token = ""
        while True:
            answer = self._get(question.container, {**self._plain(question), "x-ms-continuation": token})
            if answer.status != 200:
                return self._tell(answer)
            documents = load(answer.body)["Documents"]
            assert len(documents) <= question.size
            self._check_charge(question.container, answer, documents)
            found += [self._tell_value(document) for document in documents]
            token = read_head(answer).get("x-ms-continuation", "")
            if not token:
                return found

    def _check_charge(self, container: str, answer: Response, documents: list[dict[str, Any]]) -> None:
        """What is left of the charge when the items are taken off is a whole number of visits."""
        size = sum(len(dump(document)) for document in documents)
        charge = float(read_head(answer)["x-ms-request-charge"])
        visits = charge - len(documents) * _ITEM_PRICE - size // 1024 * _KB_PRICE
        assert abs(visits - round(visits)) < 0.02, (charge, len(documents), size)
        assert 1 <= round(visits) <= self.count_ranges(container), (charge, len(documents), size)

    def _stroll(self, question: Question) -> object:
        """Go on; told when it is gone to its end, since nobody knows of an end before."""
        stroll = self._strolls.setdefault(question.slot, _Stroll())
        wanted = question.size
        while not stroll.over and (wanted or not question.size):
            headers = {"x-ms-max-item-count": str(wanted or -1), "x-ms-continuation": stroll.token}
            answer = self._get(question.container, headers)
            assert answer.status == 200, answer
            documents = load(answer.body)["Documents"]
            wanted -= len(documents) if question.size else 0
            stroll.seen += [name_of(question.container, found) for found in documents if "ttl" not in found]
            stroll.token = read_head(answer).get("x-ms-continuation", "")
            stroll.over = not stroll.token
        if question.size:
            return None
        del self._strolls[question.slot]
        kept = [name for name in stroll.seen if name not in stroll.touched]
        assert len(set(kept)) == len(kept), f"twice in one walk: {kept}"
        return kept

    def _changes(self, question: Question) -> object:
        position = self._positions.setdefault(question.slot, {})
        changed = self._drain(question.container, self._plain(question), position)
        return [self._tell_value(document) for document in changed] if isinstance(changed, list) else changed

    def _follow(self, question: Question) -> object:
        """Every range from its own position, or from that of the range it came from; told key by key."""
        positions = self._positions.setdefault(question.slot, {})
        found: dict[str, list[dict[str, Any]]] = {}
        while True:
            for row in self._ranges(question.container):
                known = [positions[name] for name in (row["id"], *row["parents"]) if name in positions]
                position = {"": max(known, key=lambda text: int(text.strip('"')))} if known else {}
                headers = {**self._plain(question), "x-ms-documentdb-partitionkeyrangeid": row["id"]}
                changed = self._drain(question.container, headers, position)
                if not isinstance(changed, list):
                    break
                positions[row["id"]] = position[""]
                for document in changed:
                    key = name_of(question.container, document).rpartition("/")[0]
                    found.setdefault(key, []).append(document)
            else:
                return {key: list(map(self._tell_value, found[key])) for key in sorted(found)}

    def _drain(self, container: str, headers: Headers, position: Headers) -> list[dict[str, Any]] | int:
        """Everything that changed behind a position, which moves on; the status of what is refused."""
        found: list[dict[str, Any]] = []
        while True:
            sent = {**headers, **_LATEST}
            if "" in position:
                sent["if-none-match"] = position[""]
            answer = self._get(container, sent)
            if answer.status not in (200, 304):
                return answer.status
            position[""] = read_head(answer)["etag"]
            if answer.status == 304:
                return found
            found += load(answer.body)["Documents"]

    def _ranges(self, container: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = load(self._get(container, {}, "pkranges").body)["PartitionKeyRanges"]
        return rows

    # ---- below

    def _plain(self, question: Question) -> Headers:
        headers = {name: self._recall(value, "") for name, value in question.headers.items()}
        return {"x-ms-max-item-count": str(question.size), **headers}

    def _must(self, method: str, path: str, body: object = b"", headers: Headers | None = None) -> Response:
        answer = self.account.send(method, path, body, headers)
        assert answer.status < 300, answer
        return answer

    def _wait(self) -> float:
        """A monotonic clock on which every look takes a while: nobody sleeps here."""
        self._waited += 0.01
        return self._waited


def read_head(answer: Response) -> Headers:
    """The headers of an answer; names are lower case."""
    lines = answer.head.decode("latin-1").split("\r\n")
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}


def name_of(container: str, document: dict[str, Any]) -> str:
    """The name of an item in questions."""
    place = document if container == PLAIN else document.get("at", {})
    key = tuple(place.get(name, UNSAID) for name in KEY_NAMES[container])
    return name_item(container, key, document["id"])
