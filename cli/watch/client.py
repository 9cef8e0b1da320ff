"""Small client: one connection to each broker, one request at a time."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable
from typing import Any

from kohort.base.address import show_address
from kohort.client.client_connection import BrokerError, ClientConnection, Conversation, ResultT, SpeaksHttpError
from kohort.client.group_describing import DESCRIBE_VERSIONS
from kohort.client.problems import hung_up, in_words, tls_in_words
from kohort.client.security import OPEN, Security

__all__ = ["ANSWER_S", "Broker", "BrokerError", "SpeaksHttpError"]

CLIENT_ID = "kohort-watch"
ANSWER_S = 10.0  # timeout for connecting and for each response
SPOKEN = {
    "metadata": 12,
    "list_groups": 5,
    **DESCRIBE_VERSIONS,
    "describe_share_group_offsets": 1,
    "offset_fetch": 9,  # from 10 on topics are named by id
    "list_offsets": 7,
}  # newest version of each API that this client supports


class Broker:
    """Broker at an address."""

    def __init__(self, host: str, port: int, security: Security = OPEN, client_id: str = CLIENT_ID) -> None:
        self.address = show_address(host, port)
        self._host, self._port = host, port
        self._security = security
        self._client_id = client_id
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._connection = ClientConnection(client_id, SPOKEN, security)
        self._until: float | None = None

    async def ask(self, name: str, request: Any) -> Any:
        """Return the response to a request, in the newest common version. Raise BrokerError on failure.

        After an error the connection is closed; the next request opens another.
        """

        async def talk() -> Any:
            await self._open()
            return await self._talk(self._connection.ask(name, request))

        return await self._in_words(talk())

    async def connect(self) -> int:
        """Connect and log in unless connected. Return the number of supported APIs. Raise BrokerError on failure."""
        await self._in_words(self._open())
        return self._connection.apis

    async def _in_words(self, talk: Awaitable[ResultT]) -> ResultT:
        """Return the result. Turn each error into a BrokerError with the address, and close the connection."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await talk
        except TimeoutError:
            self.close()
            raise BrokerError(f"{self.address} did not respond within {ANSWER_S:g} s") from None
        except BrokerError as error:
            self.close()
            raise type(error)(f"{self.address}: {error}") from None
        except ssl.SSLError as error:
            self.close()
            raise BrokerError(f"{self.address}: {tls_in_words(error)}") from None
        except (asyncio.IncompleteReadError, ConnectionResetError, BrokenPipeError):
            self.close()
            raise BrokerError(f"{self.address}: {hung_up(self._security)}") from None
        except OSError as error:
            self.close()
            raise BrokerError(f"{self.address}: {in_words(error)}") from None
        except (OverflowError, ValueError) as error:  # invalid port or host
            self.close()
            raise BrokerError(f"{self.address}: {error}") from None

    def version(self, name: str) -> int:
        """Return the newest common version of an API. Raise BrokerError if no version is common."""
        try:
            return self._connection.version(name)
        except BrokerError as error:
            raise BrokerError(f"{self.address}: {error}") from None

    def speaks(self, name: str) -> bool:
        """Return whether the broker supports an API, once connected."""
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
        assert self._streams is not None, "opened by the caller"
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
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
