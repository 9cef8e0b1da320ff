"""A broker for real clients: `kohort serve`, or the one at KOHORT_CLIENTS_BOOTSTRAP.

With the variable the same tests run against Apache Kafka with the settings of APACHE_KAFKA, to distinguish errors of
the broker from errors of the tests. KOHORT_THROUGH_PROXY=1 puts `kohort proxy` between clients and either.
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
THROUGH_PROXY = bool(os.environ.get("KOHORT_THROUGH_PROXY"))
STOP_WITHIN_S = 60
READY = "READY bootstrap="

APACHE_KAFKA = (
    "group.initial.rebalance.delay.ms=0 group.min.session.timeout.ms=100 group.consumer.min.session.timeout.ms=100 "
    "group.consumer.min.heartbeat.interval.ms=50 group.consumer.heartbeat.interval.ms=1000 "
    "group.share.min.record.lock.duration.ms=1000 group.streams.min.session.timeout.ms=100 "
    "group.streams.min.heartbeat.interval.ms=50"
)  # settings of another broker, so that tests do not wait long

NOT_THROUGH = {
    "test_analyze_secured": "its clients speak TLS to the broker",
    "test_installing": "it has no clients",
    "test_log_files": "it has no clients",
    "test_migration_page": "the page starts its own broker",
    "test_python_blocks": "the pages start their own brokers",
    "test_ready_clients": "their tests start their own brokers",
    "test_records_commands": "it starts clusters of its own",
    "test_restart": "its broker is killed and started again",
    "test_secured": "its clients speak TLS to the broker",
    "test_secured_libraries": "its clients speak TLS to the broker",
    "test_secured_tools": "its clients speak TLS to the broker",
}  # files whose tests do not work through the proxy, with the reason


@contextmanager
def serving(*, nodes: int = 1, host: str = "127.0.0.1", options: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield a broker's bootstrap addresses, and the other values of its ready line; through a proxy if requested."""
    words = "serve", "--profile", "test", "--listen", f"{host}:0", "--nodes", str(nodes), *options
    with _running(*words) as line:
        bootstrap, _, more = line.partition(" ")
        with proxied(bootstrap, host) as reached:
            yield " ".join(filter(None, (reached, more)))


@contextmanager
def proxied(bootstrap: str, host: str = "127.0.0.1") -> Iterator[str]:
    """Yield bootstrap addresses for clients: the cluster's, or those of a proxy."""
    if not THROUGH_PROXY:
        yield bootstrap
        return
    with _running("proxy", bootstrap, "--listen", f"{host}:0") as address:
        yield address


@contextmanager
def _running(*words: str) -> Iterator[str]:
    """Yield the values after READY of a command. It must stop cleanly, and log no errors."""
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            [sys.executable, "-m", "kohort.cli", *words], stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
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
