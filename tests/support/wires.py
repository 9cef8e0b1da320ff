"""Connections to a broker over a real port that ask one thing at a time, and wait for the answer."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from kohort.protocol.errors import ErrorCode
from kohort.protocol.wire import INT
from tests.support.frames import frame, message
from tests.support.group_member import VERSIONS, Said

TIMEOUT_S = 60


class Blocking:
    """Asks and waits, with nothing between it and its socket. Raises OSError when the broker hangs up."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchanges(self, frame: bytes) -> bytes:
        """The answer to a frame, without its length."""
        self._socket.sendall(frame)
        return self._read(INT.unpack(self._read(4))[0])

    def asks(self, name: str, version: int, **fields: Any) -> Any:
        """The response to a request."""
        return message(name).read_response(version, self.exchanges(frame(name, version, 1, **fields)))[1]

    def says(self, said: Said, client_id: str = "ada") -> ErrorCode:
        """What a member says, and hears. Returns the answer's error."""
        return said.hear(self.asks(said.api, VERSIONS[said.api], client_id=client_id, **said.fields))

    def close(self) -> None:
        """Hangs up."""
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
    """The same on an event loop. It connects when it is first asked."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @classmethod
    async def to(cls, port: int) -> Waiting:
        """One that is connected."""
        wire = cls(port)
        await wire._connected()
        return wire

    async def exchanges(self, frame: bytes) -> bytes:
        """The answer to a frame, without its length."""
        reader, writer = await self._connected()
        writer.write(frame)
        async with asyncio.timeout(TIMEOUT_S):
            try:
                return await reader.readexactly(INT.unpack(await reader.readexactly(4))[0])
            except asyncio.IncompleteReadError:
                raise ConnectionResetError("the broker has hung up") from None

    async def asks(self, name: str, version: int, **fields: Any) -> Any:
        """The response to a request."""
        return message(name).read_response(version, await self.exchanges(frame(name, version, 1, **fields)))[1]

    async def says(self, said: Said) -> ErrorCode:
        """What a member says, and hears. Returns the answer's error."""
        return said.hear(await self.asks(said.api, VERSIONS[said.api], **said.fields))

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        return self._streams

    def close(self) -> None:
        """Hangs up."""
        if self._streams is not None:
            self._streams[1].close()
