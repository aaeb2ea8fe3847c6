"""One request, as operations see it: where it points, what its headers ask for, and the heads of its answers.

A header is read when an operation asks for it, by the one function that knows what it may be. Booleans come in any
case, since clients write them as their own language does; names and rids may address the same resource.
"""

from time import perf_counter
from typing import Final

from armillary.admission import Ticket
from armillary.api.nosql.session import read_session
from armillary.budget import PLAIN, Wish
from armillary.container import Container
from armillary.database import Database
from armillary.errors import Kind, Refusal
from armillary.json import dump, parse_object
from armillary.store.catalog import DatabaseRow, Range
from armillary.store.items import Condition
from armillary.values import KeyValue
from armillary.wire.http import Request, Response
from armillary.wire.keyheader import parse_key

DRAWN: Final = {
    None: "",
    False: "x-ms-documentdb-is-ru-per-minute-used: 0\r\n",
    True: "x-ms-documentdb-is-ru-per-minute-used: 1\r\n",
}
LEVELS: Final = ("Strong", "BoundedStaleness", "Session", "ConsistentPrefix", "Eventual")
PAGE_BYTES: Final = 4 << 20
_STRONG: Final = 2
_NOTHING: Final = ((0.0, -1), "")
_PAGE: Final = 100
_LARGEST_PAGE: Final = 1000
_UNQUOTED: Final = 2
_BUCKET: Final = b"x-ms-cosmos-throughput-bucket"
_PRIORITY: Final = b"x-ms-cosmos-priority-level"
_NO_MINUTE: Final = b"x-ms-documentdb-disable-ru-per-minute-usage"
_BUCKETS: Final = ("1", "2", "3", "4", "5")

_QUOTA: Final = (
    "documentSize=2048;documentsSize=52428800;documentsCount=-1;collectionSize=52428800;"
    "functions=50;storedProcedures=100;triggers=25;"
)
_NO_SCRIPTS: Final = "functions=0;storedProcedures=0;triggers=0;"

# Written by hand into one text, and for data once for each range, charge and LSN: the heads are a good part of a small
# answer's cost.
_OWN: Final = "x-ms-activity-id: %s\r\nx-ms-request-duration-ms: %.3f\r\n"
_HEAD: Final = (
    "x-ms-request-charge: %.12g\r\n"
    "x-ms-gatewayversion: version=2.14.0\r\nx-ms-serviceversion: version=2.14.0.0\r\nx-ms-schemaversion: 1.18\r\n"
    "x-ms-last-state-change-utc: Thu, 01 Jan 2026 00:00:00.000 GMT\r\ncontent-type: application/json\r\n"
)
_PLACE: Final = (
    "x-ms-number-of-read-regions: 0\r\nx-ms-transport-request-id: 1\r\n"
    "x-ms-documentdb-partitionkeyrangeid: {range}\r\nx-ms-cosmos-internal-partition-id: {partition}\r\n"
    "x-ms-cosmos-physical-partition-id: {range}\r\nx-ms-alt-content-path: {link}\r\nx-ms-content-path: {rid}\r\n"
    "x-ms-session-token: {range}:-1#%d\r\nlsn: %d\r\nx-ms-global-committed-lsn: %d\r\nx-ms-quorum-acked-lsn: %d\r\n"
    "x-ms-cosmos-llsn: %d\r\nx-ms-cosmos-quorum-acked-llsn: %d\r\n"
)


