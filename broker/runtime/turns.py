"""How long one client is served before others are, and how a long request is carried on.

A handler whose request may take long is a generator. It yields between two elements of what it works on, where others
may be served in between, and it returns what any handler returns. `Dispatcher.run` makes one piece of work of it
and of the writing of its answer; the connection works on that for TURN_US, then stands in a row with all who have more
to do: those with long requests, those with many requests behind one another, those who were answered while too many
others were. Between two rounds of the row the event loop reads all sockets, so that whoever asks for little waits for
one round at most.

Turns are measured on the machine's clock, whatever is done to the brokers'.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kohort.broker.clock import Clock
    from kohort.broker.runtime.connection import Connection

TURN_US = 2_000
"""How long one connection is served in a row."""

ROUND_US = 5_000
"""How long the row is served before sockets are read again. One turn may begin just before that is over."""


class Turns:
    """The row of connections that have more to do."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, served: Callable[[int], None]) -> None:
        """`served` is called after each round with the time: what followed from it is done then."""
        self._loop = loop
        self._clock = clock
        self._served = served
        self._row: deque[Connection] = deque()
        self._round_is_due = False
        self.now_ns = clock.machine_ns

    def __bool__(self) -> bool:
        """Whether somebody stands in the row."""
        return bool(self._row)

    def end_ns(self) -> int:
        """When a turn that begins now is over. It is at once, after one request or step, if others stand in the row."""
        return self.now_ns() + (0 if self._row else TURN_US * 1_000)

    def stand_in_row(self, connection: Connection) -> None:
        """Gives `connection` a turn after all who stand there already. Each stands there once at most."""
        self._row.append(connection)
        if not self._round_is_due:
            self._round_is_due = True
            self._loop.call_soon(self._round)

    def serve(self, waiting: deque[Connection], now_ms: int) -> None:
        """Lets connections go on one after the other, for ROUND_US. Who is left stays in `waiting`."""
        until_ns = self.now_ns() + ROUND_US * 1_000
        while waiting:
            waiting.popleft().go_on(now_ms)  # raises nothing; it may add itself, and others
            if self.now_ns() >= until_ns:
                return

    def _round(self) -> None:
        now_ms = self._clock.now_ms()
        row, self._row = self._row, deque()
        self.serve(row, now_ms)
        self._row.extendleft(reversed(row))
        self._served(now_ms)
        self._round_is_due = bool(self._row)
        if self._round_is_due:
            self._loop.call_soon(self._round)
