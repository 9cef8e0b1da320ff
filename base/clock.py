"""The clock of brokers and coordinators, whose functions get the time as an argument.

Time is whole milliseconds on a monotonic scale that starts at 0 with the clock. Wall-clock time is the same scale
plus `epoch_ms`, fixed at start: a test that moves the clock moves both; a step of the system's clock moves neither.
"""

import sys
import time
from collections.abc import Callable
from typing import Protocol

Nanoseconds = Callable[[], int]


def machines(name: str) -> Nanoseconds:
    """Return a function of `time`, such as `monotonic_ns`, even if a test has frozen the time (freezegun).

    Keep the result in an object: freezegun replaces it where it is an attribute of a module.
    """
    frozen = sys.modules.get("freezegun.api")
    function: Nanoseconds = getattr(frozen, f"real_{name}", None) or getattr(time, name)
    return function


class Clock(Protocol):
    """The time for brokers and coordinators."""

    epoch_ms: int  # offset from monotonic milliseconds to the wall clock (since 1970, UTC)

    @property
    def zero_ns(self) -> int | None:
        """The machine's nanoseconds when this clock was 0, or None if the clock may deviate from the machine's.

        A caller that has just read the machine's time can compute this clock's from it.
        """
        ...

    def now_ms(self) -> int: ...

    def now_us(self) -> int:
        """Return monotonic microseconds, for measurements."""
        ...

    @property
    def machine_ns(self) -> Nanoseconds:
        """Function that returns nanoseconds of the machine's own time, to measure work even if this clock is moved."""
        ...

    def seconds_until(self, due_ms: int) -> float | None:
        """Return how long an event loop must wait for a time: 0 if it has passed, None if only a test can reach it."""
        ...


class SystemClock:
    """The machine's clock."""

    def __init__(self) -> None:
        self._monotonic_ns = machines("monotonic_ns")
        now_ns = self._monotonic_ns()
        # 0 is the start of a millisecond of the wall clock. Otherwise our wall clock would be behind by a fraction of
        # one, and a token that was issued just now would be issued in the future.
        self.epoch_ms, rest_ns = divmod(machines("time_ns")(), 1_000_000)
        self.zero_ns = now_ns - rest_ns

    def now_ms(self) -> int:
        return (self._monotonic_ns() - self.zero_ns) // 1_000_000

    def now_us(self) -> int:
        return (self._monotonic_ns() - self.zero_ns) // 1_000

    @property
    def machine_ns(self) -> Nanoseconds:
        """The machine's nanoseconds; read after every request of a turn, so nothing wraps it."""
        return self._monotonic_ns

    def seconds_until(self, due_ms: int) -> float | None:
        return max(due_ms - self.now_ms(), 0) / 1000
