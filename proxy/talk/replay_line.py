"""A connection on which a conversation is played: frames out, and those that come back in the order of the requests."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kohort.broker.address import show_address
from kohort.client.client_connection import BrokerError
from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.protocol.messages.api_versions import ApiVersionsRequest
from kohort.protocol.wire import INT
from kohort.proxy.cluster_side import ClusterSide, connect

if TYPE_CHECKING:
    import ssl

    from kohort.client.security import Security

LARGEST_ANSWER: Final = 64 << 20
ANSWER_S: Final = 10.0
"""How long an answer to what the player itself asks may take."""

CLIENT_ID: Final = "kohort-replay"


class ReplayLine:
    """Talks to one broker (`kohort.proxy.cluster_side.Client`)."""

    def __init__(self, address: tuple[str, int], side: ClusterSide) -> None:
        self.address = address
        self._side = side
        self._received = bytearray()
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self._correlation_id = 0
        side.serves(self)
        self.gone = side.lost
        """Whether the broker has hung up."""

    def ask(self, api: str, version: int, client_id: str | None, request: Any) -> asyncio.Future[bytes]:
        """Sends a request. Its answer comes as a frame without its length, or as a BrokerError."""
        self._correlation_id += 1
        body = message_of(api).write_request(version, self._correlation_id, client_id, request)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if self.gone:
            answer.set_exception(BrokerError("it has hung up"))
        else:
            self._waiting.append(answer)
            self._side.send([INT.pack(len(body)) + body])
        return answer

    async def answer_to(self, api: str, version: int, request: Any) -> Any:
        """What a broker answers to a question of the player's own. Raises BrokerError, with the address."""
        try:
            async with asyncio.timeout(ANSWER_S):
                frame = await self.ask(api, version, CLIENT_ID, request)
            return message_of(api).read_answer(version, frame)[1]
        except TimeoutError:
            raise BrokerError(f"{show_address(*self.address)} did not answer within {ANSWER_S:g} s") from None
        except DecodeError as problem:
            raise BrokerError(f"{show_address(*self.address)}: its answer can't be read, {problem}") from None
        except BrokerError as problem:
            raise BrokerError(f"{show_address(*self.address)}: {problem}") from None

    async def versions(self) -> dict[int, tuple[int, int]]:
        """The oldest and the newest version of each API that the broker serves. Raises BrokerError."""
        answer = await self.answer_to("api_versions", 0, ApiVersionsRequest())
        return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    def close(self) -> None:
        """Hangs up. Nobody is told of answers that have not come."""
        self.gone = True
        for answer in self._waiting:
            answer.cancel()
        self._waiting.clear()
        self._side.close()

    # See `Client`

    def answered(self, data: bytes) -> None:
        """See `Client`."""
        self._received += data
        while len(self._received) >= INT.size:
            (size,) = INT.unpack_from(self._received)
            if not INT.size <= size <= LARGEST_ANSWER:
                self._fail(f"its answer would have {size} bytes")
                return
            if len(self._received) < INT.size + size:
                return
            frame = bytes(self._received[INT.size : INT.size + size])
            del self._received[: INT.size + size]
            if not self._waiting:
                self._fail("it said something that nobody has asked for")
                return
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_result(frame)

    def cluster_gone(self) -> None:
        """See `Client`."""
        self._fail("it hung up instead of answering")

    def pause(self, paused: bool) -> None:
        """See `Client`. Requests here are few and small."""

    def _fail(self, why: str) -> None:
        self.gone = True
        while self._waiting:
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_exception(BrokerError(why))
        self._side.close()


class ReplayedCluster(NamedTuple):
    """Where a cluster is, and how it wants to be spoken to."""

    bootstrap: Sequence[tuple[str, int]]
    security: Security
    context: ssl.SSLContext | None

    async def open(self, address: tuple[str, int]) -> ReplayLine:
        """A connection to one of its brokers. Raises BrokerError, with the address."""
        try:
            return ReplayLine(address, await connect(address, self.security, self.context, asks=True))
        except BrokerError as problem:
            raise BrokerError(f"{show_address(*address)}: {problem}") from None

    async def open_any(self) -> ReplayLine:
        """A connection to the first that lets us in. Raises BrokerError, which says of each why it does not."""
        problems = []
        for address in self.bootstrap:
            try:
                return await self.open(address)
            except BrokerError as problem:
                problems.append(str(problem))
        raise BrokerError("; ".join(problems))
