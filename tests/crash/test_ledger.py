"""The judge must find what a broken server would do."""

from typing import Any

import pytest
from tests.crash.ledger import Found, Ledger, Place, make_pad

PLACE = ("p", "i")
COUNTER = ("p", "counter")
NOW = 1000.0


def write(verb: str, mark: int, name: str = "w", ttl: int = 0, place: Place = PLACE) -> list[Any]:
    return ["+", name, verb, *place, mark, ttl, NOW]


def answer(status: int = 200, etag: str = "", lsn: int = 0, name: str = "w", substatus: int = 0) -> list[Any]:
    return ["-", name, status, substatus, etag, lsn, int(NOW), NOW]


def document(mark: int, etag: str, **more: Any) -> dict[str, Any]:
    return {"mark": mark, "_etag": etag, "_ts": int(NOW), "pad": make_pad(mark), **more}


CREATED = (write("create", 1), answer(201, "a", lsn=7))


def settle(*reports: list[Any], documents: dict[Place, dict[str, Any]], lsn: int = 9, after: float = 1) -> list[str]:
    ledger = Ledger()
    ledger.counted[COUNTER] = {0}
    for report in reports:
        ledger.note(report)
    counter = {COUNTER: document(0, "c")}
    return ledger.settle(Found({**counter, **documents}, lsn, NOW + after, NOW + after)).complaints


def test_what_was_acknowledged_is_there() -> None:
    assert settle(*CREATED, documents={PLACE: document(1, "a")}) == []


@pytest.mark.parametrize(
    ("documents", "lsn", "words"),
    [
        ({}, 9, "is missing"),
        ({PLACE: document(1, "b")}, 9, "another etag"),
        ({PLACE: document(2, "a")}, 9, "was acknowledged, None is open"),
        ({PLACE: document(1, "a", pad="")}, 9, "not the one that was written"),
        ({PLACE: document(1, "a")}, 6, "7 was acknowledged"),
        ({PLACE: document(1, "a"), ("p", "other"): document(3, "d")}, 9, "None was acknowledged"),
    ],
)
def test_losses_are_found(documents: dict[Place, dict[str, Any]], lsn: int, words: str) -> None:
    (complaint,) = settle(*CREATED, documents=documents, lsn=lsn)
    assert words in complaint


@pytest.mark.parametrize(("mark", "right"), [(1, True), (2, True), (3, False)])
def test_an_open_write_is_there_or_not(mark: int, right: bool) -> None:
    found = {PLACE: document(mark, "a" if mark == 1 else "b")}
    assert (settle(*CREATED, write("replace", 2), documents=found) == []) is right


def test_an_open_deletion_is_there_or_not() -> None:
    for documents in ({}, {PLACE: document(1, "a")}):
        assert settle(*CREATED, write("delete", 0), documents=documents) == []


def test_a_deletion_that_was_acknowledged_stays() -> None:
    deleted = (*CREATED, write("delete", 0), answer(204))
    assert settle(*deleted, documents={}) == []
    assert settle(*deleted, documents={PLACE: document(1, "a")})


def test_what_expires_may_be_gone_and_then_must_be() -> None:
    reports = (write("create", 1, ttl=2), answer(201, "a"))
    found = {PLACE: document(1, "a", ttl=2)}
    assert settle(*reports, documents={})
    assert settle(*reports, documents={}, after=2) == []
    assert settle(*reports, documents=found, after=2) == []
    assert settle(*reports, documents=found, after=3)


@pytest.mark.parametrize(
    "reports",
    [
        (*CREATED, write("replace", 2), answer(404)),
        (*CREATED, write("create", 2), answer(201, "b")),
        (write("create", 1), answer(409)),
        (write("replace", 1), answer(200, "a")),
        (write("delete", 0), answer(204)),
        (write("create", 1), answer(500)),
        (*CREATED, write("replace", 2), answer(200, "b", lsn=7)),
        (write("count", 1, place=COUNTER), answer(), write("count", 1, place=COUNTER), answer()),
    ],
)
def test_answers_that_no_server_may_give_are_found(reports: tuple[list[Any], ...]) -> None:
    ledger = Ledger()
    ledger.counted[COUNTER] = {0}
    for report in reports:
        ledger.note(report)
    assert len(ledger.complaints) == 1


@pytest.mark.parametrize(("value", "right"), [(1, False), (2, True), (3, True), (4, False)])
def test_a_counter_is_where_it_was_or_where_somebody_wanted_it(value: int, right: bool) -> None:
    reports = [write("count", 1, place=COUNTER), answer(), write("count", 2, place=COUNTER), answer()]
    reports.append(write("count", 3, place=COUNTER))
    assert (settle(*reports, documents={COUNTER: document(value, "c")}) == []) is right