class Call:
    """A request that was let in."""

    __slots__ = (
        "account_level",
        "activity",
        "charge",
        "database",
        "found",
        "headers",
        "request",
        "segments",
        "started",
        "ticket",
    )

    def __init__(self, request: Request, database: Database, segments: list[str], activity: str, level: int) -> None:
        self.request = request
        self.headers = request.headers
        self.database = database
        self.segments = segments
        self.activity = activity
        self.account_level = level
        self.charge = 0.0  # what the client was told
        self.ticket: Ticket | None = None  # of an operation that is no item's
        self.started = perf_counter()
        self.found: Container | None = None  # what the operation went by

    # ---- where it points

    def owner(self) -> DatabaseRow:
        return self.database.database(self.segments[1])

    def container(self) -> Container:
        """The container of the path as it is remembered, for operations on items."""
        return self._must_be_meant(self.database.container(self.segments[1], self.segments[3]))

    def resource(self) -> Container:
        """The container of the path as it is now, for operations on the container itself."""
        return self._must_be_meant(self.database.look_up(self.segments[1], self.segments[3]))

    def _must_be_meant(self, container: Container) -> Container:
        """Refuse when the caller means another container, one that had this name before or has it since."""
        self.found = container
        meant = self.headers.get(b"x-ms-cosmos-intended-collection-rid")
        if meant is not None and meant.decode("latin-1") != container.rid:
            raise Refusal(Kind.CONTAINER_STALE, rid=container.rid, sent=meant.decode("latin-1"))
        return container

    # ---- what it brings

    def text(self, name: bytes) -> str:
        """A header as text, empty when it is not there."""
        value = self.headers.get(name)
        return "" if value is None else value.decode("latin-1")

    def flag(self, name: bytes) -> bool:
        """A boolean header."""
        value = self.headers.get(name)
        return value is not None and value.lower() == b"true"

    def key(self, container: Container, *, whole: bool = True) -> tuple[KeyValue, ...]:
        """The partition key of the header; a container without a key needs none."""
        header = self.headers.get(b"x-ms-documentdb-partitionkey")
        if header is None:
            if container.key.system_key:
                return ()
            raise Refusal(Kind.BAD_KEY, reason="PartitionKey value must be supplied for this operation.")
        return container.key.check_values(parse_key(header), whole=whole)

    def body(self) -> dict[str, object]:
        return parse_object(self.request.body)

    def name(self, body: dict[str, object]) -> str:
        """The id of a resource that is no item."""
        return check_name(body.get("id"))

    def condition(self) -> Condition:
        """If-Match and If-None-Match, without their quotes."""
        return Condition(self.etag(b"if-match"), self.etag(b"if-none-match"))

    def etag(self, name: bytes) -> str:
        text = self.text(name)
        return text[1:-1] if len(text) >= _UNQUOTED and text[0] == text[-1] == '"' else text

    def session(self, place: Range) -> int:
        """The LSN that the caller has seen of a range, or of one that it came from."""
        header = self.headers.get(b"x-ms-session-token")
        return read_session(header, (place.id, *place.parents)) if header else 0

    def factor(self) -> float:
        """What a read costs more at its consistency level; a level stronger than the account's is refused."""
        header = self.headers.get(b"x-ms-consistency-level")
        level = self.account_level
        if header is not None:
            asked = header.decode("latin-1")
            if asked not in LEVELS:
                raise Refusal(Kind.BAD_HEADER, header="x-ms-consistency-level", reason=f"{asked!r} is no level")
            level = LEVELS.index(asked)
            if level < self.account_level:
                raise Refusal(Kind.STRONGER_CONSISTENCY, asked=asked, account=LEVELS[self.account_level])
        return 2.0 if level < _STRONG else 1.0

    def wish(self) -> Wish:
        """What the caller says about its place in the budget."""
        headers = self.headers
        if _PRIORITY not in headers and _BUCKET not in headers and _NO_MINUTE not in headers:
            return PLAIN
        priority, bucket = self.text(_PRIORITY).lower() or "high", self.text(_BUCKET)
        if priority not in ("low", "high"):
            raise Refusal(Kind.BAD_HEADER, header=_PRIORITY.decode(), reason=f"{priority!r} is neither High nor Low")
        if bucket and bucket not in _BUCKETS:
            reason = f"The value '{bucket}' specified for the header '{_BUCKET.decode()}' is invalid."
            raise Refusal(Kind.BAD_REQUEST, reason=reason)
        return Wish(priority == "low", not self.flag(_NO_MINUTE), int(bucket or 0))

    def page_size(self) -> int:
        """How many resources a page of a feed may have."""
        text = self.text(b"x-ms-max-item-count")
        if text in ("", "-1"):
            return _LARGEST_PAGE if text else _PAGE
        if not text.isdecimal() or int(text) < 1:
            raise Refusal(Kind.BAD_HEADER, header="x-ms-max-item-count", reason="it must be -1 or a positive number")
        return min(int(text), _LARGEST_PAGE)

    # ---- how it is answered

    def head(self, charge: float) -> str:
        """The header lines that every answer has."""
        self.charge = charge
        return self._own_head() + _HEAD % charge

    def place_head(self, charge: float, container: Container, place: Range, lsn: int) -> str:
        """The same for an answer about data: where it was found, and at which LSN."""
        seen, known = container.notes.get(place.id, _NOTHING)
        if seen != (charge, lsn):
            link, partition = container.link.replace("%", "%%"), place.partition.hex()
            head = _HEAD + _PLACE.format(range=place.id, partition=partition, link=link, rid=container.rid)
            known = head % (charge, lsn, lsn, lsn, lsn, lsn, lsn)
            container.notes[place.id] = (charge, lsn), known
        return self._own_head() + known

    def _own_head(self) -> str:
        """What no two answers share."""
        return _OWN % (self.activity, (perf_counter() - self.started) * 1000)

    def quota(self, container: Container) -> str:
        """How much a container holds and may hold, in KB, when the caller asks for it."""
        if not self.flag(b"x-ms-documentdb-populatequotainfo"):
            return ""
        usages = self.database.usage(container)
        items, kilobytes = sum(items for _, items, _ in usages), -(-sum(size for *_, size in usages) // 1024)
        usage = f"documentSize=0;documentsSize={kilobytes};documentsCount={items};collectionSize={kilobytes};"
        return (
            f"x-ms-resource-quota: {_QUOTA}\r\nx-ms-resource-usage: {usage}{_NO_SCRIPTS}\r\n"
            "x-ms-documentdb-collection-index-transformation-progress: 100\r\n"
        )

    def leave(self, response: Response) -> Response:
        """Book what the client was told, where nobody has done it for an item."""
        if self.ticket is not None:
            self.ticket.charge(self.charge, len(response.body))
        return response

    def answer(self, status: int, resource: dict[str, object], charge: float) -> Response:
        """A resource that is no item, with its etag."""
        head = self.head(charge)
        etag = resource.get("_etag")
        if isinstance(etag, str):
            head += f"etag: {etag}\r\n"
        return Response(status, head.encode("latin-1"), dump(resource))


def check_name(name: object) -> str:
    """A name of a database or container that can stand in a path."""
    if not isinstance(name, str) or not name:
        raise Refusal(Kind.BAD_ID, reason="the required property 'id' is missing or not a text")
    check_text(name, 255)
    return name


def check_text(name: str, limit: int) -> None:
    """What no id may hold, because paths could not carry it."""
    size = len(name.encode())
    if size > limit:
        raise Refusal(Kind.BAD_ID, reason=f"{size} bytes are longer than the limit of {limit}")
    if any(mark in name for mark in "/\\?#"):
        raise Refusal(Kind.BAD_ID, reason=f"{name!r} has one of the characters / \\ ? #")
    if name[-1] in " \n\r\t" or any(ord(mark) < ord(" ") for mark in name):
        raise Refusal(Kind.BAD_ID, reason=f"{name!r} ends in a space or has a control character")
