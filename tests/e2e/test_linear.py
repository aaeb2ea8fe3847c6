"""Clients that write and read the same items at once see histories that can have happened one operation at a time."""

from typing import Final

import pytest
from tests.e2e.history import must_be_linear, record
from tests.e2e.live import Caller, Live
from tests.model.linear import Outcome

pytestmark = pytest.mark.e2e

CLIENTS: Final = 8
REQUESTS: Final = 300


@pytest.mark.parametrize(("throughput", "keys"), [(0, 3), (30_000, 8)])
def test_histories_are_linear(live: Live, caller: Caller, name: str, throughput: int, keys: int) -> None:
    """Crowded keys on one partition without a limit, and keys spread over five."""
    caller.create(name)
    definition = {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
    caller.must("POST", f"/dbs/{name}/colls", definition, {"x-ms-offer-throughput": str(throughput or "")})
    path = f"/dbs/{name}/colls/c"
    with record(live.http, live.key, path, clients=CLIENTS, keys=keys, seed=keys, limit=REQUESTS) as recording:
        pass
    must_be_linear(recording)
    assert recording.count() == CLIENTS * REQUESTS
    found = {operation.outcome for history in recording.histories().values() for operation in history}
    assert found == set(Outcome) - {Outcome.UNKNOWN}
