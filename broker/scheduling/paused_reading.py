"""Detection of disconnected clients whose socket is not read because they sent too much while a request waits.

An event loop notices the end of a connection by reading. Without reading, such a connection and its buffers would stay
for `connections.max.idle.ms`. So these sockets are checked regularly; and since the end comes after everything that the
client has sent, some more is read each time, up to a limit.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Protocol

from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.base.clock import Clock
    from kohort.purgatory import Purgatory

LOOK_EVERY_MS = 1_000  # interval of the checks of paused sockets

# Maximum number of bytes that one connection may hold. If a client sent more, its disconnect is not detected.
READ_ON_BYTES = 1_048_576

ALL_READ_ON_BYTES = 67_108_864  # while all paused connections together hold more, no more is read

# The client will send nothing more. Systems other than Linux report reset connections only.
_ENDED = getattr(select, "POLLRDHUP", 0)


class Paused(Protocol):
    """A connection whose socket is not read."""

    @property
    def socket_number(self) -> int:
        """The file descriptor of its socket; -1 if it is closed."""
        ...

    @property
    def held_bytes(self) -> int: ...

    def abort(self) -> None: ...

    def read_on(self) -> None:
        """Read what has been received, once."""
        ...


class PausedReading:
    """The connections whose sockets are not read."""

    def __init__(self, purgatory: Purgatory, clock: Clock) -> None:
        self._purgatory = purgatory
        self._clock = clock
        self._connections: set[Paused] = set()
        self._look_is_due = False

    def __bool__(self) -> bool:
        return bool(self._connections) or self._look_is_due

    def add(self, connection: Paused) -> None:
        self._connections.add(connection)
        if not self._look_is_due:
            self._look_later(self._clock.now_ms())

    def discard(self, connection: Paused) -> None:
        self._connections.discard(connection)

    def _look_later(self, now_ms: int) -> None:
        self._look_is_due = True
        self._purgatory.wait(_Look(self, now_ms + LOOK_EVERY_MS))

    def look(self, now_ms: int) -> None:
        self._look_is_due = False
        if not self._connections:
            return
        self._look_later(now_ms)
        by_number = {
            number: connection for connection in self._connections if (number := connection.socket_number) >= 0
        }
        poll = select.poll()
        for number in by_number:
            poll.register(number, _ENDED)
        for number, _ in poll.poll(0):
            by_number.pop(number).abort()
        budget_bytes = ALL_READ_ON_BYTES - sum(connection.held_bytes for connection in self._connections)
        for connection in by_number.values():
            if budget_bytes > 0 and connection.held_bytes < READ_ON_BYTES:
                budget_bytes -= READ_ON_BYTES - connection.held_bytes
                connection.read_on()


class _Look(DelayedOperation):
    """The next check of the sockets."""

    __slots__ = ("_paused",)

    def __init__(self, paused: PausedReading, due_ms: int) -> None:
        super().__init__(due_ms)
        self._paused = paused

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._paused.look(now_ms)
