"""A process that reports its actions line by line, and can be stopped."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable

from tests.clients.ordered_process import PATIENCE_S


class Process:
    """Runs from now on."""

    def __init__(self, command: list[str]) -> None:
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def until(self, condition: Callable[[list[str]], bool], what: str, patience_s: float = PATIENCE_S) -> None:
        """Wait until a condition on its output is true."""
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self.lines), patience_s), f"{what}: {self.lines[-20:]}"

    def stop(self) -> None:
        """Stop the process, and wait for its end."""
        assert self._process.stdin is not None
        self._process.stdin.write("stop\n")
        self._process.stdin.flush()
        assert self._process.wait(PATIENCE_S) == 0, self.lines[-20:]

    def terminate(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)

    def interrupt(self) -> None:
        """Send Ctrl-C, after which it must end cleanly."""
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(PATIENCE_S) == 0, self.lines[-20:]

    def crash(self) -> None:
        """kill -9. Once it is gone this changes nothing."""
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()


def eventually(holds: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Repeat a check until it is true."""
    deadline = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
