"""Kafka Connect, distributed: protocol type `connect`, incremental cooperative rebalancing (KIP-415)."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.clients.kafkas_own import class_path, command, jars
from tests.clients.libraries import Missing
from tests.clients.processes import Process, eventually
from tests.support.lacking import lacks

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(400)]

CONNECTORS = 6
START_S = 120  # timeout for three Java servers that start at once on two cores
CALM_S = 2.0
DELAY_MS = 8_000  # `scheduled.rebalance.max.delay.ms`: how long a lost worker's tasks wait for its return


class Workers:
    """A Connect cluster."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.group = f"connect-{uuid4().hex[:8]}"
        self._bootstrap = bootstrap
        self._folder = folder
        self.running: dict[int, Process] = {}  # by the port of its REST interface

    def start(self) -> int:
        """Start a worker and return its port, which answers a while later."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        settings = {
            "bootstrap.servers": self._bootstrap,
            "group.id": self.group,
            "listeners": f"http://127.0.0.1:{port}",
            "rest.advertised.host.name": "127.0.0.1",
            "plugin.path": str(jars()),
            "plugin.discovery": "service_load",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "scheduled.rebalance.max.delay.ms": DELAY_MS,
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 500,
            "offset.storage.partitions": 3,
            "status.storage.partitions": 1,
            **{
                f"{kind}.storage.{what}": value
                for kind in ("config", "offset", "status")
                for what, value in (("topic", f"{self.group}-{kind}"), ("replication.factor", 1))
            },
        }
        path = self._folder / f"worker-{port}.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self.running[port] = Process(command("connect-distributed", str(path)))
        return port

    def crash(self, port: int) -> None:
        """kill -9."""
        self.running.pop(port).crash()

    def create(self, name: str) -> None:
        """Create a connector with one task."""
        self._ask(
            "PUT",
            f"/connectors/{name}/config",
            {
                "connector.class": "LineConnector",
                "tasks.max": "1",
                "topic": f"{self.group}-lines",
            },
        )

    def placement(self) -> dict[str, str]:
        """Return the worker of every running connector and task."""
        found: dict[str, str] = {}
        for name, told in self._ask("GET", "/connectors?expand=status").items():
            status = told["status"]
            for what, each in [(name, status["connector"]), *((f"{name}/{t['id']}", t) for t in status["tasks"])]:
                if each["state"] == "RUNNING":
                    found[what] = each["worker_id"]
        return found

    def until_running_on(self, *ports: int) -> dict[str, str]:
        """Wait until every connector and task runs on just these workers, and does not move."""
        wanted = {f"127.0.0.1:{port}" for port in ports}
        known: dict[str, str] = {}
        since = time.monotonic()

        def so() -> bool:
            nonlocal known, since
            try:
                placement = self.placement()
            except OSError:
                return False
            if placement != known:
                known, since = placement, time.monotonic()
            complete = len(placement) == 2 * CONNECTORS and set(placement.values()) == wanted
            return complete and time.monotonic() - since > CALM_S

        eventually(so, f"everything runs on {wanted}", START_S)
        return known

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        port = next(iter(self.running))
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def answers(self) -> bool:
        """Return whether the first worker answers."""
        try:
            self._ask("GET", "/connectors")
        except OSError:
            return False
        return True


@pytest.fixture
def workers(bootstrap: str, tmp_path: Path) -> Iterator[Workers]:
    """None yet."""
    try:
        class_path()
    except Missing as reason:
        lacks("program", f"Kafka Connect: {reason}")
    made = Workers(bootstrap, tmp_path)
    yield made
    for process in made.running.values():
        process.crash()


def test_lost_worker_tasks_move_after_delay(workers: Workers) -> None:
    ports = [workers.start()]  # the first leads; a new leader would not know whose tasks are missing
    eventually(workers.answers, "the first worker answers", START_S)
    ports += [workers.start(), workers.start()]
    for number in range(CONNECTORS):
        workers.create(f"lines-{number}")
    before = workers.until_running_on(*ports)
    assert max(Counter(before.values()).values()) <= 5, "twelve pieces of work are spread over three workers"

    lost = ports.pop()
    workers.crash(lost)
    at = time.monotonic()
    after = workers.until_running_on(*ports)
    assert time.monotonic() - at > DELAY_MS / 1000, "its tasks waited for it to come back"
    kept = {what: worker for what, worker in before.items() if worker != f"127.0.0.1:{lost}"}
    assert {what: after[what] for what in kept} == kept, "what was running elsewhere was left alone"

    ports.append(workers.start())
    again = workers.until_running_on(*ports)
    moved = {what for what in after if after[what] != again[what]}
    assert {again[what] for what in moved} == {f"127.0.0.1:{ports[-1]}"}, "nothing moved but to the newcomer"
