"""A clock that a test moves."""


class ManualClock:
    """A clock that stands still until it is moved."""

    zero_ns = None

    def __init__(self, now_ms: int = 0, epoch_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self.epoch_ms = epoch_ms

    def now_ms(self) -> int:
        """Return the current time in monotonic milliseconds."""
        return self._now_ms

    def now_us(self) -> int:
        """Return monotonic microseconds; always whole milliseconds."""
        return self._now_ms * 1_000

    def machine_ns(self) -> int:
        """Return monotonic nanoseconds."""
        return self._now_ms * 1_000_000

    def seconds_until(self, due_ms: int) -> float | None:
        """Return the time until a deadline; the loop of a test uses this clock, too."""
        return max(due_ms - self._now_ms, 0) / 1000

    def advance(self, length_ms: int) -> int:
        """Move the clock by `length_ms` and return the new time."""
        assert length_ms >= 0, "time does not go back"
        self._now_ms += length_ms
        return self._now_ms
