"""Why a test of the suite fails: decided by the request that the server refused, in the server's own words.

A test that the server stopped has the refusal in its exception. Where an assertion failed instead, the last thing that
was refused as not built in the same test decides. What neither explains is a fault of this server until somebody has
found out more.
"""

import re
from typing import Final

from tests.compat.witness import Ending

QUERIES: Final = "queries over items"
BATCH: Final = "batch"
SCRIPTS: Final = "scripts"
USERS: Final = "users"

NEEDS: Final = {
    "The operation 'query items'": QUERIES,
    "The operation 'ask for a query plan'": QUERIES,
    "The operation 'batch and bulk'": BATCH,
    "stored procedures": SCRIPTS,
    "triggers": SCRIPTS,
    "user-defined functions": SCRIPTS,
    "running triggers": SCRIPTS,
    "users": USERS,
    "permissions": USERS,
}

# Failures that lie in no answer of the server: the end of the test's name, what it looks like, and what is missing.
NOT_THE_SERVER: Final = (
    (
        "test_partitioned_collection_path_parser",
        "FileNotFoundError",
        "a data file that the source distribution does not have",
    ),
    ("test_read_timeout", "Error", "a network on which opening a connection takes longer than a millisecond"),
)
_NOT_BUILT: Final = re.compile(r"\d+/\d+ (.+?) is not built yet")


def find_reason(ending: Ending) -> str:
    """What a failed test needs that is not there; empty when nothing that was refused explains it."""
    told = ending.raised[:1] or ending.refused[::-1]
    for text in told:
        found = _NOT_BUILT.match(text)
        if found and found[1] in NEEDS:
            return NEEDS[found[1]]
    for name, look, reason in NOT_THE_SERVER:
        if ending.test.endswith(f"::{name}") and look in ending.message.partition(":")[0] and not ending.raised:
            return reason
    return ""
