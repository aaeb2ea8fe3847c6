"""The floor: the least a Python server can do. It parses each request and answers fixed bytes, and knows nothing.

No routing, no signature, no store: nothing written in Python over uvloop and httptools can use less.
`python -m bench.floor` takes the port.
"""

import asyncio
import sys
from typing import Final, cast

import httptools
import uvloop

BODY: Final = b'{"id":"1","text":"' + b"x" * 1000 + b'"}'
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


class Floor(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.WriteTransport", transport)
        self.parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        self.transport.write(ANSWER)


async def serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Floor, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
