"""Connection of one speaker of a conversation: requests out, responses back in the order of the requests."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kohort.base.address import show_address
from kohort.client.client_connection import BrokerError
from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.protocol.wire import INT
from kohort.proxy.answer_rewriting import Pieces
from kohort.proxy.talk.request_queue import RequestQueue, UnexpectedResponse
from kohort.proxy.talk.talk_values import Value

CALL_MS: Final = 10_000  # timeout of requests that are not part of the conversation

Address = tuple[str, int]


class Stage(Protocol):
    """Where a conversation is played: a cluster, and its time."""

    def now_ms(self) -> int:
        """Return the current time in monotonic milliseconds."""
        ...

    async def wait(self, timeout_ms: float, is_over: Callable[[], bool]) -> None:
        """Let time pass until `is_over` returns true, for at most `timeout_ms`."""
        ...

    def on_received(self) -> None:
        """Handle that a connection has received something, so that `is_over` may return another result."""
        ...


class BrokerSide(Protocol):
    """Transport to a broker (`kohort.proxy.cluster_side.ClusterSide`)."""

    lost: bool

    def serves(self, client: Any) -> None: ...

    def send(self, pieces: Pieces) -> None: ...

    def close(self) -> None: ...


@dataclass(eq=False)
class SentRequest:
    """Request that was sent, and its response."""

    sent_at_ms: int
    api: str = ""  # name in `api_keys.py`; empty for raw bytes
    version: int = 0
    values: Value = None  # as in the conversation, to repeat it
    response: bytes | None = None  # frame without its length, once a player has read it
    took_ms: int = 0


class TalkConnection:
    """Connection to one broker (`kohort.proxy.cluster_side.Client`)."""

    def __init__(self, stage: Stage, address: Address, side: BrokerSide, client_id: str | None = None) -> None:
        self.address = address
        self.client_id = client_id
        self.pending: RequestQueue[SentRequest] = RequestQueue()  # requests whose response was not read
        self.frames: deque[tuple[int, bytes]] = deque()  # frames that were not read, with the time of their arrival
        self._stage = stage
        self._side = side
        self._is_closed = False
        self._end = "it closed the connection instead of responding"
        side.serves(self)

    @property
    def is_closed(self) -> bool:
        return self._is_closed or self._side.lost

    @property
    def has_all_responses(self) -> bool:
        """Whether no response is still to come."""
        return len(self.frames) >= len(self.pending)

    def send_request(self, api: str, version: int, request: Any) -> SentRequest:
        """Send a request. It is lost if the connection is closed."""
        correlation_id = self.pending.next_correlation_id()
        body = message_of(api).write_request(version, correlation_id, self.client_id, request)
        sent = SentRequest(self._stage.now_ms(), api, version)
        if api != "produce" or request.acks != 0:
            self.pending.add(correlation_id, sent)
        self.send_bytes(INT.pack(len(body)) + body)
        return sent

    def send_bytes(self, frame: bytes) -> None:
        if not self.is_closed:
            self._side.send([frame])

    async def receive(self, timeout_ms: float) -> SentRequest | None:
        """Return the oldest pending request with its response, or None if that does not come within the timeout.

        Raises:
            BrokerError: No response will come. The text is a sentence about the broker, "it".
        """
        await self._stage.wait(timeout_ms, lambda: bool(self.frames or self.is_closed))
        if not self.frames:
            if self.is_closed:
                raise BrokerError(self._end)
            return None
        at_ms, frame = self.frames.popleft()
        try:
            request = self.pending.take(frame)
        except UnexpectedResponse as error:
            self.frames.clear()
            self._fail(error)
            raise BrokerError(self._end) from None
        request.response, request.took_ms = frame, at_ms - request.sent_at_ms
        return request

    async def call(self, api: str, version: int, request: Any) -> Any:
        """Send a request and return its response. Raise BrokerError, with the address, on failure."""
        try:
            self.send_request(api, version, request)
            received = await self.receive(CALL_MS)
            if received is None or received.response is None:
                raise BrokerError(f"no response within {CALL_MS // 1000} s")
            return message_of(api).read_answer(version, received.response)[1]
        except (BrokerError, DecodeError) as problem:
            raise BrokerError(f"{show_address(*self.address)}: {problem}") from None

    def close(self) -> None:
        self._is_closed = True
        self._side.close()

    def _fail(self, error: UnexpectedResponse) -> None:
        self._end = str(error)
        self.close()

    # See `Client`

    def on_node_data(self, data: bytes) -> None:
        try:
            self.frames.extend((self._stage.now_ms(), frame) for frame in self.pending.split(data))
        except UnexpectedResponse as error:
            self._fail(error)
        self._stage.on_received()

    def on_node_closed(self) -> None:
        self._is_closed = True
        self._stage.on_received()

    def pause(self, paused: bool) -> None:
        """Ignore the event: requests are few and small."""
