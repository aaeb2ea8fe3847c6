"""Why a test of the suite fails: decided by the request that the server refused, in the server's own words.

A test that the server stopped has the refusal in its exception. Where an assertion failed instead, the last thing that
was refused as not built in the same test decides. A few fail for what is no answer of the server: each was looked into,
and is listed by name. What none of this explains is a fault of this server until somebody has found out more.
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

# Failures that lie in no answer of the server: the name of the test, what it says, and what it lacks.
NOT_THE_SERVER: Final = (
    (
        "test_partitioned_collection_path_parser",
        "FileNotFoundError: [Errno 2] No such file or directory",
        "a data file that is not in the source distribution",
    ),
    (
        "test_read_timeout",
        "ServiceResponseTimeoutError",
        "a network on which it takes longer than a millisecond to open a connection",
    ),
    (
        "test_partitioned_collection_document_crud_and_query",
        "The session token asks for LSN",
        "luck: this client, told to take no content back, reads with the session token of another container; a service "
        "that is further on by chance answers, and one that is not refuses the token",
    ),
)
_NOT_BUILT: Final = re.compile(r"\d+/\d+ (.+?) is not built yet")


def find_reason(ending: Ending) -> str:
    """What a failed test needs that is not there; empty when nothing that was refused explains it."""
    told = ending.raised[:1] or ending.refused[::-1]
    for text in told:
        found = _NOT_BUILT.match(text)
        if found and found[1] in NEEDS:
            return NEEDS[found[1]]
    for name, words, reason in NOT_THE_SERVER:
        if ending.test.endswith(f"::{name}") and words in ending.message:
            return reason
    return ""
