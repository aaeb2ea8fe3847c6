"""Items in a file: one JSON text per line, or one JSON array, told apart by the first byte and read as a stream.

A record is numbered the way an editor or a counting reader finds it: lines from 1 (blank ones are counted, not read),
elements of an array from 1. Only the borders are found here; what is inside is parsed by whoever wants it, so a bad
record does not hide the good ones behind it. An array is split by counting brackets outside strings.
"""

import re
from collections.abc import Iterable, Iterator
from io import BufferedReader
from typing import Final, NamedTuple

__all__ = ["Record", "RecordsError", "iter_records", "split_array"]

_CHUNK: Final = 1 << 16
_MARK: Final = re.compile(rb'[\[\]{}",\\]')
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"


class RecordsError(ValueError):
    """The file as a whole is not what it seemed: nothing after this point can be read."""


class Record(NamedTuple):
    """One item as it was written, where it stands, and how many bytes were read up to its end."""

    place: str  # "line 3" or "item 3"
    number: int
    body: bytes
    read: int


def iter_records(stream: BufferedReader) -> Iterator[Record]:
    """Every record of a stream."""
    if stream.peek(_CHUNK).lstrip(_BLANK).startswith(b"["):
        yield from split_array(iter(lambda: stream.read1(_CHUNK), b""))
        return
    read = 0
    for number, line in enumerate(stream, 1):
        read += len(line)
        body = line.strip(_BLANK if number == 1 else None)
        if body:
            yield Record(f"line {number}", number, body, read)


def split_array(chunks: Iterable[bytes]) -> Iterator[Record]:
    """The elements of the one array in these chunks."""
    buffer = bytearray()
    number = depth = at = start = gone = 0  # `start` is where the element begins, `gone` what was cut off before
    quoted = False
    for chunk in chunks:
        buffer += chunk
        while mark := _MARK.search(buffer, at):
            byte, at = mark[0], mark.end()
            if quoted:
                at += byte == b"\\"
                quoted = byte != b'"'
                continue
            quoted = byte == b'"'
            depth += (byte in b"[{") - (byte in b"]}")
            if depth == 1 and byte == b"[" and number == 0:
                number, start = 1, at
            elif (depth == 1 and byte == b",") or depth == 0:
                body = bytes(buffer[start : at - 1]).strip()
                if body or number > 1 or byte == b",":
                    yield Record(f"item {number}", number, body, gone + at)
                number, start = number + 1, at
            if depth == 0:
                break
        if depth == 0:
            break
        at = max(at, len(buffer)) - start
        gone += start
        del buffer[:start]
        start = 0
    _check_end(depth, number, bytes(buffer[start:]) + b"".join(chunks) if depth == 0 else b"")


def _check_end(depth: int, number: int, rest: bytes) -> None:
    if depth:
        raise RecordsError(f"the array is not closed: it ends in item {number}")
    if rest.strip():
        raise RecordsError(f"something follows the array after item {number - 1}")
