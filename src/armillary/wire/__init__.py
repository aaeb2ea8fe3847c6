"""The machines of the wire protocols: bytes become events, events become bytes. No sockets, no clocks, no storage."""
