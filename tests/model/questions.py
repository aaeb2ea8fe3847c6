"""Random requests to the document API that know nothing of answers: the same list can be put to any number of servers.

    for question in ask_questions(seed, 5000): ...

What a request needs from an earlier answer (an etag, a rid, a session token, a continuation) stands in it as a
`Recall`, and whoever plays the list fills in what it was told itself. Most requests are sound and meet each other on
few items; others are wrong in one of the ways that a caller can be wrong.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

PLAIN: Final = "plain"
DEEP: Final = "deep"
UNSAID: Final = "unsaid"  # a key value that the item does not have

KEY_NAMES: Final = {PLAIN: ("pk",), DEEP: ("region", "user", "session")}
_PLAIN_KEYS: Final = (*(f"k{number}" for number in range(6)), "größe 日本", "", 5, -1.5, True, None, UNSAID)
_LEVELS: Final = (("eu", "us", None), ("a", "b", 7), ("x", "y"))
_IDS: Final = tuple(str(number) for number in range(12))
_SIZES: Final = (1, 1, 2, 3, 7, 20, 100)
_ALL: Final = 0
_MARKS: Final = ("red", "green", "blue")
_NOWHERE: Final = ("/dbs/none/colls/plain/docs/1", "/dbs/d/colls/none/docs", "/nothing", "/dbs/d/x")
_AHEAD: Final = ",".join(f"{number}:-1#99999999" for number in range(200))


class Act(Enum):
    """What is done: one request, a page of a feed, a whole feed, some of a long walk, or the changes since."""

    ASK = "ask"
    PAGE = "page"
    WALK = "walk"
    STROLL = "stroll"
    CHANGES = "changes"
    FOLLOW = "follow"


class Recall(NamedTuple):
    """What the player was told last about something, under a name; nothing when it was told nothing."""

    what: str
    name: str


Value: TypeAlias = str | Recall
Key: TypeAlias = tuple[Any, ...]
Headers: TypeAlias = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to do. `path` is what follows the container, `{id}` in it stands for the item's id or rid."""

    act: Act
    container: str
    method: str = "GET"
    path: str = "/docs"
    body: Any = b""
    headers: Headers = field(default_factory=dict)
    by_rid: bool = False
    item: str = ""  # the name of the item that it is about
    id: str = ""
    size: int = 100  # of a page; of a stroll how many items in all, 0 for the rest
    slot: str = ""  # the name of what goes on from question to question
    whole: str = ""  # a path that stands for itself


def ask_questions(seed: int, count: int) -> Iterator[Question]:
    """So many questions from a seed."""
    generator = _Generator(random.Random(seed))
    for _ in range(count):
        yield generator.next()


def show_key(key: Key) -> str:
    """The key as a header has it."""
    return json.dumps([{} if value is UNSAID else value for value in key])


def name_item(container: str, key: Key, name: str) -> str:
    """What an item is called in questions and memories."""
    return f"{container}/{show_key(key)}/{name}"


