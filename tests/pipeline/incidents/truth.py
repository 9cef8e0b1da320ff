"""The actions that caused what a broker recorded."""

from __future__ import annotations

import json
import threading
import time
from typing import TextIO


class Truth:
    """What really happened, a line of JSON each."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._lock = file, threading.Lock()

    def tell(self, group: str, event: str, **more: object) -> None:
        """Record something that was done to a group now."""
        self.write({"ms": time.time_ns() // 1_000_000, "group": group, "event": event, **more})

    def write(self, line: dict[str, object]) -> None:
        with self._lock:
            self._file.write(json.dumps(line) + "\n")
