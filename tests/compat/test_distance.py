"""The relay hands everything on in both directions, and what comes back comes later."""

import socket
import threading
import time

from tests.compat.distance import put_at_distance

SECONDS = 0.05


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_answers_come_whole_and_late() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                while data := connection.recv(1 << 16):
                    connection.sendall(data.upper())

        thread = threading.Thread(target=answer)
        thread.start()
        with put_at_distance(port, listener.getsockname()[1], SECONDS):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
                started = time.monotonic()
                client.sendall(b"question")
                assert client.recv(100) == b"QUESTION"
                assert time.monotonic() - started >= SECONDS
                client.shutdown(socket.SHUT_WR)
                assert client.recv(100) == b""
            thread.join(10)
            assert not thread.is_alive()
