"""Many keys as one feed: every item once and in its order, whatever the pages are and wherever a reader stops."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from threading import Barrier
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.clients.shelf import FORMS, Shelf, open_shelf

from armillary.clients import Keyed, Page
from armillary.errors import Kind, Refusal
from armillary.keys.synthetic import hash_suffix, hierarchical, random_suffix, rollup

DAY: Final = {"date": "d"}
ORDERS: Final = ("", "/id")

Amounts = list[int]
AMOUNTS: Final = st.lists(st.integers(0, 9), min_size=2, max_size=9)
SIZES: Final = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 4), st.booleans()), min_size=1, max_size=6)


def fill(amounts: Amounts, most: int = 1000) -> Shelf:
    """A shelf with so many items under each suffix; their ids are spread over the keys."""
    shelf = Shelf(most=most)
    for suffix, amount in enumerate(amounts, 1):
        for number in range(amount):
            shelf.create(f"d.{suffix}", {"id": f"{number:02}-{suffix}", "partitionKey": f"d.{suffix}"})
    shelf.visits.clear()
    return shelf


def read_on(
    shelf: Shelf, count: int, sizes: list[tuple[int, int, bool]], order: str, between: Any = None
) -> list[Page]:
    """All pages, by readers that take turns: each has its own size, and goes on or starts from the continuation."""
    pages: list[Page] = []
    turn, running = 0, None
    while not pages or pages[-1].next:
        size, parallel, anew = sizes[turn % len(sizes)]
        turn += 1
        if running is None or anew:
            box = Keyed(shelf, random_suffix("/date", count), parallel=parallel)
            after = pages[-1].next if pages else ""
            running = box.read_pages(DAY, size=size, order_by=order, continuation=after)
        page = next(running, None)
        if page is None:
            break
        pages.append(page)
        if between:
            between()
    return pages


def list_ids(pages: list[Page]) -> list[str]:
    return [item["id"] for page in pages for item in page.items]


@pytest.mark.parametrize("order", ORDERS)
@given(amounts=AMOUNTS, most=st.integers(1, 5), sizes=SIZES)
def test_every_item_comes_once_and_in_order(order: str, amounts: Amounts, most: int, sizes: Any) -> None:
    shelf = fill(amounts, most)
    ids = list_ids(read_on(shelf, len(amounts), sizes, order))
    assert sorted(ids) == sorted(name for _, name in shelf.items)
    for suffix in range(1, len(amounts) + 1):
        mine = [name for name in ids if name.endswith(f"-{suffix}")]
        assert mine == sorted(mine), "within a key the order is the service's"
    if order:
        assert ids == sorted(ids)


@pytest.mark.parametrize("order", ORDERS)
@given(amounts=AMOUNTS, most=st.integers(1, 5), sizes=SIZES, seed=st.randoms(use_true_random=False))
def test_items_that_nobody_touches_come_once(order: str, amounts: Amounts, most: int, sizes: Any, seed: Any) -> None:
    shelf = fill(amounts, most)
    before = set(shelf.items)
    touched = set()

    def meddle() -> None:
        suffix = seed.randint(1, len(amounts))
        name = f"{seed.randint(0, 9):02}-{suffix}" + seed.choice(["", "x"])
        place = (f"d.{suffix}", name)
        touched.add(place)
        if shelf.items.pop(place, None) is None:
            shelf.create(place[0], {"id": name, "partitionKey": place[0]})

    pages = read_on(shelf, len(amounts), sizes, order, meddle)
    ids = list_ids(pages)
    for _, name in before - touched:
        assert ids.count(name) == 1
    if order:
        assert ids == sorted(ids)


@given(amounts=AMOUNTS, size=st.integers(1, 30))
def test_pages_hold_at_most_what_was_asked_for(amounts: Amounts, size: int) -> None:
    for order in ORDERS:
        box = Keyed(fill(amounts), random_suffix("/date", len(amounts)))
        pages = list(box.read_pages(DAY, size=size, order_by=order))
        assert all(len(page.items) <= size for page in pages)
        if order:
            assert all(len(page.items) == size for page in pages[:-1])


def test_keys_are_read_side_by_side_and_no_page_twice() -> None:
    """Every page waits until four are asked for: one after the other they would wait for ever."""
    shelf = fill([5] * 20, most=2)
    four = Barrier(4, timeout=30)

    def meet(name: str) -> None:
        if name == "page":
            four.wait()

    shelf.meet = meet
    reader = Keyed(shelf, random_suffix("/date", 20), parallel=4)
    assert len(list(reader.read_items(DAY))) == 100
    assert shelf.count("page") == 20 * 3


@pytest.mark.parametrize("form", FORMS)
def test_both_forms_read_the_same(form: str) -> None:
    shelf = fill([3, 0, 4, 1])
    box = open_shelf(form, shelf, random_suffix("/date", 4))
    assert [item["id"] for item in box.read_items(DAY, order_by="/id")] == sorted(name for _, name in shelf.items)
    pages = list(box.read_pages(DAY, size=3))
    assert [len(page.items) for page in pages] == [3, 3, 2]
    assert list(box.read_pages(DAY, size=3, continuation=pages[0].next)) == pages[1:]
    assert len(list(box.read_items(None))) == 8


def test_the_beginning_of_a_hierarchical_key_is_one_feed() -> None:
    strategy = hierarchical("/tenant", rollup("/at", "day", name="day"))
    box = Keyed(Shelf("/tenant", "/day"), strategy)
    for number, (tenant, at) in enumerate([("a", 0), ("a", 86_400), ("b", 0)]):
        box.create_item({"id": str(number), "tenant": tenant, "at": at})
    assert [item["id"] for item in box.read_items({"tenant": "a"})] == ["0", "1"]
    assert [item["id"] for item in box.read_items({"tenant": "a", "at": 0})] == ["0"]
    with pytest.raises(Refusal, match="all levels"):
        box.read_item("0", {"tenant": "a"})


def test_an_order_that_the_service_does_not_keep_is_refused() -> None:
    shelf = Shelf(most=2)
    for number, at in enumerate([1, 2, 3, 2]):
        shelf.create("d.1", {"id": str(number), "at": at, "partitionKey": "d.1"})
    box = Keyed(shelf, random_suffix("/date", 2))
    with pytest.raises(Refusal, match=r"'d\.1' do not come in the order of /at") as refused:
        list(box.read_items(DAY, order_by="/at"))
    assert refused.value.kind is Kind.BAD_REQUEST
    first = next(box.read_pages(DAY, size=2, order_by="/at"))
    with pytest.raises(Refusal, match="do not come in the order"):
        list(box.read_pages(DAY, size=2, order_by="/at", continuation=first.next))


VALUES: Final = (
    st.just(...) | st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text("ab", max_size=2)
)


@given(st.lists(st.tuples(st.integers(1, 3), VALUES), max_size=12), SIZES)
def test_any_values_have_an_order(pairs: list[tuple[int, Any]], sizes: Any) -> None:
    """Undefined (written ...), null, booleans, numbers, texts; what is alike comes by key."""
    shelf = Shelf(most=2)
    wanted = sorted((rank(value), suffix, number, value) for number, (suffix, value) in enumerate(pairs))
    for place, (_, suffix, _, value) in enumerate(wanted):
        own = {} if value is ... else {"at": value}
        shelf.create(f"d.{suffix}", {"id": f"{place:02}", "partitionKey": f"d.{suffix}", **own})
    assert list_ids(read_on(shelf, 3, sizes, "/at")) == [f"{place:02}" for place in range(len(wanted))]


def rank(value: Any) -> tuple[int, Any]:
    if value is ... or value is None:
        return (int(value is None), 0)
    return (2, value) if isinstance(value, bool) else (4, value) if isinstance(value, str) else (3, value)


def encode(position: object) -> str:
    return "AK1~" + urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def decode(text: str) -> dict[str, Any]:
    code = text.removeprefix("AK1~")
    position: dict[str, Any] = json.loads(urlsafe_b64decode(code + "=" * (-len(code) % 4)))
    return position


@pytest.mark.parametrize("order", ORDERS)
def test_continuations_that_are_none(order: str) -> None:
    box = Keyed(fill([5, 5, 5]), random_suffix("/date", 3), parallel=2)
    good = next(box.read_pages(DAY, size=4, order_by=order)).next
    position = decode(good)
    after = next((name for name in position if name.startswith("after")), "")
    changes: list[dict[str, Any]] = [
        *({"lanes": lanes} for lanes in ([[0, ""]], [["0", "", None]], [[True, "", None]], [[0, 1, None]], 5)),
        *({"lanes": lanes} for lanes in ([[0, "", None], [0, "", None]], [[9, "", None]], [[-1, "", None]])),
        *({"lanes": [[0, "", last]]} for last in ([3, "x"], [2, 1], [4, []], [0, 1], "x")),
        *({"next": number} for number in (-1, 99, "1", None)),
        *({after: last} for last in ([[4, {}], 0, "1"], [[4, "x"], "0", "1"], 5, [1]) if after),
    ]
    wrong = [encode({**position, **change}) for change in changes]
    wrong += ["x", "AK1~", "AK1~!!!", "AK1~AAAA", encode([]), encode(5), encode({}), good[:-7]]
    for text in wrong:
        with pytest.raises(Refusal) as refused:
            list(box.read_pages(DAY, size=4, order_by=order, continuation=text))
        assert refused.value.kind is Kind.BAD_CONTINUATION, text


def test_a_continuation_belongs_to_its_keys_and_its_order() -> None:
    shelf = fill([5, 5, 5])
    box = Keyed(shelf, random_suffix("/date", 3))
    plain = next(box.read_pages(DAY, size=4)).next
    ordered = next(box.read_pages(DAY, size=4, order_by="/id")).next
    by_hash = Keyed(shelf, hash_suffix("/date", by="/vin", count=3))
    assert list_ids(list(by_hash.read_pages(DAY, continuation=plain))), "the same keys are the same feed"
    with pytest.raises(Refusal, match="another query"):
        list(box.read_pages(DAY, continuation=plain, query="SELECT * FROM c"))
    for reader, sources, order, text in (
        (box, {"date": "e"}, "", plain),
        (box, DAY, "/id", plain),
        (box, DAY, "", ordered),
        (box, DAY, "/at", ordered),
        (box, None, "", plain),
        (Keyed(shelf, random_suffix("/date", 3).grow(4)), DAY, "", plain),
    ):
        with pytest.raises(Refusal, match="other keys, another order or another query"):
            list(reader.read_pages(sources, order_by=order, continuation=text))


@pytest.mark.parametrize("wrong", [{"size": 0}, {"size": -1}, {"order_by": "id"}, {"order_by": "/"}])
def test_reads_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        list(Keyed(fill([1, 1]), random_suffix("/date", 2)).read_pages(DAY, **wrong))
    assert refused.value.kind in (Kind.BAD_REQUEST, Kind.BAD_DEFINITION)
