"""Fair scheduling of connections, including those with long requests.

The handler of a long request is a generator. It yields between two elements of its work, where other connections may
be served, and returns what any handler returns. `Dispatcher.run` combines it and the writing of its response into one
task. The connection works on that for TURN_US, then joins a queue with all other connections that have more to do:
those with long requests, those with many requests in a row, and those that sent a request while the queue was full.
Between two rounds of the queue the event loop reads all sockets, so that a short request waits for at most one round.

Requests that have just been read are handled immediately until they have taken as long as a round. After that,
connections whose requests recently took long (`Served.load_ns`) join the queue, so that many such clients delay others
no more than one does. New connections join it, too, because their load is unknown.

A rebalance consists of many short requests, and as many responses at once. A few of them are handled, then it is the
turn of other connections: a heartbeat does not wait for a hundred members of another group.

Turns are measured on the machine's clock, even if the broker's clock was changed.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kohort.base.clock import Clock
    from kohort.broker.scheduling.served import Served

TURN_US: Final = 2_000  # how long one connection is served at a time

# how long the queue is served before sockets are read again; one turn may begin just before the end
ROUND_US: Final = 5_000

COUNTED_NS: Final = 200_000  # shorter times are not counted

AT_A_TIME: Final = 8  # maximum number of rebalance requests, and of connections in a round, before sockets are read

JOINS: Final = frozenset((11, 14))  # API keys of JoinGroup and SyncGroup, which arrive all at once in a rebalance

LITTLE_NS: Final = 500_000  # A connection with a lower mean is handled immediately even if a round is full.


class FairScheduler:
    """The queue of connections that have more to do."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        begins: Callable[[], None],
        served: Callable[[int], None],
    ) -> None:
        """Create an empty queue.

        Args:
            begins: Called before several connections are served, to write pending responses.
            served: Called with the current time after a round of the queue, to execute what the requests caused.
        """
        self._loop = loop
        self._clock = clock
        self._begins = begins
        self._served = served
        self._queue: deque[Served] = deque()
        self._round_is_due = False
        self.spent_ns = 0  # time spent on requests since sockets were read
        self._rebalancing = 0  # number of rebalance requests since then
        self.now_ns = clock.machine_ns
        self.zero_ns = clock.zero_ns

    def __bool__(self) -> bool:
        return bool(self._queue)

    def end_ns(self) -> int:
        """Return the end of a turn that begins now. If others wait, it ends after one request or step."""
        return self.now_ns() + (0 if self._queue else TURN_US * 1_000)

    def is_full(self, load_ns: int) -> bool:
        spent_ns = self.spent_ns
        return spent_ns > ROUND_US * 1_000 and (load_ns > LITTLE_NS or spent_ns > 2 * ROUND_US * 1_000)

    def spend(self, took_ns: int) -> None:
        if not self.spent_ns and not self._rebalancing:
            self._loop.call_soon(self._looks_at_sockets)
        self.spent_ns += took_ns

    def note(self, connection: Served, took_ns: int) -> None:
        """Add the length of a turn to the connection's mean.

        May be skipped for short turns if previous ones were short, too.
        """
        connection.load_ns += (took_ns - connection.load_ns) >> 4

    def many(self) -> bool:
        if not self.spent_ns and not self._rebalancing:
            self._loop.call_soon(self._looks_at_sockets)
        self._rebalancing += 1
        return self._rebalancing > AT_A_TIME

    def _looks_at_sockets(self) -> None:
        self.spent_ns = self._rebalancing = 0

    def enqueue(self, connection: Served) -> None:
        """Append a connection, which must not be in the queue yet."""
        self._queue.append(connection)
        if not self._round_is_due:
            self._round_is_due = True
            self._loop.call_soon(self._round)

    def serve(self, waiting: deque[Served], now_ms: int) -> None:
        """Serve at most AT_A_TIME connections for ROUND_US. The others stay in `waiting`."""
        self._begins()
        before_ns = self.now_ns()
        until_ns = before_ns + ROUND_US * 1_000
        remaining = AT_A_TIME
        while waiting and remaining:
            remaining -= 1
            connection = waiting.popleft()
            connection.go_on(now_ms)  # never raises; may enqueue itself and others
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
        queue.extend(self._queue)  # new connections follow the remaining ones
        self._queue = queue
        self._served(now_ms)
        self._round_is_due = bool(self._queue)
        if self._round_is_due:
            self._loop.call_soon(self._round)
