"""`kohort proxy` as a process: its output and exit codes."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kohort.broker.runtime.run import raise_file_limit
from kohort.testing import Cluster
from tests.support.wires import Blocking

KOHORT = Path(sys.executable).parent / "kohort"

pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]


def said(*words: str) -> tuple[int, str]:
    """Exit code and stderr of a command line that is refused."""
    done = subprocess.run([KOHORT, "proxy", *words], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr.strip()


@contextmanager
def running(*words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Yield a ready proxy and its port."""
    with subprocess.Popen([KOHORT, "proxy", *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready.startswith("READY bootstrap=127.0.0.1:"), ready
        try:
            yield process, int(ready.rpartition(":")[2])
        finally:
            process.kill()


def test_clients_connect_and_ctrl_c_stops() -> None:
    with Cluster() as kafka, running(kafka.bootstrap) as (process, port):
        wire = Blocking(port)
        (node,) = wire.asks("metadata", 12, topics=()).brokers
        assert str(node.port) not in kafka.bootstrap
        wire.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_thousand_connections() -> None:
    raise_file_limit()
    with Cluster() as kafka, running(kafka.bootstrap) as (_, port):
        wires = [Blocking(port) for _ in range(1_000)]
        for _ in range(2):
            for wire in wires:
                answer = wire.asks("heartbeat", 4, group_id="g", generation_id=1, member_id="m")
                assert answer.error_code.name == "unknown_member_id"
        for wire in wires:
            wire.close()


def test_unreachable_cluster_message() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert said(f"127.0.0.1:{port}") == (
        1,
        f"kohort: 127.0.0.1:{port}: nothing listens there; is this the broker's address, and does it run?",
    )


def test_invalid_address_message() -> None:
    assert said("nowhere") == (
        2,
        "kohort: nowhere is not an address; expected HOST:PORT or PORT, as in localhost:9092, [::1]:9092 or 9092",
    )
    assert said("127.0.0.1:9092", "--listen", "here")[0] == 2


def test_taken_port_message() -> None:
    with Cluster() as kafka:
        code, sentence = said(kafka.bootstrap, "--listen", kafka.bootstrap)
        assert (code, sentence.count("\n")) == (2, 0)
        assert "is in use; stop the process that listens there, or use another port" in sentence


def test_nodes_use_chosen_ports() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Cluster(nodes=3) as kafka, running(kafka.bootstrap, "--node-port", f"2={port}") as (_, begin):
        wire = Blocking(begin)
        ports = {node.node_id: node.port for node in wire.asks("metadata", 12, topics=()).brokers}
        assert ports[2] == port
        assert len({*ports.values(), begin}) == 4
        wire.close()


def test_taken_node_port_message() -> None:
    with Cluster() as kafka:
        code, sentence = said(kafka.bootstrap, "--node-port", f"1={kafka.bootstrap.rpartition(':')[2]}")
        assert (code, sentence.count("\n")) == (2, 0)
        assert "is in use" in sentence
        code, sentence = said(kafka.bootstrap, "--node-port", "1")
        assert (code, sentence.partition(";")[0]) == (
            2,
            "kohort: expected NODE=PORT, as in 2=19094, or NODES=PORT, as in 0-5=19093",
        )


def test_rejected_login_message(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    with Cluster(security="SASL_PLAINTEXT") as kafka:
        settings = kafka.client_config("alice", library="java", mechanism="PLAIN")
        lines = [f"{name}={value}".replace("alice-secret", "wrong") for name, value in settings.items()]
        file.write_text("\n".join(lines))
        code, sentence = said(kafka.bootstrap, "--command-config", str(file))
        assert code == 1
        assert sentence.startswith(f"kohort: {kafka.bootstrap}: the login failed: Authentication failed")


def test_control_address_offers_faults() -> None:
    import httpx

    words = ("--control", "127.0.0.1:0")
    with (
        Cluster() as kafka,
        subprocess.Popen([KOHORT, "proxy", kafka.bootstrap, *words], stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        try:
            port, control = int(ready[1].rpartition(":")[2]), ready[2].removeprefix("control=")
            rule = {"match": {"api": "Heartbeat"}, "do": "error", "with": {"name": "FENCED_INSTANCE_ID"}}
            assert httpx.post(f"http://{control}/faults", json=rule).status_code == 201
            wire = Blocking(port)
            answer = wire.asks("heartbeat", 4, group_id="g", generation_id=1, member_id="m")
            assert answer.error_code.name == "fenced_instance_id"
            subprocess.run([KOHORT, "ctl", "reset", "--control", control], check=True, timeout=60)
            answer = wire.asks("heartbeat", 4, group_id="g", generation_id=1, member_id="m")
            assert answer.error_code.name == "unknown_member_id"
            wire.close()
        finally:
            process.kill()


def test_public_control_address_requires_token() -> None:
    with Cluster() as kafka:
        code, sentence = said(kafka.bootstrap, "--control", "0.0.0.0:0")
    assert code == 2
    assert "could control this proxy; set a token with KOHORT_CONTROL_TOKEN" in sentence
