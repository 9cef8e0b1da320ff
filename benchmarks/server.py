"""Measured server: start, readiness, external measurements, stop."""

import asyncio
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from time import monotonic

from benchmarks.failures import Failures, UnmeasurableError

READY = b"READY bootstrap="
START_WITHIN_S = 20
STOP_WITHIN_S = 10
PROC = Path("/proc")
TRACEBACK = "Traceback (most recent call last)"


def command(arguments: Sequence[str], program: Path | None = None) -> list[str]:
    """Return the command line of `kohort serve`, of `program` or of this environment."""
    script = program or Path(sys.executable).with_name("kohort")
    start = [str(script)] if script.exists() else [sys.executable, "-m", "kohort.cli"]
    return [*start, "serve", "--profile", "test", *arguments]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Server:
    """Process of `kohort serve`. Tracebacks and an unclean exit count as failures, too."""

    def __init__(self, words: Sequence[str], failures: Failures) -> None:
        self.failures = failures
        self.host, self.port = "127.0.0.1", 0
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed by stop)
        # A session of its own: Ctrl-C is for the load generator, which then stops the server.
        self.process = Popen(words, stdout=PIPE, stderr=self._log, start_new_session=True)

    async def ready(self) -> None:
        """Wait for the READY line, and take the port of the first node from it.

        Raises:
            UnmeasurableError: The server does not get ready.
        """
        loop = asyncio.get_running_loop()
        assert self.process.stdout is not None
        try:
            line = await asyncio.wait_for(loop.run_in_executor(None, self.process.stdout.readline), START_WITHIN_S)
        except TimeoutError:
            raise UnmeasurableError(f"the server was not ready within {START_WITHIN_S} s") from None
        if not line.startswith(READY):
            raise UnmeasurableError(f"the server did not start: {self.last_words()}")
        first = line.removeprefix(READY).split()[0].split(b",")[0]
        self.port = int(first.rpartition(b":")[2])

    def stop(self) -> float:
        """Stop the server as a user would; return the milliseconds until it has ended."""
        start = monotonic()
        if self.process.poll() is not None:
            self.failures.add("the server had ended", f"exit code {self.process.returncode}: {self.last_words()}")
        else:
            self.process.send_signal(signal.SIGTERM)
            try:
                if self.process.wait(STOP_WITHIN_S):
                    self.failures.add("exit code not 0", str(self.process.returncode))
            except TimeoutExpired:
                self.failures.add("deaf to SIGTERM")
                self.process.kill()
                self.process.wait()
        took_ms = (monotonic() - start) * 1000
        tracebacks = self._logged().count(TRACEBACK)
        if tracebacks:
            self.failures.add("a traceback in the server's log", self.last_words(), tracebacks)
        self._log.close()
        if self.process.stdout is not None:
            self.process.stdout.close()
        return took_ms

    def cpu_s(self) -> float | None:
        return cpu_s(self.process.pid)

    def rss_kib(self) -> float | None:
        return rss_kib(self.process.pid)

    def last_words(self) -> str:
        """Return the last line of the log, or of its first traceback, which is the exception."""
        logged = self._logged()
        if TRACEBACK in logged:
            lines = logged.partition(TRACEBACK)[2].splitlines()[1:]
            return next((line for line in lines if line and not line.startswith(" ")), "")
        return logged.strip().rpartition("\n")[2]

    def _logged(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")


def cpu_s(pid: int) -> float | None:
    """Return the CPU seconds of a process, user and system, or None without /proc."""
    try:
        threads = (PROC / str(pid) / "task").glob("*/schedstat")
        spent_ns = [int(thread.read_bytes().split()[0]) for thread in threads]
        if spent_ns:
            return sum(spent_ns) / 1e9
        # a kernel without them reports ticks of 10 ms
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_kib(pid: int) -> float | None:
    """Return the resident memory of a process, or None without /proc."""
    try:
        pages = int((PROC / str(pid) / "statm").read_bytes().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def machine_s() -> tuple[float, float] | None:
    """Return the used and the available CPU seconds of all processors, or None without /proc."""
    try:
        ticks = [int(field) for field in (PROC / "stat").read_bytes().split(b"\n")[0].split()[1:9]]
    except OSError:
        return None
    idle = ticks[3] + ticks[4]
    rate = os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - idle) / rate, sum(ticks) / rate
