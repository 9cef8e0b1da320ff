"""A tap on what is passed on: each request as the cluster hears it and the answer as the cluster says it, with times.

Whoever listens names the APIs that it wants. Nothing is kept of others; what passes does not wait for a listener, and
none of them can change it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Final, Protocol

from kohort.broker.logs import log
from kohort.protocol.headers import RequestHeader
from kohort.protocol.wire import INT
from kohort.proxy.answer_rewriting import AnswerInHand, Pieces

HEARD_BYTES: Final = 4 << 20
"""A larger answer is told as one that was not kept."""


class Speaker(Protocol):
    """A client's connection."""

    host: str
    """The client's address."""

    @property
    def node_id(self) -> int:
        """The node that it has come to; -1: not known."""
        ...


class Overheard:
    """A request, and its answer once it is there. Times are monotonic microseconds."""

    __slots__ = ("answer", "answered_us", "asked_us", "header", "line", "request")

    def __init__(self, line: Line, header: RequestHeader, request: bytes, asked_us: int) -> None:
        self.line = line
        """The connection that it came on."""
        self.header = header
        """Its `body_offset` counts from the start of `request`."""
        self.request = request
        """The whole frame, its length included."""
        self.asked_us = asked_us
        self.answer: bytes | None = None
        """The whole frame, its length included; None: it has not come, or is larger than HEARD_BYTES."""
        self.answered_us: int | None = None


class Listener(Protocol):
    """Hears what it has asked for, in the order in which it is said on each connection."""

    keys: frozenset[int]
    """The APIs that it wants to hear."""

    def asked(self, overheard: Overheard) -> None:
        """A request goes to the cluster."""
        ...

    def answered(self, overheard: Overheard) -> None:
        """The cluster has answered it."""
        ...

    def hung_up(self, line: Line) -> None:
        """A connection has ended; what was asked there and not answered never will be."""
        ...


class Tap:
    """Everybody who listens to what goes through one proxy."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        """`now_us`: monotonic."""
        self.now_us = now_us
        self.keys: frozenset[int] = frozenset()
        """The APIs that anybody wants to hear."""
        self._listeners: list[Listener] = []
        self._numbers = count(1)

    def listen(self, listener: Listener) -> None:
        """Tells it everything from now on."""
        self._listeners.append(listener)
        self.keys = self.keys | listener.keys

    def leave(self, listener: Listener) -> None:
        """Tells it nothing any more."""
        self._listeners.remove(listener)
        self.keys = frozenset[int]().union(*(each.keys for each in self._listeners))

    def line(self, speaker: Speaker) -> Line:
        """A new connection."""
        return Line(self, speaker, next(self._numbers))

    def tell_asked(self, overheard: Overheard) -> None:
        """A request goes to the cluster."""
        self._tell(overheard.header.api_key, lambda each: each.asked(overheard))

    def tell_answered(self, overheard: Overheard) -> None:
        """The cluster has answered."""
        self._tell(overheard.header.api_key, lambda each: each.answered(overheard))

    def tell_hung_up(self, line: Line) -> None:
        """A connection has ended."""
        self._tell(None, lambda each: each.hung_up(line))

    def _tell(self, key: int | None, tells: Callable[[Listener], None]) -> None:
        for listener in list(self._listeners):
            if key is None or key in listener.keys:
                try:
                    tells(listener)
                except Exception:  # it passes, and the others hear it, all the same
                    log.error("listening to what passes failed, which is kohort's fault")


class Line:
    """The tap of one connection."""

    def __init__(self, tap: Tap, speaker: Speaker, number: int) -> None:
        self._tap = tap
        self._speaker = speaker
        self.number = number
        """Connections are counted from 1 on."""

    @property
    def host(self) -> str:
        """The client's address."""
        return self._speaker.host

    @property
    def node_id(self) -> int:
        """The node at its other end; -1: not known."""
        return self._speaker.node_id

    def wants(self, key: int) -> bool:
        """Whether anybody wants to hear requests of an API. Asked for every request that passes."""
        return key in self._tap.keys

    def asked(self, header: RequestHeader, request: bytes, expects: bool) -> Overheard | None:
        """A request that is wanted goes to the cluster. Returns what its answer is to be told with, if one comes.

        `header.body_offset` counts from the start of `request`, a whole frame.
        """
        overheard = Overheard(self, header, request, self._tap.now_us())
        self._tap.tell_asked(overheard)
        return overheard if expects else None

    def answered(self, overheard: Overheard, answer: bytes | None) -> None:
        """The answer is there; None: it was not kept."""
        overheard.answer, overheard.answered_us = answer, self._tap.now_us()
        self._tap.tell_answered(overheard)

    def hung_up(self) -> None:
        """The connection has ended."""
        self._tap.tell_hung_up(self)


class HeardAnswer:
    """Keeps a copy of an answer that comes in pieces, which pass as they would without (`AnswerInHand`)."""

    def __init__(self, size: int, first: AnswerInHand | None, told: Callable[[bytes | None], None]) -> None:
        """`first`: what else looks at it. `told`: gets the whole frame when it is there."""
        self._size = size
        self._first = first
        self._told = told
        self._copy = bytearray()
        self._left = size
        self._begun = False

    def feed(self, data: memoryview) -> Pieces:
        """See `AnswerInHand`."""
        pieces: Pieces = [] if self._begun or self._first is not None else [INT.pack(self._size)]
        self._begun = True
        self._left -= len(data)
        if self._size <= HEARD_BYTES:
            self._copy += data
        if not self._left:
            self._told(INT.pack(self._size) + self._copy if self._size <= HEARD_BYTES else None)
        return pieces + ([data] if self._first is None else self._first.feed(data))


def heard_answer(overheard: Overheard, size: int, first: AnswerInHand | None) -> HeardAnswer:
    """What listens to an answer of `size` bytes, its length not included."""
    return HeardAnswer(size, first, partial(overheard.line.answered, overheard))
