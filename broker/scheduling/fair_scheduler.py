"""How long one client is served before others are, and how a long request is carried on.

A handler whose request may take long is a generator. It yields between two elements of what it works on, where others
may be served in between, and it returns what any handler returns. `Dispatcher.run` makes one task of it and of the
writing of its answer; the connection works on that for TURN_US, then stands in a queue with all who have more to do:
those with long requests, those with many requests behind one another, those who were answered while too many others
were. Between two rounds of the queue the event loop reads all sockets, so that whoever asks for little waits for
one round at most.

What sockets have brought is handled at once while that takes no longer than a round. After that connections whose
requests have taken long lately (`Served.load_ns`) stand in the queue, so that many such clients are no longer in the
way of others than one is. New connections do, too: they have yet to show how much they ask for.

A rebalance is many short requests, and as many answers at once. A handful of them is handled, then others have their
turn: a heartbeat does not wait for the hundred members of another group.

FairScheduler are measured on the machine's clock, whatever is done to the brokers'.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kohort.broker.clock import Clock
    from kohort.broker.scheduling.served import Served

TURN_US: Final = 2_000
"""How long one connection is served at a time."""

ROUND_US: Final = 5_000
"""How long the queue is served before sockets are read again. One turn may begin just before that is over."""

COUNTED_NS: Final = 200_000
"""Less than this is not counted: the request asked for little."""

AT_A_TIME: Final = 8
"""At most this many requests of rebalances are handled, and connections served in a round, before sockets are read."""

JOINS: Final = frozenset((11, 14))
"""The API keys of JoinGroup and SyncGroup. In a rebalance they come all at once."""

LITTLE_NS: Final = 500_000
"""A connection that is served for less on average asks for little. It is handled at once after a full round, too."""


class FairScheduler:
    """The queue of connections that have more to do."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        begins: Callable[[], None],
        served: Callable[[int], None],
    ) -> None:
        """`begins` is called before connections are served one after the other: nobody's reply waits for them.
        `served` is called with the time after a round of the queue: what followed from it is done then.
        """
        self._loop = loop
        self._clock = clock
        self._begins = begins
        self._served = served
        self._queue: deque[Served] = deque()
        self._round_is_due = False
        self.spent_ns = 0
        """How long what sockets have brought has taken to handle since they were looked at."""
        self._rebalancing = 0
        """How many requests of rebalances there were since then."""
        self.now_ns = clock.machine_ns
        self.zero_ns = clock.zero_ns
        """See `Clock`."""

    def __bool__(self) -> bool:
        """Whether somebody stands in the queue."""
        return bool(self._queue)

    def end_ns(self) -> int:
        """When a turn that begins now is over. It is at once, after one request or step, if others wait."""
        return self.now_ns() + (0 if self._queue else TURN_US * 1_000)

    def is_full(self, load_ns: int) -> bool:
        """Whether a connection that has just sent something is to wait for its turn. `load_ns`: its own."""
        spent_ns = self.spent_ns
        return spent_ns > ROUND_US * 1_000 and (load_ns > LITTLE_NS or spent_ns > 2 * ROUND_US * 1_000)

    def spend(self, took_ns: int) -> None:
        """Counts how long a connection was served when its socket brought something."""
        if not self.spent_ns and not self._rebalancing:
            self._loop.call_soon(self._looks_at_sockets)
        self.spent_ns += took_ns

    def note(self, connection: Served, took_ns: int) -> None:
        """Notes how long a turn took. Need not be called for a short one where those before were short, too."""
        connection.load_ns += (took_ns - connection.load_ns) >> 4

    def many(self) -> bool:
        """Counts a request of a rebalance. Returns whether its connection is to wait for its turn."""
        if not self.spent_ns and not self._rebalancing:
            self._loop.call_soon(self._looks_at_sockets)
        self._rebalancing += 1
        return self._rebalancing > AT_A_TIME

    def _looks_at_sockets(self) -> None:
        self.spent_ns = self._rebalancing = 0

    def enqueue(self, connection: Served) -> None:
        """Gives `connection` a turn after all who stand there already. Each stands there once at most."""
        self._queue.append(connection)
        if not self._round_is_due:
            self._round_is_due = True
            self._loop.call_soon(self._round)

    def serve(self, waiting: deque[Served], now_ms: int) -> None:
        """Lets connections go on one after the other: AT_A_TIME, for ROUND_US. Who is left stays in `waiting`."""
        self._begins()
        before_ns = self.now_ns()
        until_ns = before_ns + ROUND_US * 1_000
        left = AT_A_TIME
        while waiting and left:
            left -= 1
            connection = waiting.popleft()
            connection.go_on(now_ms)  # raises nothing; it may add itself, and others
            now_ns = self.now_ns()
            took_ns = now_ns - before_ns
            if took_ns > COUNTED_NS or connection.load_ns > LITTLE_NS:
                self.note(connection, took_ns)
            if now_ns >= until_ns:
                return
            before_ns = now_ns

    def _round(self) -> None:
        now_ms = self._clock.now_ms()
        queue, self._queue = self._queue, deque()
        self.serve(queue, now_ms)
        queue.extend(self._queue)  # who came meanwhile stands behind those who are left
        self._queue = queue
        self._served(now_ms)
        self._round_is_due = bool(self._queue)
        if self._round_is_due:
            self._loop.call_soon(self._round)
