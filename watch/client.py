"""A small client: one connection to each broker, one request at a time on it."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable
from typing import Any

from kohort.broker.address import show_address
from kohort.client.client_connection import BrokerError, ClientConnection, Conversation, ResultT, SpeaksHttpError
from kohort.client.problems import hung_up, in_words, tls_in_words
from kohort.client.security import OPEN, Security

__all__ = ["ANSWER_S", "Broker", "BrokerError", "SpeaksHttpError"]

CLIENT_ID = "kohort-watch"
ANSWER_S = 10.0
"""How long a broker may take to accept a connection, and to answer."""
SPOKEN = {
    "metadata": 12,
    "list_groups": 5,
    "describe_groups": 6,
    "consumer_group_describe": 1,
    "share_group_describe": 1,
    "describe_share_group_offsets": 1,
    "streams_group_describe": 0,
    "offset_fetch": 9,  # from 10 on topics are named by id
    "list_offsets": 7,
}
"""The newest version of each API that this client speaks."""


class Broker:
    """One broker at an address."""

    def __init__(self, host: str, port: int, security: Security = OPEN, client_id: str = CLIENT_ID) -> None:
        self.address = show_address(host, port)
        self._host, self._port = host, port
        self._security = security
        self._client_id = client_id
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._connection = ClientConnection(client_id, SPOKEN, security)
        self._until: float | None = None

    async def ask(self, name: str, request: Any) -> Any:
        """The answer to a request of the API `name`, in the newest version that both sides speak. Raises BrokerError.

        After an error the connection is closed; the next question opens another.
        """

        async def talk() -> Any:
            await self._open()
            return await self._talk(self._connection.ask(name, request))

        return await self._in_words(talk())

    async def connect(self) -> int:
        """Opens the connection and logs in, if it is not open. Returns how many APIs there are. Raises BrokerError."""
        await self._in_words(self._open())
        return self._connection.apis

    async def _in_words(self, talk: Awaitable[ResultT]) -> ResultT:
        """Its result. Whatever fails is a BrokerError that begins with the address, and closes the connection."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await talk
        except TimeoutError:
            self.close()
            raise BrokerError(f"{self.address} did not answer within {ANSWER_S:g} s") from None
        except BrokerError as problem:
            self.close()
            raise type(problem)(f"{self.address}: {problem}") from None
        except ssl.SSLError as problem:
            self.close()
            raise BrokerError(f"{self.address}: {tls_in_words(problem)}") from None
        except (asyncio.IncompleteReadError, ConnectionResetError, BrokenPipeError):
            self.close()
            raise BrokerError(f"{self.address}: {hung_up(self._security)}") from None
        except OSError as problem:
            self.close()
            raise BrokerError(f"{self.address}: {in_words(problem)}") from None
        except (OverflowError, ValueError) as problem:  # no such port, or host
            self.close()
            raise BrokerError(f"{self.address}: {problem}") from None

    def version(self, name: str) -> int:
        """The newest of an API that both speak, once the broker has answered anything. Raises BrokerError."""
        try:
            return self._connection.version(name)
        except BrokerError as problem:
            raise BrokerError(f"{self.address}: {problem}") from None

    def speaks(self, name: str) -> bool:
        """Whether the broker serves an API, once it has answered anything."""
        return self._connection.speaks(name)

    async def _open(self) -> None:
        if self._until is not None and time.monotonic() > self._until:
            self.close()
        if self._streams is None:
            context = self._security.context() if self._security.tls else None
            self._streams = await asyncio.open_connection(
                self._host, self._port, ssl=context, server_hostname=self._host if context is not None else None
            )
            self._connection = ClientConnection(self._client_id, SPOKEN, self._security)
            await self._talk(self._connection.open())
            session_s = self._connection.session_s
            self._until = None if session_s is None else time.monotonic() + session_s

    async def _talk(self, conversation: Conversation[ResultT]) -> ResultT:
        assert self._streams is not None, "opened by whoever asks"
        reader, writer = self._streams
        try:
            frame = next(conversation)
            while True:
                writer.write(frame)
                await writer.drain()
                size = self._connection.frame_size(await reader.readexactly(4))
                frame = conversation.send(await reader.readexactly(size))
        except StopIteration as over:
            result: ResultT = over.value
            return result

    def close(self) -> None:
        """Hangs up, if there is a connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
