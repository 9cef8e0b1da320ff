"""Bytes that have arrived on a connection and have not been processed."""

from __future__ import annotations


class Received:
    """Buffer that copies nothing as long as all bytes of a read are processed before the next."""

    __slots__ = ("_at", "data", "is_due", "needed")

    def __init__(self) -> None:
        self.data: bytes | bytearray = b""
        self._at = 0  # where the bytes begin that have not been worked on
        self.needed = 0  # number of bytes below which another attempt is pointless
        self.is_due = False  # whether processing stopped although there are enough bytes

    def __len__(self) -> int:
        return len(self.data) - self._at

    @property
    def is_enough(self) -> bool:
        """Whether there are bytes, and at least `needed`."""
        return len(self) >= max(self.needed, 1)

    def add(self, data: bytes) -> None:
        if not self.data:
            self.data = data
        elif data:
            if not isinstance(self.data, bytearray):
                self.data = bytearray(memoryview(self.data)[self._at :])
                self._at = 0
            self.data += data

    def take(self) -> tuple[bytes, int]:
        """Remove everything. Return a buffer and the position in it where the bytes begin."""
        result = bytes(self.data), self._at
        self.data, self._at, self.needed, self.is_due = b"", 0, 0, False
        return result

    def put_back(self, data: bytes, at: int) -> None:
        """Keep the bytes from `at` on. `data` is what `take` returned, or what arrived while nothing was kept."""
        if at < len(data):
            self.data, self._at = data, at

    def skip(self, size: int) -> None:
        """Remove bytes at the beginning and mark the rest as due."""
        data, at = self.take()
        self.put_back(data, at + size)
        self.is_due = bool(self.data)
