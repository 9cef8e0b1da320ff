"""A broker for real clients: `kohort serve`, or whatever KOHORT_CLIENTS_BOOTSTRAP points at.

The variable lets the same tests run against an Apache Kafka (with group.initial.rebalance.delay.ms=0,
group.min.session.timeout.ms=100, group.share.min.record.lock.duration.ms=1000, group.streams.min.session.timeout.ms=100
and group.streams.min.heartbeat.interval.ms=50), to tell a broker's mistake from a test's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

ELSEWHERE = os.environ.get("KOHORT_CLIENTS_BOOTSTRAP", "")
STOP_WITHIN_S = 60
READY = "READY bootstrap="


@contextmanager
def serving(*, nodes: int = 1, host: str = "127.0.0.1", options: tuple[str, ...] = ()) -> Iterator[str]:
    """A broker's bootstrap addresses, and what else its line says.

    At the end it must stop cleanly, and have nothing to say of bugs.
    """
    command = [sys.executable, "-m", "kohort.cli", "serve", "--profile", "test"]
    command += ["--listen", f"{host}:0", "--nodes", str(nodes), *options]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith(READY), f"not ready: {line!r} {_read(log)}"
            yield line.removeprefix(READY).strip()
        finally:
            process.terminate()
            try:
                process.wait(STOP_WITHIN_S)
            finally:
                process.kill()
        assert process.returncode == 0
        mistakes = [line for line in _read(log).splitlines() if "[error" in line or "Traceback" in line]
        assert not mistakes


def _read(log: IO[str]) -> str:
    log.seek(0)
    return log.read()
