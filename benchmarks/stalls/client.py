"""A client with a plain socket, and one that pings."""

from __future__ import annotations

import socket
import time

PING = bytes.fromhex("0000000a 0012 0000 00000007 ffff")
"""ApiVersions v0: what a broker answers without looking at anything."""


class Client:
    """Asks, and waits for the answer."""

    def __init__(self, port: int, timeout_s: float = 120) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, *frames: bytes) -> None:
        """Sends them together, and reads as many answers."""
        self.socket.sendall(b"".join(frames))
        for _ in frames:
            self.hear()

    def read(self) -> bytes:
        """Read one answer."""
        return self._read(int.from_bytes(self._read(4), "big"))

    def hear(self) -> int:
        """Reads one answer; returns how long it is."""
        left = size = int.from_bytes(self._read(4), "big")
        while left:
            got = self.socket.recv(min(left, 1 << 20))
            if not got:
                raise ConnectionError("the broker has hung up")
            left -= len(got)
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
    """How many milliseconds the answers took."""
    client = Client(port)
    took: list[float] = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        client.ask(PING)
        now = time.perf_counter()
        took.append((now - start) * 1_000)
        time.sleep(max(every_s - (now - start), 0))
    return took
