"""A clock in a test's hand."""


class ManualClock:
    """A clock that stands still until somebody moves it."""

    zero_ns = None

    def __init__(self, now_ms: int = 0, epoch_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self.epoch_ms = epoch_ms

    def now_ms(self) -> int:
        """Where the hand stands."""
        return self._now_ms

    def now_us(self) -> int:
        """Monotonic microseconds; always whole milliseconds."""
        return self._now_ms * 1_000

    def machine_ns(self) -> int:
        """Monotonic nanoseconds."""
        return self._now_ms * 1_000_000

    def seconds_until(self, due_ms: int) -> float | None:
        """See `Clock`; the loop of a test counts in this clock's seconds too."""
        return max(due_ms - self._now_ms, 0) / 1000

    def advance(self, length_ms: int) -> int:
        """Moves on by `length_ms`; returns the new moment."""
        assert length_ms >= 0, "time does not go back"
        self._now_ms += length_ms
        return self._now_ms
