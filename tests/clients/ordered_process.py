"""A program that is given orders line by line, and reports line by line in JSON: a client of a test."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

PATIENCE_S = 120  # timeout of all waits on a busy machine; successful ones take a fraction of a second
ROOT = Path(__file__).parent.parent.parent


class OrderedProcess:
    """A process that reports events and takes orders. A subclass stores the reports."""

    def __init__(self, command: Sequence[str], changed: threading.Condition) -> None:
        """Start the process. Waiting threads are notified through `changed`."""
        self.closed = False  # whether it has reported a clean end
        self._changed = changed
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def order(self, text: str) -> None:
        """Send an order to the process."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def crash(self) -> None:
        """kill -9."""
        self._process.kill()
        self._end()

    def stop(self) -> None:
        """Close the client, which leaves its group unless it is static."""
        self.order("stop")
        self._process.wait(PATIENCE_S)
        self._end()
        assert self.closed, "it did not close properly"

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def heard(self, line: str) -> None:
        """Store a report, while `changed` is held."""
        raise NotImplementedError

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.heard(line)
                self._changed.notify_all()

    def _end(self) -> None:
        self._listener.join(PATIENCE_S)
        self._process.wait(PATIENCE_S)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
