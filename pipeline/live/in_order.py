"""Messages of several sources are told in the order of their times: an earlier one may come a moment later."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from itertools import count

from kohort.pipeline.live.webhook import Message

KEPT_MS = 3_000
"""The streams bring what they see that much later than whoever asks the brokers."""


class InOrder:
    """Call `hear` for each message, and `flush` again and again."""

    def __init__(self, tell: Callable[[Message], None], now_ms: Callable[[], int]) -> None:
        self._tell, self._now_ms = tell, now_ms
        self._kept: list[tuple[int, int, int, Message]] = []
        self._number, self._lock = count(), threading.Lock()

    def hear(self, message: Message) -> None:
        """Keeps it for a moment."""
        with self._lock:
            now_ms = self._now_ms()
            heapq.heappush(self._kept, (message.at_ms, next(self._number), now_ms, message))

    def flush(self, *, everything: bool = False) -> None:
        """Tells what was kept long enough, with all that is earlier; at the end everything."""
        with self._lock:
            now_ms = self._now_ms()
            ripe = [n for n, each in enumerate(sorted(self._kept)) if everything or now_ms - each[2] >= KEPT_MS]
            for _ in range(ripe[-1] + 1 if ripe else 0):
                self._tell(heapq.heappop(self._kept)[3])
