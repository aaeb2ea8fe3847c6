"""The one table from kinds of refusal to the answers of the document API."""

from typing import Final, NamedTuple

from armillary.errors import Kind, Refusal
from armillary.json import dump
from armillary.wire.http import Response

RETRY_AFTER_MS: Final = 10


class Answer(NamedTuple):
    """Status, substatus (0 for none) and code of a refusal."""

    status: int
    substatus: int
    code: str


_BAD_REQUEST: Final = Answer(400, 0, "BadRequest")
_NOT_FOUND: Final = Answer(404, 0, "NotFound")
_CONFLICT: Final = Answer(409, 0, "Conflict")
_UNAVAILABLE: Final = Answer(503, 0, "ServiceUnavailable")

ANSWERS: Final[dict[Kind, Answer]] = {
    Kind.BAD_REQUEST: _BAD_REQUEST,
    Kind.BAD_JSON: _BAD_REQUEST,
    Kind.BAD_NAME: _BAD_REQUEST,
    Kind.BAD_ID: _BAD_REQUEST,
    Kind.BAD_HEADER: _BAD_REQUEST,
    Kind.BAD_DEFINITION: _BAD_REQUEST,
    Kind.BAD_KEY: _BAD_REQUEST,
    Kind.BAD_TTL: _BAD_REQUEST,
    Kind.BAD_PATCH: _BAD_REQUEST,
    Kind.BAD_CONTINUATION: _BAD_REQUEST,
    Kind.BAD_SESSION: _BAD_REQUEST,
    Kind.STRONGER_CONSISTENCY: _BAD_REQUEST,
    Kind.CROSSES_PARTITIONS: _BAD_REQUEST,
    Kind.PLAN_NEEDED: Answer(400, 1004, "BadRequest"),
    Kind.KEY_MISMATCH: Answer(400, 1001, "BadRequest"),
    Kind.CONTAINER_STALE: Answer(400, 1024, "BadRequest"),
    Kind.TOO_LARGE: Answer(413, 0, "RequestEntityTooLarge"),
    Kind.NOT_ALLOWED: Answer(405, 0, "MethodNotAllowed"),
    Kind.NOT_BUILT: _BAD_REQUEST,
    Kind.UNAUTHORIZED: Answer(401, 0, "Unauthorized"),
    Kind.FORBIDDEN: Answer(403, 0, "Forbidden"),
    Kind.DATABASE_MISSING: _NOT_FOUND,
    Kind.CONTAINER_MISSING: Answer(404, 1003, "NotFound"),
    Kind.ITEM_MISSING: _NOT_FOUND,
    Kind.OFFER_MISSING: _NOT_FOUND,
    Kind.RESOURCE_MISSING: _NOT_FOUND,
    Kind.SESSION_AHEAD: Answer(404, 1002, "NotFound"),
    Kind.SPLIT_OVER: _CONFLICT,
    Kind.SPLIT_REFUSED: _CONFLICT,
    Kind.SPLIT_RUNS: _CONFLICT,
    Kind.KEY_FULL: Answer(403, 1014, "Forbidden"),
    Kind.RANGE_GONE: Answer(410, 1002, "Gone"),
    Kind.DATABASE_EXISTS: Answer(409, 3206, "Conflict"),
    Kind.CONTAINER_EXISTS: _CONFLICT,
    Kind.ITEM_EXISTS: _CONFLICT,
    Kind.UNIQUE_CLASH: Answer(409, 3301, "Conflict"),
    Kind.ETAG_MISMATCH: Answer(412, 0, "PreconditionFailed"),
    Kind.CONDITION_FALSE: Answer(412, 1110, "PreconditionFailed"),
    Kind.NOT_MODIFIED: Answer(304, 0, ""),
    Kind.BUSY: Answer(429, 3092, "TooManyRequests"),
    Kind.THROTTLED: Answer(429, 3200, "TooManyRequests"),
    Kind.MINUTE_SPENT: Answer(429, 3202, "TooManyRequests"),
    Kind.BUCKET_SPENT: Answer(429, 3212, "TooManyRequests"),
    Kind.DISK_FULL: Answer(507, 0, "InsufficientStorage"),
    Kind.STORE_BROKEN: Answer(500, 0, "InternalServerError"),
    Kind.OUTCOME_UNKNOWN: Answer(408, 0, "RequestTimeout"),
    Kind.STOPPING: _UNAVAILABLE,
    Kind.ADDRESS_UNUSABLE: _UNAVAILABLE,
    Kind.PARTITION_EXISTS: Answer(500, 0, "InternalServerError"),
    Kind.PARTITION_MISSING: Answer(410, 1007, "Gone"),
    Kind.PARTITION_CLOSED: Answer(410, 1007, "Gone"),
    Kind.DEFINITION_NEWER: Answer(410, 1000, "Gone"),
    Kind.KEY_TOO_LONG: _BAD_REQUEST,
    Kind.COMMIT_TOO_LARGE: Answer(413, 0, "RequestEntityTooLarge"),
    Kind.FOLDER_IN_USE: _UNAVAILABLE,
    Kind.FORMAT_NEWER: _UNAVAILABLE,
}


def render_refusal(refused: Refusal, activity: str, head: bytes) -> Response:
    """The answer to a refused request; `head` holds what every answer carries."""
    answer = ANSWERS[refused.kind]
    if answer.substatus:
        head += b"x-ms-substatus: %d\r\n" % answer.substatus
    if answer.status == 304:
        return Response(304, head)
    if answer.status == 429:
        wait = refused.context.get("wait", RETRY_AFTER_MS)
        head += f"x-ms-retry-after-ms: {wait}\r\n".encode()
    message = f"{refused}\r\nActivityId: {activity}"
    body = {"code": answer.code, "message": message}
    if "plan" in refused.context:
        body["additionalErrorInfo"] = str(refused.context["plan"])
    return Response(answer.status, head, dump(body))
