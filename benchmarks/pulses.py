"""Punctual heartbeats, in open loop: the next one is due when it is due, whatever happened to the one before.

Lateness is counted from the moment a heartbeat was due until its reply was read, so a slow server cannot slow the
schedule down and look good. uvloop's timers have steps of a millisecond, which is as much as is to be measured; the
system's interval timer is finer.
"""

import asyncio
import heapq
import signal
from collections.abc import Callable
from itertools import count
from time import perf_counter_ns

from benchmarks import replies
from benchmarks.failures import Failures
from benchmarks.group import Member
from kohort.protocol.errors import ErrorCode

FORGOTTEN = (ErrorCode.unknown_member_id, ErrorCode.illegal_generation)
SHORTEST_WAIT_NS = 20_000


class Schedule:
    """Calls functions when they are due. One at a time in a process: it owns SIGALRM."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, Callable[[int], None]]] = []
        self._tie = count()
        self._loop = asyncio.get_running_loop()
        self._loop.add_signal_handler(signal.SIGALRM, self._run)

    def at(self, due_ns: int, function: Callable[[int], None]) -> None:
        """Calls `function` with `due_ns` at that moment of `perf_counter_ns`, or as soon after as possible."""
        heapq.heappush(self._due, (due_ns, next(self._tie), function))
        if self._due[0][0] == due_ns:
            self._arm()

    def stop(self) -> None:
        """Calls nothing any more."""
        self._due.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._loop.remove_signal_handler(signal.SIGALRM)

    def _arm(self) -> None:
        wait_ns = max(self._due[0][0] - perf_counter_ns(), SHORTEST_WAIT_NS)
        signal.setitimer(signal.ITIMER_REAL, wait_ns / 1e9)

    def _run(self) -> None:
        due = self._due
        while due and due[0][0] <= perf_counter_ns():
            due_ns, _, function = heapq.heappop(due)
            function(due_ns)
        if due:
            self._arm()


class Pulses:
    """The heartbeats of stable members."""

    def __init__(self, schedule: Schedule, interval_ns: int, failures: Failures) -> None:
        self.schedule = schedule
        self.interval_ns = interval_ns
        self.failures = failures
        self.counting = False
        self.beats: list[tuple[int, int]] = []
        """When each was due, and when its reply was read; while `counting`."""
        self.sent_late_ns: list[int] = []
        """How late each was sent: the load generator's own share."""
        self.sessions_missed = 0

    def start(self, member: Member, first_ns: int) -> None:
        """Keeps `member` alive from then on."""

        def fire(due_ns: int) -> None:
            if self.counting:
                self.sent_late_ns.append(perf_counter_ns() - due_ns)
            member.connection.ask(member.beat_frame, answered, due_ns)
            self.schedule.at(due_ns + self.interval_ns, fire)

        def answered(payload: bytes, due_ns: int) -> None:
            if self.counting:
                self.beats.append((due_ns, perf_counter_ns()))
            if payload[4:] != replies.BEAT:
                self._odd(member, payload)

        self.schedule.at(first_ns, fire)

    def lateness_us(self) -> list[float]:
        """Microseconds from due to read."""
        return [(read_ns - due_ns) / 1e3 for due_ns, read_ns in self.beats]

    def _odd(self, member: Member, payload: bytes) -> None:
        code = replies.error_code(payload) if len(payload) >= 11 else 0
        if code in FORGOTTEN:
            self.sessions_missed += 1
            self.failures.add("session missed", f"{member.id} of {member.group.name}")
        elif code:
            self.failures.add_code("Heartbeat", code)
        else:
            self.failures.add("malformed reply", payload.hex())
