"""Connection for a replay: request frames out, response frames back in the order of the requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kohort.base.address import show_address
from kohort.client.client_connection import BrokerError
from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.protocol.messages.api_versions import ApiVersionsRequest
from kohort.protocol.wire import INT
from kohort.proxy.cluster_side import ClusterSide, connect
from kohort.proxy.talk.request_queue import RequestQueue, UnexpectedResponse

if TYPE_CHECKING:
    import ssl

    from kohort.client.security import Security

ANSWER_S: Final = 10.0  # timeout of the player's own requests

CLIENT_ID: Final = "kohort-replay"


class ReplayLine:
    """Connection to one broker (`kohort.proxy.cluster_side.Client`)."""

    def __init__(self, address: tuple[str, int], side: ClusterSide) -> None:
        self.address = address
        self._side = side
        self._pending: RequestQueue[asyncio.Future[bytes]] = RequestQueue()
        side.serves(self)
        self.is_closed = side.lost  # whether the broker has closed it

    def ask(self, api: str, version: int, client_id: str | None, request: Any) -> asyncio.Future[bytes]:
        """Send a request. The result is the response frame without its length, or a BrokerError."""
        correlation_id = self._pending.next_correlation_id()
        body = message_of(api).write_request(version, correlation_id, client_id, request)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if self.is_closed:
            answer.set_exception(BrokerError("it has closed the connection"))
        else:
            self._pending.add(correlation_id, answer)
            self._side.send([INT.pack(len(body)) + body])
        return answer

    async def answer_to(self, api: str, version: int, request: Any) -> Any:
        """Return the response to the player's own request. Raise BrokerError, with the address, on failure."""
        try:
            async with asyncio.timeout(ANSWER_S):
                frame = await self.ask(api, version, CLIENT_ID, request)
            return message_of(api).read_answer(version, frame)[1]
        except TimeoutError:
            raise BrokerError(f"{show_address(*self.address)} did not respond within {ANSWER_S:g} s") from None
        except DecodeError as problem:
            raise BrokerError(f"{show_address(*self.address)}: unreadable response: {problem}") from None
        except BrokerError as problem:
            raise BrokerError(f"{show_address(*self.address)}: {problem}") from None

    async def versions(self) -> dict[int, tuple[int, int]]:
        """Return the oldest and the newest version of each supported API. Raise BrokerError on failure."""
        answer = await self.answer_to("api_versions", 0, ApiVersionsRequest())
        return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}

    def close(self) -> None:
        """Close the connection and cancel pending responses."""
        self.is_closed = True
        for answer in self._pending.remove_all():
            answer.cancel()
        self._side.close()

    # See `Client`

    def on_node_data(self, data: bytes) -> None:
        try:
            for frame in self._pending.split(data):
                answer = self._pending.take(frame)
                if not answer.done():
                    answer.set_result(frame)
        except UnexpectedResponse as error:
            self._fail(str(error))

    def on_node_closed(self) -> None:
        self._fail("it closed the connection instead of responding")

    def pause(self, paused: bool) -> None:
        """Ignore the event: requests are few and small."""

    def _fail(self, reason: str) -> None:
        self.is_closed = True
        for answer in self._pending.remove_all():
            if not answer.done():
                answer.set_exception(BrokerError(reason))
        self._side.close()


class ReplayedCluster(NamedTuple):
    """Addresses and security settings of a cluster."""

    bootstrap: Sequence[tuple[str, int]]
    security: Security
    context: ssl.SSLContext | None

    async def open(self, address: tuple[str, int]) -> ReplayLine:
        """Return a connection to one broker. Raise BrokerError, with the address, on failure."""
        try:
            return ReplayLine(address, await connect(address, self.security, self.context, probes=True))
        except BrokerError as problem:
            raise BrokerError(f"{show_address(*address)}: {problem}") from None

    async def open_any(self) -> ReplayLine:
        """Return a connection to the first broker that accepts it. Raise BrokerError with the reason of each."""
        problems = []
        for address in self.bootstrap:
            try:
                return await self.open(address)
            except BrokerError as problem:
                problems.append(str(problem))
        raise BrokerError("; ".join(problems))
