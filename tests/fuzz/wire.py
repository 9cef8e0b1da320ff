"""A connection that asks one thing at a time and waits: for those who watch a broker while others fuzz it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.join_group import JoinGroupRequestProtocol
from kohort.protocol.wire import INT
from tests.protocol.messages import load

LATER = {
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_load_in_progress,
}
"""What a client hears that should ask again."""


def request(name: str, version: int, **fields_: Any) -> bytes:
    """A whole frame."""
    message = load(name)
    raw = message.write_request(version, 1, "watcher", message.request(**fields_))
    return INT.pack(len(raw)) + raw


def join(group: str, member_id: str = "") -> bytes:
    """JoinGroup v3, which needs no member id to begin with; the longest session there is."""
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    return request(
        "join_group", 3, group_id=group, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, member_id=member_id,
        protocol_type="fuzz", protocols=(protocol,),
    )  # fmt: skip


class Blocking:
    """Asks and waits, with nothing between it and its socket. Raises OSError when the broker hangs up."""

    def __init__(self, port: int, timeout_s: float = 60) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchanges(self, frame: bytes) -> bytes:
        """The answer to a frame, without its length."""
        self._socket.sendall(frame)
        return self._read(INT.unpack(self._read(4))[0])

    def asks(self, name: str, version: int, **fields_: Any) -> Any:
        """The response to a request."""
        return load(name).read_response(version, self.exchanges(request(name, version, **fields_)))[1]

    def close(self) -> None:
        self._socket.close()

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise ConnectionResetError("the broker has hung up")
            parts += part
        return bytes(parts)


class Waiting:
    """The same on an event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, port: int) -> Waiting:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def exchanges(self, frame: bytes) -> bytes:
        """The answer to a frame, without its length. Raises OSError or EOFError when the broker hangs up."""
        self._writer.write(frame)
        size = INT.unpack(await self._reader.readexactly(4))[0]
        return await self._reader.readexactly(size)

    async def asks(self, name: str, version: int, **fields_: Any) -> Any:
        """The response to a request."""
        return load(name).read_response(version, await self.exchanges(request(name, version, **fields_)))[1]

    def close(self) -> None:
        """Hangs up."""
        self._writer.close()
