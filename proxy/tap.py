"""Observation of relayed messages: each request as the cluster receives it and each response as it arrives, with times.

Listeners name the APIs that they observe, and no others are kept. Relaying never waits for a listener, and a listener
can't change a message.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Final, Protocol

from kohort.base.logs import log
from kohort.protocol.headers import RequestHeader
from kohort.protocol.wire import INT
from kohort.proxy.answer_rewriting import AnswerInHand, Pieces

MAX_COPIED_BYTES: Final = 4 << 20  # larger responses are reported without a copy


class Speaker(Protocol):
    """Connection of a client."""

    host: str  # address of the client

    @property
    def node_id(self) -> int:
        """The node that the client connected to; -1 if unknown."""
        ...


class ObservedCall:
    """Request, and its response once it has arrived. Times are monotonic microseconds."""

    __slots__ = ("answer", "answered_us", "header", "line", "request", "requested_us")

    def __init__(self, line: Line, header: RequestHeader, request: bytes, requested_us: int) -> None:
        self.line = line
        self.header = header  # `body_offset` counts from the start of `request`
        self.request = request  # the whole frame, with its length
        self.requested_us = requested_us
        # the whole frame, with its length; None before it arrives, and if it exceeds MAX_COPIED_BYTES
        self.answer: bytes | None = None
        self.answered_us: int | None = None


class Listener(Protocol):
    """Receiver of observed messages, in their order on each connection."""

    keys: frozenset[int]  # keys of the observed APIs

    def on_request(self, observed: ObservedCall) -> None:
        """Handle a request on its way to the cluster."""
        ...

    def on_response(self, observed: ObservedCall) -> None:
        """Handle the response to a request."""
        ...

    def on_close(self, line: Line) -> None:
        """Handle the end of a connection; its pending requests will have no responses."""
        ...


class Tap:
    """All listeners of one proxy."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self.now_us = now_us
        self.keys: frozenset[int] = frozenset()  # keys of all observed APIs
        self._listeners: tuple[Listener, ...] = ()
        self._numbers = count(1)

    def listen(self, listener: Listener) -> None:
        self._listeners = (*self._listeners, listener)
        self.keys = self.keys | listener.keys

    def leave(self, listener: Listener) -> None:
        self._listeners = tuple(other for other in self._listeners if other is not listener)
        self.keys = frozenset[int]().union(*(other.keys for other in self._listeners))

    def line(self, speaker: Speaker) -> Line:
        """Return the tap of a new connection."""
        return Line(self, speaker, next(self._numbers))

    def report_request(self, observed: ObservedCall) -> None:
        for listener in self._listeners:
            if observed.header.api_key in listener.keys:
                try:
                    listener.on_request(observed)
                except Exception:
                    _failed()

    def report_response(self, observed: ObservedCall) -> None:
        for listener in self._listeners:
            if observed.header.api_key in listener.keys:
                try:
                    listener.on_response(observed)
                except Exception:
                    _failed()

    def report_close(self, line: Line) -> None:
        for listener in self._listeners:
            try:
                listener.on_close(line)
            except Exception:
                _failed()


def _failed() -> None:
    """Log a listener's exception; the message passes, and other listeners receive it."""
    log.error("a listener of the proxy failed because of a bug in kohort")


class Line:
    """Tap of one connection."""

    def __init__(self, tap: Tap, speaker: Speaker, number: int) -> None:
        self._tap = tap
        self._speaker = speaker
        self.number = number  # counted from 1

    @property
    def host(self) -> str:
        """Address of the client."""
        return self._speaker.host

    @property
    def node_id(self) -> int:
        """The node at the other end; -1 if unknown."""
        return self._speaker.node_id

    def wants(self, key: int) -> bool:
        """Return whether a listener observes an API. Called for every relayed request."""
        return key in self._tap.keys

    def on_request(self, header: RequestHeader, request: bytes, expects: bool) -> ObservedCall | None:
        """Report a request on its way to the cluster. Return its record for the response, or None if it has none.

        `header.body_offset` counts from the start of `request`, a whole frame.
        """
        observed = ObservedCall(self, header, request, self._tap.now_us())
        self._tap.report_request(observed)
        return observed if expects else None

    def on_response(self, observed: ObservedCall, answer: bytes | None) -> None:
        """Report the response; None if it was not copied."""
        observed.answer, observed.answered_us = answer, self._tap.now_us()
        self._tap.report_response(observed)

    def on_close(self) -> None:
        self._tap.report_close(self)


class CopyFilter:
    """Filter that keeps a copy of a response, which otherwise passes as without it (`AnswerInHand`)."""

    def __init__(self, size: int, first: AnswerInHand | None, on_frame: Callable[[bytes | None], None]) -> None:
        """Set up the filter.

        Args:
            first: Another filter that is applied first.
            on_frame: Receives the whole frame, or None if it is too large.
        """
        self._size = size
        self._first = first
        self._on_frame = on_frame
        self._copy = bytearray()
        self._remaining = size
        self._begun = False

    def feed(self, data: memoryview) -> Pieces:
        pieces: Pieces = [] if self._begun or self._first is not None else [INT.pack(self._size)]
        self._begun = True
        self._remaining -= len(data)
        if self._size <= MAX_COPIED_BYTES:
            self._copy += data
        if not self._remaining:
            self._on_frame(INT.pack(self._size) + self._copy if self._size <= MAX_COPIED_BYTES else None)
        return pieces + ([data] if self._first is None else self._first.feed(data))


def copy_filter(observed: ObservedCall, size: int, first: AnswerInHand | None) -> CopyFilter:
    """Return a filter that reports a response of `size` bytes, without its length."""
    return CopyFilter(size, first, partial(observed.line.on_response, observed))
