"""How much a broker does between two yields, counted in lines of Python that are run: the same on every machine."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from tests.support.broker import Stopwatch
from tests.support.worker_thread import Thread

if TYPE_CHECKING:
    from tests.support.broker import Broker

TURN_US = 2_000
"""Each look at the clock takes as long as a turn, so that a turn is one step of a task."""

READING = "guard.py"
"""Where requests are looked at before they are read: at most READ_AT_ONCE elements, and the others in a thread."""


class TouchMeter:
    """Counts the lines that a broker runs until it looks at the clock, or is called by its event loop again."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._thread = Thread(broker)
        self._lines: dict[CodeType, int] = {}
        self.most = 0
        """The most lines in one step."""
        self.top_functions = ""
        """The functions that ran most of them."""
        Stopwatch(broker, TURN_US)
        look = broker.server.scheduler.now_ns

        def now_ns() -> int:
            self._step()
            return look()

        broker.server.scheduler.now_ns = now_ns

    def settle(self) -> None:
        """Let the broker finish what it has to do now, and what is due in the next milliseconds, without counting."""
        while self._works() or self._broker.loop.run_soon() or self._rings():
            pass

    def send(self, frame: bytes) -> list[bytes]:
        """Send a request on a connection of its own, count until all is done, and return the answers."""
        self.most, self.top_functions = 0, ""
        self._lines.clear()
        client = self._broker.client()
        self._count(client.says, frame)
        while self._works() or self._count(self._broker.loop.run_soon) or self._count(self._rings):
            pass
        answers = client.heard()
        client.connection.connection_lost(None)
        self.settle()
        return answers

    def _works(self) -> int:
        return self._thread.works()

    def _rings(self) -> bool:
        loop, clock = self._broker.loop, self._broker.clock
        if loop.timer is None or loop.timer[0] > clock.now_ms() + 50:
            return False
        loop.ring()
        return True

    def _count(self, function: Any, *arguments: Any) -> Any:
        previous = sys.gettrace()
        sys.settrace(self._called)
        try:
            return function(*arguments)
        finally:
            sys.settrace(previous)
            self._step()

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_filename == __file__ or code.co_filename.endswith(READING):
            return None
        lines = self._lines

        def ran(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                lines[code] = lines.get(code, 0) + 1
            return ran

        return ran

    def _step(self) -> None:
        lines = dict(self._lines)
        self._lines.clear()
        count = sum(lines.values())
        if count > self.most:
            self.most = count
            top = sorted(lines, key=lines.__getitem__, reverse=True)[:4]
            self.top_functions = ", ".join(
                f"{code.co_filename.rpartition('/')[2]}:{code.co_name} {lines[code]}" for code in top
            )
