"""Notices that a client has left whose socket is not read: behind a request that waits it has sent too much already.

An event loop hears of a client's end when it reads. Such a connection, and what it holds, would stay for
`connections.max.idle.ms`. So sockets are looked at now and then; and since the end comes after everything that the
client has sent, some more is read each time, up to a bound.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Protocol

from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.broker.clock import Clock
    from kohort.purgatory import Purgatory

LOOK_EVERY_MS = 1_000
"""How often the sockets that are not read are looked at."""

READ_ON_BYTES = 1_048_576
"""How much one connection may hold in the end. Of a client that has sent more and left, the end is not seen."""

ALL_READ_ON_BYTES = 67_108_864
"""While all of them hold more than this together, nothing more is read."""

_ENDED = getattr(select, "POLLRDHUP", 0)
"""The client has said that it sends nothing more. Systems other than Linux report reset connections only."""


class Paused(Protocol):
    """A connection whose socket is not read."""

    @property
    def socket_number(self) -> int:
        """The file descriptor of its socket; -1 when it is closed."""
        ...

    @property
    def held_bytes(self) -> int:
        """How much it holds of requests that cannot be handled yet."""
        ...

    def abort(self) -> None:
        """Hangs up at once."""
        ...

    def read_on(self) -> None:
        """Reads what has come once more."""
        ...


class PausedReading:
    """The connections whose sockets are not read."""

    def __init__(self, purgatory: Purgatory, clock: Clock) -> None:
        self._purgatory = purgatory
        self._clock = clock
        self._connections: set[Paused] = set()
        self._look_is_due = False

    def __bool__(self) -> bool:
        """Whether there are any, or a look is to come."""
        return bool(self._connections) or self._look_is_due

    def add(self, connection: Paused) -> None:
        """Its socket is not read from now on."""
        self._connections.add(connection)
        if not self._look_is_due:
            self._look_later(self._clock.now_ms())

    def discard(self, connection: Paused) -> None:
        """Its socket is read again, or closed."""
        self._connections.discard(connection)

    def _look_later(self, now_ms: int) -> None:
        self._look_is_due = True
        self._purgatory.wait(_Look(self, now_ms + LOOK_EVERY_MS))

    def look(self, now_ms: int) -> None:
        """Ends the connections of clients that have left, as reading would have."""
        self._look_is_due = False
        if not self._connections:
            return
        self._look_later(now_ms)
        by_number = {number: each for each in self._connections if (number := each.socket_number) >= 0}
        poll = select.poll()
        for number in by_number:
            poll.register(number, _ENDED)
        for number, _ in poll.poll(0):
            by_number.pop(number).abort()
        left = ALL_READ_ON_BYTES - sum(each.held_bytes for each in self._connections)
        for each in by_number.values():
            if left > 0 and each.held_bytes < READ_ON_BYTES:
                left -= READ_ON_BYTES - each.held_bytes
                each.read_on()


class _Look(DelayedOperation):
    """The next look at the sockets."""

    __slots__ = ("_paused",)

    def __init__(self, paused: PausedReading, due_ms: int) -> None:
        super().__init__(due_ms)
        self._paused = paused

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """See `PausedReading.look`."""
        self._paused.look(now_ms)
