"""Buffer that delivers messages of several sources in the order of their times."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from itertools import count

from kohort.pipeline.live.webhook import Message

KEPT_MS = 3_000  # delay of messages from streams relative to those from requests to brokers


class InOrder:
    """Orders messages by time. Call `flush` periodically."""

    def __init__(self, tell: Callable[[Message], None], now_ms: Callable[[], int]) -> None:
        self._tell, self._now_ms = tell, now_ms
        self._kept: list[tuple[int, int, int, Message]] = []
        self._number, self._lock = count(), threading.Lock()

    def hear(self, message: Message) -> None:
        with self._lock:
            now_ms = self._now_ms()
            heapq.heappush(self._kept, (message.at_ms, next(self._number), now_ms, message))

    def flush(self, *, everything: bool = False) -> None:
        """Deliver messages that were buffered long enough and all earlier ones.

        Args:
            everything: Whether to deliver all messages, at the end.
        """
        with self._lock:
            now_ms = self._now_ms()
            ripe = [n for n, entry in enumerate(sorted(self._kept)) if everything or now_ms - entry[2] >= KEPT_MS]
            for _ in range(ripe[-1] + 1 if ripe else 0):
                self._tell(heapq.heappop(self._kept)[3])
