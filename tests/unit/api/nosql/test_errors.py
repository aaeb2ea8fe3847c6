from armillary.api.nosql.errors import ANSWERS
from armillary.errors import Fault, Kind, fault_of


def test_every_kind_has_an_answer() -> None:
    assert set(ANSWERS) == set(Kind)


def test_a_fault_of_the_caller_or_the_state_is_no_5xx() -> None:
    for kind, answer in ANSWERS.items():
        assert (fault_of(kind) is Fault.SERVER) or answer.status < 500, kind


def test_answers_of_the_service() -> None:
    """Status and substatus as the service's documentation and clients have them."""
    expected = {
        Kind.KEY_MISMATCH: (400, 1001),
        Kind.CONTAINER_STALE: (400, 1024),
        Kind.UNAUTHORIZED: (401, 0),
        Kind.ITEM_MISSING: (404, 0),
        Kind.SESSION_AHEAD: (404, 1002),
        Kind.CONTAINER_MISSING: (404, 1003),
        Kind.ITEM_EXISTS: (409, 0),
        Kind.UNIQUE_CLASH: (409, 3301),
        Kind.DATABASE_EXISTS: (409, 3206),
        Kind.RANGE_GONE: (410, 1002),
        Kind.ETAG_MISMATCH: (412, 0),
        Kind.TOO_LARGE: (413, 0),
        Kind.DISK_FULL: (507, 0),
    }
    assert {kind: ANSWERS[kind][:2] for kind in expected} == expected
