"""Items: create, upsert, read, replace, patch and delete."""

from typing import Final

from armillary.answers import NO_SESSION, Read, Wrote
from armillary.api.nosql.call import DRAWN, Call, check_text
from armillary.api.nosql.patch import Patch
from armillary.clock import Clock
from armillary.container import Container
from armillary.errors import Kind, Refusal
from armillary.json import dump, load, parse_object
from armillary.kv.steps import Steps
from armillary.store.items import Condition, Draft, Item, Mode, etag_text
from armillary.store.layout import NEVER, NO_TTL
from armillary.store.rids import RidKind, parse_rid
from armillary.values import KeyValue, is_same
from armillary.wire.http import Response
from armillary.wire.keyheader import dump_key

ITEM_BYTES: Final = 2 << 20
_ID_BYTES: Final = 1023
_SYSTEM: Final = ("_rid", "_self", "_etag", "_attachments", "_ts")
_TRIGGERS: Final = frozenset((b"x-ms-documentdb-pre-trigger-include", b"x-ms-documentdb-post-trigger-include"))
_LONGEST_TTL: Final = (1 << 31) - 1


def read_item(call: Call) -> Response:
    container = call.container()
    values = call.key(container)
    name = _read_id(call, container, values)
    session = call.session if b"x-ms-session-token" in call.headers else NO_SESSION
    found = call.database.read_item(container, values, name, session, call.factor(), call.wish())
    item = found.item
    head = _item_head(call, container, found, item)
    if b"if-none-match" in call.headers and call.etag(b"if-none-match") in (etag_text(item.envelope.etag), "*"):
        return Response(304, head)
    return Response(200, head, item.body)


def create_item(call: Call) -> Steps[Response]:
    """Create, or upsert when the header asks for it."""
    upsert = call.flag(b"x-ms-documentdb-is-upsert")
    container = call.container()
    name, values, draft = _read_draft(call, container)
    mode = Mode.UPSERT if upsert else Mode.CREATE
    wrote = yield from call.database.write_item(container, values, name, draft, mode, call.condition(), call.wish())
    return _answer_write(call, container, wrote)


def replace_item(call: Call) -> Steps[Response]:
    container = call.container()
    name, values, draft = _read_draft(call, container)
    if name != _read_id(call, container, values):
        raise Refusal(Kind.BAD_ID, reason=f"the item says {name!r}, the path {call.segments[5]!r}")
    mode = Mode.REPLACE
    wrote = yield from call.database.write_item(container, values, name, draft, mode, call.condition(), call.wish())
    return _answer_write(call, container, wrote)


def patch_item(call: Call) -> Steps[Response]:
    """Change an item where it is: what is patched, and what the condition sees, is what the write itself finds."""
    container = call.container()
    values = call.key(container)
    name = _read_id(call, container, values)
    patch = Patch(call.body(), (*_SYSTEM, "id"))
    now = call.database.clock.ticks()
    clock = Clock(ticks=lambda: now)

    def edit(stored: bytes) -> Draft:
        item = load(stored)
        patch.check(item, clock)
        drop_system(item)
        patch.apply(item)
        item = parse_object(dump(item))
        if container.key.values_of(item) != values:
            raise Refusal(Kind.BAD_PATCH, reason="the partition key of an item cannot be changed")
        return make_draft(item, container)

    mode = Mode.REPLACE
    wrote = yield from call.database.write_item(container, values, name, edit, mode, call.condition(), call.wish())
    return _answer_write(call, container, wrote)


def delete_item(call: Call) -> Steps[Response]:
    container = call.container()
    condition = Condition(match=call.etag(b"if-match"))
    values = call.key(container)
    name = _read_id(call, container, values)
    wrote = yield from call.database.delete_item(container, values, name, condition, call.wish())
    head = call.place_head(wrote.charge, container, wrote.place, wrote.lsn) + DRAWN[wrote.drawn]
    return Response(204, head.encode("latin-1"))


def _read_id(call: Call, container: Container, values: tuple[KeyValue, ...]) -> str:
    """The id of the item in the path, which is its rid where the whole path is one of rids."""
    name = call.segments[5]
    rid = parse_rid(name) if call.segments[1] == container.owner.rid else None
    if rid is None or rid.kind is not RidKind.DOCUMENT or (rid.database, rid.container) != container.rules.owner:
        return name
    found = call.database.id_of(container, values, rid.number)
    if found is None:
        raise Refusal(Kind.ITEM_MISSING, id=name)
    return found


def _read_draft(call: Call, container: Container) -> tuple[str, tuple[KeyValue, ...], Draft]:
    """What a write brings, checked: id, key values, and the item in normal form."""
    if (
        b"x-ms-documentdb-pre-trigger-include" in call.headers
        or b"x-ms-documentdb-post-trigger-include" in call.headers
    ):
        raise Refusal(Kind.NOT_BUILT, what="running triggers")
    item = call.body()
    name = item.get("id")
    if not isinstance(name, str) or not name:
        raise Refusal(Kind.BAD_ID, reason="the required property 'id' is missing or not a text")
    check_text(name, _ID_BYTES)
    drop_system(item)
    values = container.key.values_of(item)
    sent = call.key(container)
    if sent != values or not all(map(is_same, sent, values)):
        raise Refusal(Kind.KEY_MISMATCH, sent=dump_key(sent).decode(), found=dump_key(values).decode())
    return name, values, make_draft(item, container)


def drop_system(item: dict[str, object]) -> None:
    """What the system says about an item is not its writer's to say."""
    for system in _SYSTEM:
        item.pop(system, None)


def make_draft(item: dict[str, object], container: Container) -> Draft:
    """What is stored of an item without its system properties."""
    body = dump(item)
    if len(body) > ITEM_BYTES:
        raise Refusal(Kind.TOO_LARGE, size=len(body), limit=ITEM_BYTES)
    return Draft(body[:-1], _read_ttl(item, container), item)


def _read_ttl(item: dict[str, object], container: Container) -> int:
    """The item's own ttl. Where nothing expires it is a property like any other, and kept in case that changes."""
    if "ttl" not in item:
        return NO_TTL
    ttl = item["ttl"]
    if isinstance(ttl, int) and not isinstance(ttl, bool) and (ttl == NEVER or 0 < ttl <= _LONGEST_TTL):
        return ttl
    if container.rules.default_ttl is None:
        return NO_TTL
    raise Refusal(Kind.BAD_TTL, ttl=repr(ttl))


def _answer_write(call: Call, container: Container, wrote: Wrote) -> Response:
    item = wrote.written.item
    head = _item_head(call, container, wrote, item)
    minimal = call.headers.get(b"prefer", b"").lower() == b"return=minimal"
    return Response(201 if wrote.written.created else 200, head, b"" if minimal else item.body)


def _item_head(call: Call, container: Container, done: Read | Wrote, item: Item) -> bytes:
    own = item.envelope.lsn
    head = call.place_head(done.charge, container, done.place, done.lsn) + DRAWN[done.drawn]
    etag = etag_text(item.envelope.etag)
    if b"x-ms-documentdb-populatequotainfo" in call.headers:
        head += call.quota(container)
    return f'{head}etag: "{etag}"\r\nx-ms-item-lsn: {own}\r\nx-ms-cosmos-item-llsn: {own}\r\n'.encode("latin-1")
