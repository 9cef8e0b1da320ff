"""The brokers' clock in a test's hand: it runs, stands still, jumps, or runs faster.

Only the brokers' timers follow it: sessions, rebalances, initial delays, pending syncs, retention, transactions.
Sockets are served all the while, and fetches wait in real time (a consumer's long poll is not what a test slows down).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kohort.broker.clock import Clock, SystemClock
from kohort.control.control_errors import ControlError

FASTEST = 10_000
"""A day in nine seconds. Timers that come again and again would leave no time for clients if it ran much faster."""


class LabClock:
    """A clock on top of the machine's. Monotonic milliseconds from 0, like every clock of the broker."""

    def __init__(self, machine: Clock | None = None) -> None:
        self._machine = machine if machine is not None else SystemClock()
        self.epoch_ms = self._machine.epoch_ms
        self.machine_ns = self._machine.machine_ns
        self.zero_ns = None
        self.changed: Callable[[], None] = lambda: None
        """Called when a moment may come earlier or later than was said before."""
        self._scale = 1.0
        self._paused = False
        self._holds = 0
        """How many jumps are under way: it moves only with them."""
        self._read_at_ms = self._machine.now_ms()
        """On the machine's clock, when `_stood_at_ms` was right."""
        self._stood_at_ms = float(self._read_at_ms)

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._paused

    @property
    def scale(self) -> float:
        """How many of its seconds go by in one of the machine's, when it runs."""
        return self._scale

    def now_ms(self) -> int:
        """Where it stands."""
        return int(self._exactly())

    def now_us(self) -> int:
        """Monotonic microseconds, as fine as the machine's milliseconds."""
        return int(self._exactly() * 1000)

    def seconds_until(self, due_ms: int) -> float | None:
        """How long the machine has to wait for a moment; None: it stands still, and the moment does not come."""
        left_ms = due_ms - self._exactly()
        if left_ms <= 0:
            return 0.0
        return None if self._paused or self._holds else left_ms / self._scale / 1000

    def pause(self) -> None:
        """Stands still from now on."""
        self._settle()
        self._paused = True
        self.changed()

    def run(self, scale: float | None = None) -> None:
        """Goes on; with `scale`, that many times as fast as the machine's clock (more than 0)."""
        if scale is not None and not (isinstance(scale, int | float) and 0 < scale <= FASTEST):
            raise ControlError(f"a clock cannot run {scale} times as fast; take more than 0, to {FASTEST}, or pause it")
        self._settle()
        self._paused = False
        if scale is not None:
            self._scale = scale
        self.changed()

    def move_to(self, moment_ms: int) -> None:
        """Jumps ahead. A moment that is past changes nothing."""
        self._settle()
        self._stood_at_ms = max(self._stood_at_ms, float(moment_ms))
        self.changed()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Moves by `move_to` alone, as long as this lasts; then it goes on as it was told, or stands."""
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