class _Generator:
    """Makes questions; all its choices come from one source."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._kinds: dict[Callable[[], Question], int] = {
            self._create: 22,
            self._replace: 12,
            self._patch: 8,
            self._delete: 9,
            self._read: 20,
            self._page: 8,
            self._walk: 1,
            self._stroll: 5,
            self._changes: 4,
            self._follow: 1,
            self._wrong: 10,
        }

    def next(self) -> Question:
        kinds = self._kinds
        return self._chance.choices(list(kinds), list(kinds.values()))[0]()

    # ---- what they are about

    def _container(self) -> str:
        return PLAIN if self._chance.random() < 0.6 else DEEP

    def _key(self, container: str) -> Key:
        if container == PLAIN:
            return (self._chance.choice(_PLAIN_KEYS),)
        return tuple(self._chance.choice(level) for level in _LEVELS)

    def _item(self, container: str, key: Key, name: str) -> dict[str, Any]:
        item: dict[str, Any] = {"id": name, "n": self._chance.randrange(10), "list": [1, {"a": "ä"}]}
        if container == PLAIN:
            place: dict[str, Any] = item
        else:
            place = item.setdefault("at", {})
        names = KEY_NAMES[container]
        place.update({name: value for name, value in zip(names, key, strict=True) if value is not UNSAID})
        if self._chance.random() < 0.2:
            item["mark"] = self._chance.choice(_MARKS)
        if self._chance.random() < 0.15:
            item["ttl"] = self._chance.choice((-1, 1, 5, 60))
        if self._chance.random() < 0.05:
            item["big"] = "x" * self._chance.randrange(20_000)
        return item

    def _about(
        self, method: str, path: str, headers: Headers, body: Callable[[str, Key, str], Any] | None = None
    ) -> Question:
        """A request about one item, in its own name or by rid, perhaps in a session."""
        container = self._container()
        key, name = self._key(container), self._chance.choice(_IDS)
        sent: Headers = {"x-ms-documentdb-partitionkey": show_key(key), **headers}
        if self._chance.random() < 0.2:
            sent["x-ms-session-token"] = Recall("session", f"{container}/{show_key(key)}")
        if method != "GET" and self._chance.random() < 0.1:
            sent["prefer"] = "return=minimal"
        by_rid = self._chance.random() < 0.2
        made = body(container, key, name) if body else b""
        item = name_item(container, key, name)
        return Question(Act.ASK, container, method, path, made, sent, by_rid, item, name)

    def _condition(self, header: str) -> Headers:
        """An etag that is right, was right, never was, or any."""
        item = self._chance.random()
        if item < 0.6:
            return {}
        choices: tuple[Value, ...] = (Recall("etag", ""), Recall("etag", ""), Recall("old etag", ""), '"none"', "*")
        return {header: self._chance.choice(choices)}

    # ---- sound requests

    def _create(self) -> Question:
        upsert: Headers = {"x-ms-documentdb-is-upsert": "True"} if self._chance.random() < 0.5 else {}
        condition = self._condition("if-match" if upsert else "if-none-match")
        return self._about("POST", "/docs", {**upsert, **condition}, self._item)

    def _replace(self) -> Question:
        return self._about("PUT", "/docs/{id}", self._condition("if-match"), self._item)

    def _patch(self) -> Question:
        def body(*_: object) -> dict[str, Any]:
            operations = [
                {"op": "incr", "path": "/n", "value": 1},
                {"op": "add", "path": "/list/-", "value": self._chance.choice(_MARKS)},
                {"op": "remove", "path": "/mark"},
                {"op": "set", "path": "/mark", "value": self._chance.choice(_MARKS)},
                {"op": "move", "from": "/n", "path": "/m"},
            ]
            chosen = self._chance.sample(operations, self._chance.randrange(1, 4))
            condition = {"condition": "FROM c WHERE c.n < 5"} if self._chance.random() < 0.3 else {}
            return {"operations": chosen, **condition}

        return self._about("PATCH", "/docs/{id}", self._condition("if-match"), body)

    def _delete(self) -> Question:
        return self._about("DELETE", "/docs/{id}", self._condition("if-match"))

    def _read(self) -> Question:
        return self._about("GET", "/docs/{id}", self._condition("if-none-match"))

    # ---- feeds

    def _page(self) -> Question:
        """The next page of the items of one key, or of the first levels of one."""
        container = self._container()
        key = self._key(container)
        key = key[: self._chance.randrange(1, len(key) + 1)]
        slot = f"page/{container}/{show_key(key)}"
        headers: Headers = {"x-ms-documentdb-partitionkey": show_key(key)}
        return Question(Act.PAGE, container, headers=headers, size=self._chance.choice(_SIZES), slot=slot)

    def _walk(self) -> Question:
        """All items of a container, or of a stretch of its effective keys."""
        headers: Headers = {}
        if self._chance.random() < 0.5:
            low, high = sorted(f"{self._chance.randrange(1 << 126):032X}" for _ in range(2))
            headers = {"x-ms-start-epk": low, "x-ms-end-epk": high}
        return Question(Act.WALK, self._container(), headers=headers, size=self._chance.choice(_SIZES[2:]))

    def _stroll(self) -> Question:
        """A few more items of a walk that others write into meanwhile, or all that are left."""
        container = self._container()
        size = _ALL if self._chance.random() < 0.2 else self._chance.choice(_SIZES)
        return Question(Act.STROLL, container, size=size, slot=f"stroll/{container}")

    def _changes(self) -> Question:
        """What changed under one key since it was asked last."""
        container = self._container()
        key = show_key(self._key(container))
        starts: tuple[Headers, ...] = ({}, {}, {"if-none-match": "*"}, {"if-modified-since": Recall("moment", "now")})
        headers: Headers = {"x-ms-documentdb-partitionkey": key, **self._chance.choice(starts)}
        slot = f"changes/{container}/{key}"
        return Question(Act.CHANGES, container, headers=headers, size=self._chance.choice(_SIZES), slot=slot)

    def _follow(self) -> Question:
        """What changed in a whole container since it was asked last, range by range."""
        container = self._container()
        return Question(Act.FOLLOW, container, size=self._chance.choice(_SIZES), slot=f"follow/{container}")

    # ---- wrong requests

    def _wrong(self) -> Question:
        return self._chance.choice((self._wrong_header, self._wrong_item, self._wrong_key, self._wrong_place))()

    def _wrong_header(self) -> Question:
        name, value = self._chance.choice((
            ("x-ms-consistency-level", "Strong"),
            ("x-ms-consistency-level", "None"),
            ("x-ms-session-token", "nonsense"),
            ("x-ms-session-token", _AHEAD),
            ("x-ms-cosmos-intended-collection-rid", "AAAAAA=="),
            ("x-ms-documentdb-partitionkey", "{"),
            ("x-ms-documentdb-partitionkey", '["a","b","c","d"]'),
            ("x-ms-documentdb-partitionkey", "[[]]"),
            ("authorization", "type%3Dmaster%26ver%3D1.0%26sig%3Dcw%3D%3D"),
            ("x-ms-date", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ))  # fmt: skip
        return self._about("GET", "/docs/{id}", {name: value})

    def _wrong_item(self) -> Question:
        def body(container: str, key: Key, name: str) -> Any:
            item = self._item(container, key, name)
            wrong: tuple[dict[str, Any], ...] = (
                {"id": 5},
                {"id": ""},
                {"id": "a/b"},
                {"id": "x" * 1100},
                {"ttl": 0},
                {"ttl": "1"},
                {"pk": []},
            )
            return self._chance.choice((
                {**item, **self._chance.choice(wrong)},
                {name: value for name, value in item.items() if name != "id"},
                b"{",
                b"[]",
                b'{"id":"1","a":"\\ud800"}',
                b"",
            ))  # fmt: skip

        method, path = self._chance.choice((("POST", "/docs"), ("PUT", "/docs/{id}"), ("PATCH", "/docs/{id}")))
        return self._about(method, path, {}, body)

    def _wrong_key(self) -> Question:
        """An item under a key that is not its own, or under too few levels of it."""
        question = self._about("POST", "/docs", {}, self._item)
        headers: Headers = {
            **question.headers,
            "x-ms-documentdb-partitionkey": self._chance.choice(('["other"]', "[]", '["eu","a"]', '["k0","k1","k2"]')),
        }
        return Question(Act.ASK, question.container, "POST", "/docs", question.body, headers)

    def _wrong_place(self) -> Question:
        """A path, a method, a page or a position that is not there."""
        container = self._container()
        feed: tuple[Headers, ...] = (
            {"x-ms-max-item-count": "0"},
            {"x-ms-max-item-count": "many"},
            {"x-ms-continuation": "nonsense"},
            {"x-ms-continuation": "AF1~AAAAAA==~d~AAAA"},
            {"x-ms-documentdb-partitionkeyrangeid": "9999"},
            {"x-ms-start-epk": "XY"},
            {"a-im": "Full-Fidelity Feed"},
            {"a-im": "Incremental Feed", "if-modified-since": "yesterday", "x-ms-documentdb-partitionkey": '["eu"]'},
            {"a-im": "Incremental Feed", "if-none-match": '"x"', "x-ms-documentdb-partitionkey": '["eu"]'},
            {"x-ms-documentdb-isquery": "True"},
        )
        places = (
            ("PUT", "/docs", {}),
            ("POST", "/docs/1", {}),
            ("GET", "/nothing", {}),
            ("GET", "/sprocs", {}),
            ("GET", "/conflicts", {}),
            ("DELETE", "/conflicts/1", {}),
            *(("POST" if "x-ms-documentdb-isquery" in headers else "GET", "/docs", headers) for headers in feed),
        )
        if self._chance.random() < 0.2:
            whole = self._chance.choice(_NOWHERE)
            return Question(Act.ASK, container, headers={"x-ms-documentdb-partitionkey": '["a"]'}, whole=whole)
        method, path, headers = self._chance.choice(places)
        return Question(Act.ASK, container, method, path, b"{}" if method != "GET" else b"", dict(headers))
