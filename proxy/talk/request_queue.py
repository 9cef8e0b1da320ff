"""Requests of one connection that wait for their responses, and the frames of these responses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from kohort.protocol.wire import INT

MAX_RESPONSE_BYTES: Final = 64 << 20

RequestT = TypeVar("RequestT")


class UnexpectedResponse(Exception):
    """Bytes that are not the response to the oldest pending request. The text is a sentence about the broker, "it"."""


class RequestQueue(Generic[RequestT]):
    """Queue of the requests without a response. A broker responds in their order."""

    def __init__(self) -> None:
        self._requests: deque[tuple[int, RequestT]] = deque()
        self._last_correlation_id = 0
        self._received = bytearray()

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def oldest(self) -> RequestT | None:
        """The request that the next response belongs to, or None."""
        return self._requests[0][1] if self._requests else None

    def next_correlation_id(self) -> int:
        self._last_correlation_id += 1
        return self._last_correlation_id

    def add(self, correlation_id: int, request: RequestT) -> None:
        self._requests.append((correlation_id, request))

    def split(self, data: bytes | memoryview) -> Iterator[bytes]:
        """Add received bytes, and yield the complete frames without their length.

        Raises:
            UnexpectedResponse: A frame has an invalid size.
        """
        self._received += data
        while len(self._received) >= INT.size:
            (size,) = INT.unpack_from(self._received)
            if not INT.size <= size <= MAX_RESPONSE_BYTES:
                raise UnexpectedResponse(f"its response has an invalid size of {size} bytes")
            end = INT.size + size
            if len(self._received) < end:
                return
            frame = bytes(self._received[INT.size : end])
            del self._received[:end]
            yield frame

    def take(self, frame: bytes) -> RequestT:
        """Remove and return the oldest request, which the frame must be the response to.

        Raises:
            UnexpectedResponse: No request is pending, or another one has the correlation id of the frame.
        """
        if not self._requests:
            raise UnexpectedResponse("it sent a response without a request")
        expected, _ = self._requests[0]
        received = correlation_id_of(frame)
        if received != expected:
            raise UnexpectedResponse(f"its response has correlation id {received} instead of {expected}")
        return self._requests.popleft()[1]

    def remove_all(self) -> Iterator[RequestT]:
        """Remove the requests one by one, and yield each."""
        while self._requests:
            yield self._requests.popleft()[1]


def correlation_id_of(frame: bytes) -> int:
    """Return the correlation id of a response frame without its length."""
    return int.from_bytes(frame[: INT.size], "big", signed=True)
