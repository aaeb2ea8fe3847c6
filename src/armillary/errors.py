"""What can be refused, and why: one kind for each reason, static text, named context.

A `Refusal` is raised where the reason is found and handled where it is answered; nothing logs it and goes on. The four
APIs translate kinds, never texts, into their own status and code (`api/nosql/errors.py` and its siblings; a test holds
every kind against every table). What the caller did wrong and what this server could not do are told apart by `Fault`.
"""

from enum import Enum, unique
from typing import Final


class Fault(Enum):
    """Whose fault a refusal is."""

    CALLER = "caller"
    STATE = "state"
    SERVER = "server"


@unique  # two kinds with one text would be one kind
class Kind(Enum):
    """One reason to refuse; the value is the text, with the names of its context in braces."""

    # what the caller sent
    BAD_REQUEST = "{reason}"
    BAD_JSON = "The request body is not acceptable JSON: {reason}"
    BAD_NAME = "The name {name!r} is not acceptable: {reason}"
    BAD_ID = "The input id is not acceptable: {reason}"
    BAD_HEADER = "The value of the header {header!r} is not acceptable: {reason}"
    BAD_DEFINITION = "The {what} is not acceptable: {reason}"
    BAD_KEY = "The partition key is not acceptable: {reason}"
    CROSSES_PARTITIONS = (
        "Cross partition query is required but disabled. Please set x-ms-documentdb-query-enablecrosspartition to "
        "true, specify x-ms-documentdb-partitionkey, or revise your query to avoid this exception."
    )
    PLAN_NEEDED = (
        "The provided cross partition query can not be directly served by the gateway. Cross partition query only "
        "supports projections and filters here: clients ask for its plan and execute that"
    )
    KEY_MISMATCH = (
        "The partition key in the header does not match the one extracted from the document: {sent} is not {found}"
    )
    BAD_TTL = "The value of 'ttl' must be -1 or a positive whole number, not {ttl}"
    BAD_PATCH = "The patch is not acceptable: {reason}"
    BAD_CONTINUATION = "Invalid Continuation Token: {reason}"
    BAD_SESSION = "The session token {token!r} is not acceptable: {reason}"
    STRONGER_CONSISTENCY = "The consistency level {asked} is stronger than the account's default, {account}"
    TOO_LARGE = "Request size is too large: {size} bytes, the limit is {limit}"
    NOT_ALLOWED = "The method {method} is not allowed on {resource}"
    NOT_BUILT = "{what} is not built yet"
    UNAUTHORIZED = "The request is not authorized: {reason}"
    FORBIDDEN = "The request is forbidden: {reason}"
    CONTAINER_STALE = "The container was dropped and made again under its name: its rid is {rid}, not {sent}"
    # what the state of the data forbids
    DATABASE_MISSING = "The database {name!r} does not exist"
    CONTAINER_MISSING = "The container {name!r} does not exist"
    ITEM_MISSING = "The item {id!r} does not exist"
    OFFER_MISSING = "The offer {id!r} does not exist"
    RESOURCE_MISSING = "The resource {name!r} does not exist"
    RANGE_GONE = "The partition key range {id} is not one of the container {name!r}"
    SPLIT_OVER = "The split {id} is over: it was done or cancelled"
    SPLIT_REFUSED = "The range {range} cannot be split: {reason}"
    SPLIT_RUNS = "The range {range} is being split already"
    KEY_FULL = (
        "Partition key reached maximum size of {limit} bytes: the items of this key value would have {size}{note}"
    )
    SESSION_AHEAD = "The session token asks for LSN {asked}, this partition is at {lsn}"
    DATABASE_EXISTS = "A database with the id {name!r} exists already"
    CONTAINER_EXISTS = "A container with the id {name!r} exists already"
    ITEM_EXISTS = "An item with the id {id!r} exists already in this logical partition"
    UNIQUE_CLASH = "Unique index constraint violation on {paths}"
    ETAG_MISMATCH = "The operation's precondition is not met: the etag is {etag}"
    CONDITION_FALSE = "The condition of the patch is not met by the item"
    NOT_MODIFIED = "The resource has the etag of If-None-Match"
    # what this server cannot do now
    BUSY = "Too many writes wait for the partition {partition}"
    THROTTLED = "Request rate is large: {limit} are used up; the hottest key is {key}; try again in {wait} ms"
    MINUTE_SPENT = (
        "Request rate is large, and the minute is used up: {limit}; the hottest key is {key}; try again in {wait} ms"
    )
    BUCKET_SPENT = (
        "Request rate is large for this bucket: {limit} are used up; the hottest key is {key}; try again in {wait} ms"
    )
    DISK_FULL = "The disk is full: nothing was written ({detail})"
    STORE_BROKEN = "The store failed: {detail}"
    OUTCOME_UNKNOWN = "The store did not say whether the write was applied; ask again before repeating it"
    STOPPING = "The server is stopping"
    ADDRESS_UNUSABLE = "The address {address} cannot be used: {reason}"
    # what the engines say to the layers above them
    PARTITION_MISSING = "The partition {partition} does not exist"
    PARTITION_EXISTS = "The partition {partition} exists already"
    PARTITION_CLOSED = "The partition {partition} is {state}"
    DEFINITION_NEWER = "The partition {partition} follows version {version} of its container"
    KEY_TOO_LONG = "A key of {size} bytes is longer than {limit}"
    COMMIT_TOO_LARGE = "A commit of {size} is larger than {limit}"
    FOLDER_IN_USE = "The data folder {folder} is in use by another server (process {pid})"
    FORMAT_NEWER = "The data folder {folder} has format {found}; this version reads up to {known}"


_STATE: Final = range(list(Kind).index(Kind.DATABASE_MISSING), list(Kind).index(Kind.BUSY))
_FAULTS: Final = {
    kind: Fault.CALLER if at < _STATE.start else Fault.STATE if at in _STATE else Fault.SERVER
    for at, kind in enumerate(Kind)
}


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, and no error of this program
    """One refused operation: its kind and the named context of its text."""

    def __init__(self, kind: Kind, **context: object) -> None:
        super().__init__(kind, context)
        self.kind = kind
        self.context = context

    def __str__(self) -> str:
        return self.kind.value.format(**self.context)

    @property
    def fault(self) -> Fault:
        return fault_of(self.kind)


def fault_of(kind: Kind) -> Fault:
    return _FAULTS[kind]
