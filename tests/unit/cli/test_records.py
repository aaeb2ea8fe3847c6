"""Records: lines and arrays, read in pieces of any size."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armillary.cli.records import Record, RecordsError, iter_records, split_array

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def read(text: bytes) -> list[Record]:
    return list(iter_records(io.BufferedReader(io.BytesIO(text))))


@pytest.mark.parametrize(
    ("text", "records"),
    [
        (b"", []),
        (b"\n\n", []),
        (b'{"a":1}\n{"a":2}', [("line 1", b'{"a":1}'), ("line 2", b'{"a":2}')]),
        (b'\xef\xbb\xbf{"a":1}\r\n\r\n{"a":2}\r\n', [("line 1", b'{"a":1}'), ("line 3", b'{"a":2}')]),
        (b"[]", []),
        (b" \n [ ] ", []),
        (b"[1]", [("item 1", b"1")]),
        (
            b'[{"a":"]}\\"],"}, [2,{}] ,"x"]\n',
            [("item 1", b'{"a":"]}\\"],"}'), ("item 2", b"[2,{}]"), ("item 3", b'"x"')],
        ),
        (b"[,1,]", [("item 1", b""), ("item 2", b"1"), ("item 3", b"")]),
    ],
)
def test_records_are_found_and_numbered(text: bytes, records: list[tuple[str, bytes]]) -> None:
    assert [(record.place, record.body) for record in read(text)] == records


def test_bytes_read_grow_to_the_size_of_the_text() -> None:
    text = b'{"a":1}\n\n{"a":2}\n'
    assert [record.read for record in read(text)] == [8, 17]
    assert [record.read for record in read(b"[1, 2]")] == [3, 6]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[1,2", "the array is not closed: it ends in item 2"),
        (b'["a', "the array is not closed: it ends in item 1"),
        (b"[1,2] 3", "something follows the array after item 2"),
        (b"[1][2]", "something follows the array after item 1"),
    ],
)
def test_a_broken_array_is_told_after_its_good_items(text: bytes, reason: str) -> None:
    with pytest.raises(RecordsError, match=reason):
        read(text)


@given(st.lists(json_values), st.integers(1, 9), st.sampled_from([None, 1]))
def test_an_array_is_split_the_same_in_pieces_of_any_size(values: list[object], size: int, indent: int | None) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")
    chunks = iter([text[at : at + size] for at in range(0, len(text), size)])
    records = list(split_array(chunks))
    assert [json.loads(record.body.decode("utf-8", "surrogatepass")) for record in records] == values
    assert [record.number for record in records] == list(range(1, len(values) + 1))
    assert all(record.read <= len(text) for record in records)
