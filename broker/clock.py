"""The clock of brokers and coordinators. Their functions get the time as an argument.

Time is whole milliseconds on a monotonic scale that starts at 0 with the clock. Wall-clock time is the same scale
plus `epoch_ms`, fixed at start: a test that moves the clock moves both, a step of the system's clock moves neither.
"""

import time
from collections.abc import Callable
from typing import Protocol


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
    def machine_ns(self) -> Callable[[], int]:
        """Nanoseconds of the machine's own time, whatever is done to this clock: how long work takes."""
        ...

    def seconds_until(self, due_ms: int) -> float | None:
        """How long an event loop has to wait for a moment; 0 when it is past, None when it does not come by itself."""
        ...


class SystemClock:
    """The machine's clock."""

    def __init__(self) -> None:
        now_ns = time.monotonic_ns()
        # 0 is where a millisecond of the wall clock begins. Else our wall clock would be behind by a part of one, and a
        # token that somebody has issued just now would be issued in the future.
        self.epoch_ms, rest_ns = divmod(time.time_ns(), 1_000_000)
        self.zero_ns = now_ns - rest_ns

    def now_ms(self) -> int:
        """Monotonic milliseconds since this clock was made."""
        return (time.monotonic_ns() - self.zero_ns) // 1_000_000

    def now_us(self) -> int:
        """Monotonic microseconds."""
        return (time.monotonic_ns() - self.zero_ns) // 1_000

    @property
    def machine_ns(self) -> Callable[[], int]:
        """See `Clock`; looked at after every request of a turn, so nothing is put around it."""
        return time.monotonic_ns

    def seconds_until(self, due_ms: int) -> float | None:
        """See `Clock`."""
        return max(due_ms - self.now_ms(), 0) / 1000
