"""Whether this server can do its work, and if not, why: the health page, which needs no key.

Troubles are those that the answering worker has met itself: the page says which one it is. What it says of the family
is the parent's knowledge, and the same from every worker.
"""

import time

from armillary import __version__
from armillary.errors import Kind, Refusal
from armillary.json import dump
from armillary.kv.engine import Applied, Outcome, Rejected
from armillary.server.roll import Roll
from armillary.wire.http import Response

__all__ = ["Health"]

_TROUBLES = frozenset((Kind.DISK_FULL, Kind.STORE_BROKEN))
_HEAD = b"content-type: application/json\r\ncache-control: no-store\r\n"


class Health:
    """What is known about the store's troubles. A trouble is forgotten when a commit succeeds again."""

    def __init__(self, worker: int, roll: Roll) -> None:
        self.trouble = ""
        self._worker = worker
        self._roll = roll
        self._started = time.monotonic()

    def note(self, outcome: Outcome) -> None:
        """Look at the outcome of a commit."""
        if isinstance(outcome, Applied):
            self.trouble = ""
        elif isinstance(outcome, Rejected) and isinstance(outcome.error, Refusal) and outcome.error.kind in _TROUBLES:
            self.trouble = str(outcome.error)

    def report(self) -> Response:
        """The health page: 200, or 503 with the reasons."""
        page = {
            "status": "failing" if self.trouble else "ok",
            "reasons": [self.trouble] if self.trouble else [],
            "worker": self._worker,
            "workers": len(self._roll.names) - 1,
            "missing": self._roll.missing,
            "deaths": self._roll.deaths,
            "uptime_seconds": round(time.monotonic() - self._started, 1),
            "version": __version__,
        }
        return Response(503 if self.trouble else 200, _HEAD, dump(page))
