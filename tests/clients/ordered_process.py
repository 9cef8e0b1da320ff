"""A program that is given orders line by line, and reports line by line in JSON: a client of a test."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

PATIENCE_S = 120
"""How long anything may take on a machine with better things to do; what works takes a fraction of a second."""
ROOT = Path(__file__).parent.parent.parent


class OrderedProcess:
    """Runs from now on. A subclass takes note of what it reports."""

    def __init__(self, command: Sequence[str], changed: threading.Condition) -> None:
        """`changed`: who waits for a report waits for this."""
        self.closed = False
        """Whether it has said that it has ended as it should."""
        self._changed = changed
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def order(self, text: str) -> None:
        """Tells the process something."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def crash(self) -> None:
        """kill -9."""
        self._process.kill()
        self._end()

    def stop(self) -> None:
        """Closes the client, which leaves its group unless it is static."""
        self.order("stop")
        self._process.wait(PATIENCE_S)
        self._end()
        assert self.closed, "it did not close properly"

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def heard(self, line: str) -> None:
        """Takes note of a report, while nobody looks."""
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
