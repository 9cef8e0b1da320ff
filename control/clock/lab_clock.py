"""Clock of the brokers that a test controls: it runs, stands still, jumps, or runs faster.

Only the brokers' timers follow it: sessions, rebalances, initial delays, pending syncs, retention, transactions.
Sockets are served all the time, and fetches wait in real time, because tests do not want to slow down long polls.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kohort.base.clock import Clock, SystemClock
from kohort.control.control_errors import ControlError

FASTEST = 10_000  # A day in nine seconds. At a much higher speed recurring timers would leave no time for clients.


class LabClock:
    """A clock on top of the machine's clock, in monotonic milliseconds from 0, like every clock of the broker."""

    def __init__(self, machine: Clock | None = None) -> None:
        self._machine = machine if machine is not None else SystemClock()
        self.epoch_ms = self._machine.epoch_ms
        self.machine_ns = self._machine.machine_ns
        self.zero_ns = None
        self.changed: Callable[[], None] = lambda: None  # called when a due time has moved, on the machine's clock
        self._scale = 1.0
        self._paused = False
        self._holds = 0  # number of running jumps, during which only they move the clock
        self._read_at_ms = self._machine.now_ms()  # the machine's clock at `_stood_at_ms`
        self._stood_at_ms = float(self._read_at_ms)

    @property
    def paused(self) -> bool:
        return self._paused

    @property
    def scale(self) -> float:
        return self._scale

    def now_ms(self) -> int:
        return int(self._exactly())

    def now_us(self) -> int:
        """Return monotonic microseconds, with the resolution of the machine's milliseconds."""
        return int(self._exactly() * 1000)

    def seconds_until(self, due_ms: int) -> float | None:
        """Return the real time until a moment, or None if the clock stands still."""
        left_ms = due_ms - self._exactly()
        if left_ms <= 0:
            return 0.0
        return None if self._paused or self._holds else left_ms / self._scale / 1000

    def pause(self) -> None:
        self._settle()
        self._paused = True
        self.changed()

    def run(self, scale: float | None = None) -> None:
        """Run the clock, at `scale` times the speed of the machine's clock if it is given."""
        if scale is not None and not (isinstance(scale, int | float) and 0 < scale <= FASTEST):
            raise ControlError(
                f"clock scale {scale} is out of range; use more than 0 and at most {FASTEST}, or pause the clock"
            )
        self._settle()
        self._paused = False
        if scale is not None:
            self._scale = scale
        self.changed()

    def move_to(self, moment_ms: int) -> None:
        """Move the clock forward; a moment in the past changes nothing."""
        self._settle()
        self._stood_at_ms = max(self._stood_at_ms, float(moment_ms))
        self.changed()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let only `move_to` move the clock until the block ends; then restore its mode."""
        self._hold(1)
        try:
            yield
        finally:
            self._hold(-1)

    def _hold(self, count: int) -> None:
        self._settle()
        self._holds += count
        self.changed()

    def _exactly(self) -> float:
        if self._paused or self._holds:
            return self._stood_at_ms
        return self._stood_at_ms + (self._machine.now_ms() - self._read_at_ms) * self._scale

    def _settle(self) -> None:
        self._stood_at_ms = self._exactly()
        self._read_at_ms = self._machine.now_ms()
