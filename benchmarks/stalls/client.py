"""Client with a plain socket, and one that sends pings."""

from __future__ import annotations

import socket
import time

PING = bytes.fromhex("0000000a 0012 0000 00000007 ffff")
"""ApiVersions v0, the simplest request."""


class Client:
    """Client that waits for each response."""

    def __init__(self, port: int, timeout_s: float = 120) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, *frames: bytes) -> None:
        """Send the frames together, and read the responses."""
        self.socket.sendall(b"".join(frames))
        for _ in frames:
            self.skip_response()

    def read(self) -> bytes:
        """Read one answer."""
        return self._read(int.from_bytes(self._read(4), "big"))

    def skip_response(self) -> int:
        """Read one response and return its size."""
        remaining = size = int.from_bytes(self._read(4), "big")
        while remaining:
            got = self.socket.recv(min(remaining, 1 << 20))
            if not got:
                raise ConnectionError("the broker has hung up")
            remaining -= len(got)
        return size

    def _read(self, size: int) -> bytes:
        read = b""
        while len(read) < size:
            got = self.socket.recv(size - len(read))
            if not got:
                raise ConnectionError("the broker has hung up")
            read += got
        return read


def pings(port: int, seconds: float, every_s: float = 0.005) -> list[float]:
    """Return the response times in milliseconds."""
    client = Client(port)
    took: list[float] = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        client.ask(PING)
        now = time.perf_counter()
        took.append((now - start) * 1_000)
        time.sleep(max(every_s - (now - start), 0))
    return took
