"""`python -m tests.fuzz.sentinel PORT PID ECHO-PORT`: a member whose heartbeats must be answered in time.

It is a process of its own, so that only the broker's work delays it. On a busy machine the broker has to wait for
a processor, and for the disk. A response is therefore late only by the time that the broker worked meanwhile: the
processor time of its process, at most the wall-clock time without the time that the two processes waited for a
processor (`/proc/PID/schedstat`). An echo server next to the broker is the control. Every second one
line of JSON reports all values.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from pathlib import Path
from time import clock_gettime, perf_counter, sleep

from kohort.protocol.errors import ErrorCode
from kohort.whatif.clients.classic_group_member import SYNCED, ClassicMember
from kohort.whatif.clients.group_member import JOINING
from tests.support.frames import frame
from tests.support.wires import Blocking

GROUP = "sentinel"
EVERY_S = 0.02
TOLD_EVERY_S = 1.0


class Sentinel:
    """Member of its own group."""

    def __init__(self, port: int, pid: int, echo_port: int) -> None:
        self._waits = [Path(f"/proc/{item}/schedstat") for item in (pid, "self")]
        # processor time of all threads of the process (POSIX has a clock for each process)
        self._processor_clock = ~pid << 3 | 2
        self._wire = Blocking(port)
        self._echo = socket.create_connection(("127.0.0.1", echo_port))
        self._echo.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.beats = 0
        self.worst_ms = self.worst_of_broker_ms = self.worst_echo_ms = 0.0
        self.late: list[str] = []
        self.failures: list[str] = []

    def join(self) -> bytes:
        """Join, and return the frame of its heartbeats."""
        member = ClassicMember(GROUP, GROUP)
        while member.phase != SYNCED:
            self._wire.asks("find_coordinator", 0, coordinator_keys=(GROUP,))
            error = self._wire.says(member.next())
            if error not in JOINING:
                raise SystemExit(f"the sentinel cannot join: {error.name}")
            sleep(0.05)
        return frame("heartbeat", 3, **member.beat().fields)

    def send_heartbeat(self, beat: bytes) -> None:
        """Send a heartbeat and measure its time."""
        waited_s, worked_s, start = self._waited_s(), self._worked_s(), perf_counter()
        answer = self._wire.exchanges(beat)
        took_s = perf_counter() - start
        awake_s = max(took_s - (self._waited_s() - waited_s), 0.0)
        of_broker_ms = 1e3 * min(awake_s, self._worked_s() - worked_s)
        self.beats += 1
        self.worst_ms = max(self.worst_ms, took_s * 1e3)
        self.worst_of_broker_ms = max(self.worst_of_broker_ms, of_broker_ms)
        if of_broker_ms > 50:
            self.late.append(f"{of_broker_ms:.0f} ms (by the clock {took_s * 1e3:.0f} ms)")
        error = int.from_bytes(answer[8:10], "big", signed=True)
        if error:
            self.failures.append(f"the sentinel's heartbeat was answered {ErrorCode(error).name}")

    def measure_echo(self) -> None:
        """Send bytes to the echo server as a control."""
        start = perf_counter()
        self._echo.sendall(b"echo")
        self._echo.recv(4)
        self.worst_echo_ms = max(self.worst_echo_ms, (perf_counter() - start) * 1e3)

    def report(self) -> None:
        """Print one line of JSON about the time since the last one. Exit when the reader has closed the pipe."""
        line = json.dumps({
            "beats": self.beats, "worst_ms": self.worst_ms, "worst_of_broker_ms": self.worst_of_broker_ms,
            "worst_echo_ms": self.worst_echo_ms, "late": self.late, "failures": self.failures,
        })  # fmt: skip
        try:
            print(line, flush=True)
        except BrokenPipeError:
            os._exit(0)
        self.late, self.failures = [], []

    def _waited_s(self) -> float:
        """Return how long the broker and this process have waited for a processor."""
        try:
            return sum(int(path.read_text().split()[1]) for path in self._waits) / 1e9
        except (OSError, IndexError):
            return 0.0  # no Linux, or the broker has gone: nothing is taken off

    def _worked_s(self) -> float:
        """Return how long the broker has had a processor."""
        try:
            return clock_gettime(self._processor_clock)
        except OSError:
            return perf_counter()  # then the wall-clock time decides


def main() -> None:
    port, pid, echo_port = map(int, sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sentinel = Sentinel(port, pid, echo_port)
    frame = sentinel.join()
    next_s = perf_counter() + TOLD_EVERY_S
    sentinel.report()
    try:
        while True:
            sentinel.send_heartbeat(frame)
            sentinel.measure_echo()
            if perf_counter() >= next_s:
                sentinel.report()
                next_s = perf_counter() + TOLD_EVERY_S
            sleep(EVERY_S)
    except OSError as problem:
        sentinel.failures.append(f"the sentinel was cut off: {problem}")
        sentinel.report()


if __name__ == "__main__":
    main()
