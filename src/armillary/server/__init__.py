"""The only asynchronous code: a family of processes, listeners, connections, writer threads.

    start        settings and an application -> a running family
    family       the parent: forks, restarts the dead, alone catches signals
    worker       one event loop and what it serves; keeper: jobs beside it
    listeners    sockets, and HTTP and HTTPS on one port
    connection   one client's requests, in their order
    service      what all connections of a worker share; writers: commits, grouped by partition

Nothing here knows an API: an application is anything that answers a `Request` with a `Response`, or with steps.
"""
