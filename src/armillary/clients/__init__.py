"""Containers seen through their synthetic keys, in the client: any service that speaks the protocol, ours or another.

    writes       the key is made of the item and put in
    point reads  the key is made of the sources; where several keys are possible, all are asked side by side
    reads        of a base value go to all its keys side by side and come back as one feed with one continuation
    changes      of a source are refused, or the item is moved: created under its new key, deleted under the old one

`Keyed` and `AsyncKeyed` do this over any object with a few calls (`calls`); `cosmos` has these calls over
`azure-cosmos`. Nothing here knows the server.
"""

from armillary.clients.calls import AsyncCalls, Calls, Page, Reason
from armillary.clients.keyed import AsyncKeyed, Keyed, OnChange
from armillary.clients.moves import Mend, Mended

__all__ = ["AsyncCalls", "AsyncKeyed", "Calls", "Keyed", "Mend", "Mended", "OnChange", "Page", "Reason"]
