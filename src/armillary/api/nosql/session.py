"""Session tokens: `{range}:{version}#{LSN}`, several joined by commas; what this server writes is `0:-1#LSN`.

A token says what its owner has seen; a read that would show less is refused. Ranges that this container does not have
are passed over, regions are read past. What is no token at all is refused.
"""

import re
from collections.abc import Collection
from typing import Final

from armillary.errors import Kind, Refusal

_TOKEN: Final = re.compile(r"\s*([0-9A-Za-z]{1,10}):(?:(-?\d{1,10})#)?(\d{1,19})((?:#\d{1,10}=-?\d{1,19})*)\s*")


def read_session(header: bytes, ranges: Collection[str]) -> int:
    """The LSN that the header asks of a range that has one of these ids, its own and its ancestors'; 0 for none."""
    asked = 0
    text = header.decode("latin-1")
    for part in text.split(","):
        found = _TOKEN.fullmatch(part)
        if found is None:
            raise Refusal(Kind.BAD_SESSION, token=text[:100], reason="it is not RANGE:VERSION#LSN")
        if found[1] in ranges:
            asked = max(asked, int(found[3]))
    return asked
