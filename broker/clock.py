"""The clock of brokers and coordinators. Their functions get the time as an argument.

Time is whole milliseconds on a monotonic scale that starts at 0 with the clock. Wall-clock time is the same scale
plus `epoch_ms`, fixed at start: a test that moves the clock moves both, a step of the system's clock moves neither.
"""

import sys
import time
from collections.abc import Callable
from typing import Protocol

Nanoseconds = Callable[[], int]


def machines(name: str) -> Nanoseconds:
    """A function of `time`, as `monotonic_ns`: the machine's own, though a test may have frozen the time (freezegun).

    Whoever wants it keeps what comes back in an object: freezegun replaces it where it is an attribute of a module.
    """
    frozen = sys.modules.get("freezegun.api")
    function: Nanoseconds = getattr(frozen, f"real_{name}", None) or getattr(time, name)
    return function


class Clock(Protocol):
    """The time, for brokers and coordinators."""

    epoch_ms: int
    """Add it to monotonic milliseconds for the wall clock (since 1970, UTC)."""

    @property
    def zero_ns(self) -> int | None:
        """When this clock showed 0, in the machine's own nanoseconds; None: it does not always go as the machine does.

        Whoever has looked at the machine's time need not ask for this one's, then.
        """
        ...

    def now_ms(self) -> int:
        """Monotonic milliseconds."""
        ...

    def now_us(self) -> int:
        """Monotonic microseconds, for what is measured rather than awaited."""
        ...

    @property
    def machine_ns(self) -> Nanoseconds:
        """Nanoseconds of the machine's own time, whatever is done to this clock: how long work takes."""
        ...

    def seconds_until(self, due_ms: int) -> float | None:
        """How long an event loop has to wait for a moment; 0 when it is past, None when it does not come by itself."""
        ...


class SystemClock:
    """The machine's clock."""

    def __init__(self) -> None:
        self._monotonic_ns = machines("monotonic_ns")
        now_ns = self._monotonic_ns()
        # 0 is where a millisecond of the wall clock begins. Else our wall clock would be behind by a part of one, and a
        # token that somebody has issued just now would be issued in the future.
        self.epoch_ms, rest_ns = divmod(machines("time_ns")(), 1_000_000)
        self.zero_ns = now_ns - rest_ns

    def now_ms(self) -> int:
        """Monotonic milliseconds since this clock was made."""
        return (self._monotonic_ns() - self.zero_ns) // 1_000_000

    def now_us(self) -> int:
        """Monotonic microseconds."""
        return (self._monotonic_ns() - self.zero_ns) // 1_000

    @property
    def machine_ns(self) -> Nanoseconds:
        """See `Clock`; looked at after every request of a turn, so nothing is put around it."""
        return self._monotonic_ns

    def seconds_until(self, due_ms: int) -> float | None:
        """See `Clock`."""
        return max(due_ms - self.now_ms(), 0) / 1000
