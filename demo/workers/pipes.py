"""Pipes of a worker: reports go out, orders come in. The worker ends with its parent."""

from __future__ import annotations

import os
import sys
import threading

from kohort.demo.reports import Report, write

PARENT_GONE = 3  # exit code of a worker whose parent has ended


class Reporter:
    """Writer of reports to the original stdout. All other output goes to stderr, so that it can't mix with them."""

    def __init__(self) -> None:
        self._pipe = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def __call__(self, report: Report) -> None:
        """Send a report; any thread may call it."""
        with self._lock:
            try:
                self._pipe.write(write(report))
            except BrokenPipeError:
                os._exit(PARENT_GONE)


class Orders:
    """Orders of the parent: `join`, `stall SECONDS`, `stop`; a thread reads them, as clients block."""

    def __init__(self) -> None:
        self.stopping = False
        self._joining = threading.Event()
        self._stall_s = 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def wait_to_join(self) -> None:
        """Wait for the order to join or to stop."""
        self._joining.wait()

    def take_stall(self) -> float:
        """Return the seconds that the current batch shall take; each order counts once."""
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
