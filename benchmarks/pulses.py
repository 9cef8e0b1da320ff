"""Heartbeats at fixed times, in open loop: each is sent when it is due, whatever happened to the previous one.

Latency is counted from the time at which a heartbeat was due until its response was read, so a slow server cannot slow
the schedule down and look good. uvloop's timers have a resolution of a millisecond, as much as the measured values;
the system's interval timer is finer.
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
    """Scheduler of function calls. A process can only have one, since it uses SIGALRM."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, Callable[[int], None]]] = []
        self._tie = count()
        self._loop = asyncio.get_running_loop()
        self._loop.add_signal_handler(signal.SIGALRM, self._run)

    def at(self, due_ns: int, function: Callable[[int], None]) -> None:
        """Call `function` with `due_ns` at that time of `perf_counter_ns`, or as soon after as possible."""
        heapq.heappush(self._due, (due_ns, next(self._tie), function))
        if self._due[0][0] == due_ns:
            self._arm()

    def stop(self) -> None:
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
    """Heartbeats of stable members."""

    def __init__(self, schedule: Schedule, interval_ns: int, failures: Failures) -> None:
        self.schedule = schedule
        self.interval_ns = interval_ns
        self.failures = failures
        self.counting = False
        self.beats: list[tuple[int, int]] = []  # due time and time of the response, while `counting`
        self.sent_late_ns: list[int] = []  # delay of each request: the load generator's own part
        self.sessions_missed = 0

    def start(self, member: Member, first_ns: int) -> None:
        """Send the heartbeats of `member` from `first_ns` on."""

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
        """Return the microseconds between due time and response."""
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
