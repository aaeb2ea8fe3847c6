"""The pages about splits: what runs and what became of the last ones, asking for one, taking one back.

    GET  /_armillary/splits                  {"splits": [...]}: the running ones, then those that ended
    POST /_armillary/split                   {"database", "container", "range"?, "at"?, "dry_run"?}: where it is cut
    POST /_armillary/split/cancel            {"split"}

What is shown is read from the store itself (catalog, headers), so every worker shows the same, also right after a
start. Without `at` a range is cut where its data is halved, and where there is none, at half of its hashes.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from armillary.api.nosql.errors import ANSWERS
from armillary.container import Container
from armillary.database import STALE, Database
from armillary.errors import Kind, Refusal
from armillary.json import dump, parse_object
from armillary.kv.engine import Reader
from armillary.kv.steps import Block, Steps
from armillary.store.catalog import Range, Split
from armillary.store.cuts import Cut, Partition, cut_data, cut_range, weigh_cut
from armillary.store.header import SEALED, Header
from armillary.store.splitting import give_up
from armillary.wire.http import Request, Response

__all__ = ["SplitPages", "measure_split"]

_JSON: Final = b"content-type: application/json\r\n"
_REASON: Final = "asked for"


class SplitPages:
    """The handlers; who may call them is checked before."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def show(self, _: Request) -> Steps[Response]:
        rows = yield Block(lambda: list(self._describe()))
        return _answer(200, {"splits": rows})

    def ask(self, request: Request) -> Steps[Response]:
        try:
            return (yield from self._ask(parse_object(request.body)))
        except Refusal as refused:
            return _refuse(refused)

    def cancel(self, request: Request) -> Steps[Response]:
        try:
            name = _text(parse_object(request.body), "split")
            done = yield Block(partial(self._give_up, name))
        except Refusal as refused:
            return _refuse(refused)
        return _answer(200, {"split": name, "state": "cancelled" if done else "done"})

    def _ask(self, body: Mapping[str, object]) -> Steps[Response]:
        self._database.forget()
        container = self._database.container(_text(body, "database"), _text(body, "container"))
        place = _find_range(container, body.get("range"))
        cut: Cut = yield Block(partial(self._database.plan_split, container, place, _choose_cut(body.get("at"))))
        point = cut.point.hex().upper()
        answer: dict[str, Any] = {"range": place.id, "at": point}
        if body.get("dry_run") is True:
            children = [
                {"min": low, "max": high, "items": heap.items, "bytes": heap.size}
                for low, high, heap in ((place.low, point, cut.low), (point, place.high, cut.high))
            ]
            items, size = cut.low.items + cut.high.items, cut.low.size + cut.high.size
            return _answer(200, {**answer, "items": items, "bytes": size, "children": children})
        split = yield from self._database.start_split(container, place, point, _REASON)
        return _answer(202, {**answer, "split": split.id})

    def _describe(self) -> Iterator[dict[str, Any]]:
        containers = self._database.every_container()
        for container in containers:
            for split in container.row.splits:
                shown = measure_split(self._database, container, split)
                yield _name(container, split.id, split.parent, split.reason) | shown
        for container in containers:
            for ended in reversed(container.row.ended):
                state = "done" if ended.done else "cancelled"
                yield _name(container, ended.id, ended.parent, ended.reason) | {"state": state}

    def _give_up(self, name: str) -> bool:
        for container in self._database.every_container():
            for split in container.row.splits:
                if split.id == name:
                    parent = next(place for place in container.row.ranges if place.id == split.parent)
                    return give_up(self._database.engine, container.row, parent, name)
        raise Refusal(Kind.SPLIT_OVER, id=name)


def measure_split(database: Database, container: Container, split: Split) -> dict[str, Any]:
    """How far a split is, by what is in its partitions."""
    parent = next(place for place in container.row.ranges if place.id == split.parent)
    try:
        was = _read_header(database, parent)
        copied = sum(_read_header(database, child).items for child in split.children)
    except Refusal as refused:
        if refused.kind in STALE:
            return {"state": "done"}
        raise
    state = "sealed" if was.state == SEALED else "copying" if was.held else "waiting"
    return {"state": state, "copied": copied, "items": was.items, "at": split.children[1].low}


def _read_header(database: Database, place: Range) -> Header:
    with database.engine.read(place.partition) as reader:
        return Header(reader.header)


def _choose_cut(at: object) -> Any:
    if at is None:
        return _cut_somewhere
    try:
        point = bytes.fromhex(str(at))
    except ValueError:
        raise Refusal(Kind.BAD_REQUEST, reason="'at' is no effective key: upper-case hex is expected") from None
    return partial(_cut_at, point)


def _cut_somewhere(reader: Reader, partition: Partition) -> Cut:
    return (cut_data if Header(reader.header).items else cut_range)(reader, partition)


def _cut_at(point: bytes, reader: Reader, partition: Partition) -> Cut:
    return weigh_cut(reader, partition, point)


def _find_range(container: Container, name: object) -> Range:
    ranges = container.row.ranges
    if name is None and len(ranges) == 1:
        return ranges[0]
    for place in ranges:
        if place.id == name:
            return place
    known = ", ".join(place.id for place in ranges)
    if name is None:
        raise Refusal(Kind.BAD_REQUEST, reason=f"the container has several ranges; name one of {known}")
    raise Refusal(Kind.RANGE_GONE, id=name, name=container.row.id)


def _name(container: Container, name: str, parent: str, reason: str) -> dict[str, Any]:
    where = {"database": container.owner.id, "container": container.row.id, "range": parent}
    return {"id": name, **where, "reason": reason}


def _text(body: Mapping[str, object], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise Refusal(Kind.BAD_REQUEST, reason=f"the property {name!r} is missing or no text")
    return value


def _answer(status: int, body: dict[str, Any]) -> Response:
    return Response(status, _JSON, dump(body))


def _refuse(refused: Refusal) -> Response:
    answer = ANSWERS[refused.kind]
    return _answer(answer.status, {"code": answer.code, "message": str(refused)})
