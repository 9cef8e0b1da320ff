"""The two brokers: a real Kafka from Maven's artifacts, and `kohort serve` with the same settings."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.conformance_clusters import Setup, serving
from tests.differential.codec import read_answer, write_request
from tests.talk.values import Value

SETTINGS: dict[str, object] = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
    "group.consumer.min.session.timeout.ms": 100,
    "group.consumer.min.heartbeat.interval.ms": 50,
    "group.consumer.assignment.interval.ms": 0,
    "group.share.min.session.timeout.ms": 100,
    "group.share.min.heartbeat.interval.ms": 50,
    "group.share.assignment.interval.ms": 0,
    "group.share.min.record.lock.duration.ms": 1000,
    "group.share.delivery.count.limit": 3,
    "group.streams.min.session.timeout.ms": 100,
    "group.streams.min.heartbeat.interval.ms": 50,
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "log.retention.ms": -1,
    "log.retention.check.interval.ms": 86_400_000,
}
"""Settings of the conversations' profiles: no delay before the first join or between assignments.

Some records are of 2023. Retention is off, since each broker would apply it at another time.
"""

READY_WITHIN_S = 60


def why_not(kafka: Path) -> str | None:
    """Return what is missing to start a real Kafka with that script, or None."""
    if not kafka.exists():
        return f"there is no {kafka}, which starts a real Kafka"
    missing = [name for name in ("java", "mvn") if shutil.which(name) is None]
    return f"{' and '.join(missing)} is missing, which a real Kafka needs" if missing else None


@contextmanager
def real_kafka(script: Path, release: str) -> Iterator[str]:
    """Start a real Kafka of a release, such as 4.4, and yield its address."""
    port = _two_free_ports()
    subprocess.run(
        [
            sys.executable,
            script,
            "start",
            f"--version={release}.0",
            f"--port={port}",
            *(f"--set={name}={value}" for name, value in SETTINGS.items()),
        ],
        check=True,
        stdout=subprocess.PIPE,
    )
    try:
        yield f"127.0.0.1:{port}"
    finally:
        subprocess.run([sys.executable, script, "stop", f"--port={port}"], check=True)


def _two_free_ports() -> int:
    """Return a free port whose successor is free too, for Kafka's controller."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


@contextmanager
def kohort(folder: Path, release: str) -> Iterator[str]:
    """Start kohort with its log in that folder, and yield its address."""
    with serving(Setup(SETTINGS, release=release), folder) as cluster:
        yield cluster.bootstrap


def warm_up(address: str) -> None:
    """Wait until groups and transactions have coordinators."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:

        def ask(api: str, version: int, values: Value) -> Value:
            connection.sendall(write_request(api, version, 1, "warming up", values))
            stream = connection.makefile("rb")
            return read_answer(api, version, stream.read(int.from_bytes(stream.read(4), "big")))

        producer = {
            "transactional_id": "warm",
            "transaction_timeout_ms": 60_000,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        for api, version, values in (
            ("FindCoordinator", 3, {"key": "warm", "key_type": 0}),
            ("FindCoordinator", 3, {"key": "warm", "key_type": 1}),
            ("OffsetFetch", 7, {"group_id": "warm", "topics": None}),
            ("InitProducerId", 4, producer),
        ):
            _until_ready(partial(ask, api, version, values))


def _until_ready(ask: Callable[[], Value]) -> None:
    give_up_at = time.monotonic() + READY_WITHIN_S
    while (response := ask())["error_code"] != "NONE":
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"a broker is not ready: {response}")
        time.sleep(0.1)
