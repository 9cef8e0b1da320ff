"""Connections to a broker over a real port that send one request at a time and wait for its response."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from kohort.protocol.errors import ErrorCode
from kohort.protocol.wire import INT
from kohort.whatif.clients.group_member import VERSIONS, Said
from tests.support.frames import frame, message

TIMEOUT_S = 60


class Blocking:
    """A blocking connection. Raises OSError when the broker closes it."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchanges(self, frame: bytes) -> bytes:
        """Send a frame and return the response without its length."""
        self._socket.sendall(frame)
        return self._read(INT.unpack(self._read(4))[0])

    def asks(self, name: str, version: int, **fields: Any) -> Any:
        """Send a request and return its response."""
        return message(name).read_response(version, self.exchanges(frame(name, version, 1, **fields)))[1]

    def says(self, said: Said, client_id: str = "ada") -> ErrorCode:
        """Send a member's request, apply the response and return its error."""
        return said.hear(self.asks(said.api, VERSIONS[said.api], client_id=client_id, **said.fields))

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
    """A connection on an event loop, which connects at the first request."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @classmethod
    async def to(cls, port: int) -> Waiting:
        """Return a connection that is open."""
        wire = cls(port)
        await wire._connected()
        return wire

    async def exchanges(self, frame: bytes) -> bytes:
        """Send a frame and return the response without its length."""
        reader, writer = await self._connected()
        writer.write(frame)
        async with asyncio.timeout(TIMEOUT_S):
            try:
                return await reader.readexactly(INT.unpack(await reader.readexactly(4))[0])
            except asyncio.IncompleteReadError:
                raise ConnectionResetError("the broker has hung up") from None

    async def asks(self, name: str, version: int, **fields: Any) -> Any:
        """Send a request and return its response."""
        return message(name).read_response(version, await self.exchanges(frame(name, version, 1, **fields)))[1]

    async def says(self, said: Said) -> ErrorCode:
        """Send a member's request, apply the response and return its error."""
        return said.hear(await self.asks(said.api, VERSIONS[said.api], **said.fields))

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
