"""A small client: one connection to each broker, one request at a time on it."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from kohort.broker.address import show_address
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.protocol.messages.api_versions import ApiVersionsRequest

CLIENT_ID = "kohort-watch"
ANSWER_S = 10.0
"""How long a broker may take to accept a connection, and to answer."""
LARGEST_ANSWER = 64 << 20
SPOKEN = {
    "metadata": 12,
    "list_groups": 5,
    "describe_groups": 6,
    "offset_fetch": 9,  # from 10 on topics are named by id
    "list_offsets": 7,
}
"""The newest version of each API that this client speaks."""


class BrokerError(OSError):
    """A broker cannot be reached, or does not answer as one. The text is one sentence."""


class SpeaksHttpError(BrokerError):
    """A web server answers: perhaps a control address."""


class Broker:
    """One broker at an address."""

    def __init__(self, host: str, port: int) -> None:
        self.address = show_address(host, port)
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._theirs: dict[int, tuple[int, int]] = {}
        self._correlation_id = 0

    async def ask(self, name: str, request: Any) -> Any:
        """The answer to a request of the API `name`, in the newest version that both sides speak. Raises BrokerError.

        After an error the connection is closed; the next question opens another.
        """
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._open()
                return await self._exchange(name, self.version(name), request)
        except TimeoutError:
            self.close()
            raise BrokerError(f"{self.address} did not answer within {ANSWER_S:g} s") from None
        except BrokerError:
            self.close()
            raise
        except (OSError, asyncio.IncompleteReadError, OverflowError, ValueError) as problem:  # no such port, or host
            self.close()
            raise BrokerError(f"{self.address} does not answer: {_why(problem)}") from None

    def version(self, name: str) -> int:
        """The newest of an API that both speak, once the broker has answered anything. Raises BrokerError."""
        low, high = self._theirs.get(API_BY_NAME[name].key, (0, -1))
        newest = min(high, SPOKEN[name])
        if newest < low:
            raise BrokerError(f"{self.address} speaks no version of {name} that this client does")
        return newest

    async def _open(self) -> None:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
            answer = await self._exchange("api_versions", 0, ApiVersionsRequest())
            self._theirs = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}

    async def _exchange(self, name: str, version: int, request: Any) -> Any:
        assert self._streams is not None, "opened by whoever asks"
        reader, writer = self._streams
        message = message_of(name)
        self._correlation_id += 1
        frame = message.write_request(version, self._correlation_id, CLIENT_ID, request)
        writer.write(struct.pack(">i", len(frame)) + frame)
        await writer.drain()
        length = await reader.readexactly(4)
        if length == b"HTTP":
            raise SpeaksHttpError(f"what answers at {self.address} is a web server, no Kafka broker")
        (size,) = struct.unpack(">i", length)
        if not 4 <= size <= LARGEST_ANSWER:
            raise BrokerError(f"what answers at {self.address} is no Kafka broker")
        frame = await reader.readexactly(size)
        try:
            correlation_id, answer = message.read_answer(version, frame)
        except DecodeError as problem:
            raise BrokerError(f"{self.address} answered {name} with what cannot be read: {problem}") from None
        if correlation_id != self._correlation_id:
            raise BrokerError(f"{self.address} answered another question than {name}")
        return answer

    def close(self) -> None:
        """Hangs up, if there is a connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def _why(problem: Exception) -> str:
    if isinstance(problem, asyncio.IncompleteReadError):
        return "it hung up"
    if isinstance(problem, ConnectionRefusedError):
        return "nothing listens there"
    return getattr(problem, "strerror", None) or str(problem)
