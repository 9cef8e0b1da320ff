"""An event loop that a test runs by hand."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.manual_clock import ManualClock


class StillLoop:
    """The part of an event loop that the server uses, run by hand."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._soon: list[Callable[[], None]] = []
        self.timer: tuple[int, Callable[[], None]] | None = None

    def call_soon(self, function: Callable[[], None]) -> None:
        self._soon.append(function)

    def call_later(self, delay_s: float, function: Callable[[], None]) -> StillLoop:
        assert self.timer is None, "one timer for the whole process"
        self.timer = (self._clock.now_ms() + round(delay_s * 1000), function)
        return self

    def cancel(self) -> None:
        self.timer = None

    def run_soon(self) -> bool:
        """Run the callbacks of the next turn. Return whether there were any."""
        functions, self._soon = self._soon, []
        for function in functions:
            function()
        return bool(functions)

    def run_first(self, function: Callable[[], None]) -> None:
        """Run `function` now if it is scheduled for the next turn."""
        if function in self._soon:
            self._soon = [item for item in self._soon if item != function]
            function()

    def wait(self, length_ms: int) -> None:
        """Let time pass; the timer fires when it is due."""
        end_ms = self._clock.now_ms() + length_ms
        while self.timer is not None and self.timer[0] <= end_ms:
            self.ring()
        self._clock.advance(end_ms - self._clock.now_ms())

    def ring(self) -> None:
        """Let time pass until the timer fires once."""
        assert self.timer is not None
        due_ms, function = self.timer
        self.timer = None
        self._clock.advance(max(due_ms - self._clock.now_ms(), 0))
        function()
