"""The two pipes of a worker: reports go out, orders come in. When the parent is gone, so is the worker."""

from __future__ import annotations

import os
import sys
import threading

from kohort.demo.reports import Report, write

PARENT_GONE = 3
"""Exit code of a worker whose parent vanished."""


class Reporter:
    """Writes reports to what was stdout. Whatever else prints goes to stderr: it must not get in between."""

    def __init__(self) -> None:
        self._pipe = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def __call__(self, report: Report) -> None:
        """Sends a report; may be called from any thread."""
        with self._lock:
            try:
                self._pipe.write(write(report))
            except BrokenPipeError:
                os._exit(PARENT_GONE)


class Orders:
    """What the parent wants: `join`, `stall SECONDS`, `stop`; read by a thread, as clients block."""

    def __init__(self) -> None:
        self.stopping = False
        self._joining = threading.Event()
        self._stall_s = 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def wait_to_join(self) -> None:
        """Returns when it is time to join, or to stop before that."""
        self._joining.wait()

    def take_stall(self) -> float:
        """How many seconds the batch at hand is to take; asked once for each order."""
        seconds, self._stall_s = self._stall_s, 0.0
        return seconds

    def _listen(self) -> None:
        for line in sys.stdin:
            order, *arguments = line.split()
            if order == "stall":
                self._stall_s = float(arguments[0])
            else:
                self.stopping |= order == "stop"
                self._joining.set()
        os._exit(PARENT_GONE)
