"""`kohort health` at listeners of each kind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kohort.cli.commands import main
from kohort.testing import Cluster
from kohort.testing.secured import Secured

pytestmark = pytest.mark.timeout(180)


def health(*words: str) -> Result:
    # Whether a busy machine answers within the default of 2 s is not what these tests ask.
    return CliRunner().invoke(main, ["health", "--timeout", "60", *words])


@pytest.mark.parametrize("security", ["SSL", "SASL_SSL", "SASL_PLAINTEXT"])
def test_secured_listener_with_credentials_is_healthy(security: str, tmp_path: Path) -> None:
    with Cluster(security=security) as kafka:
        config = tmp_path / "alice.properties"
        said = kafka.client_config("alice", library="java")
        config.write_text("".join(f"{name}={value}\n" for name, value in said.items() if name != "bootstrap.servers"))
        found = health(kafka.bootstrap, "--command-config", str(config))
        assert (found.exit_code, found.stderr) == (0, "")
        assert f"{kafka.bootstrap} serves " in found.stdout
        if security.startswith("SASL_"):
            config.write_text(config.read_text().replace("alice-secret", "wrong"))
            refused = health(kafka.bootstrap, "--command-config", str(config))
            assert (refused.exit_code, refused.stdout) == (1, "")
            assert refused.stderr.startswith(f"{kafka.bootstrap} does not respond: the login failed: ")


@pytest.mark.parametrize("security", ["SSL", "SASL_SSL"])
def test_tls_listener_is_detected(security: str) -> None:
    with Cluster(security=security) as kafka:
        refused = health(kafka.bootstrap)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert refused.stderr == (
            f"{kafka.bootstrap} does not respond: it requires TLS; give --command-config FILE with "
            "security.protocol=SSL, or SASL_SSL and a login\n"
        )


def test_plain_sasl_listener_is_healthy() -> None:
    with Cluster(security="SASL_PLAINTEXT") as kafka:
        assert health(kafka.bootstrap).exit_code == 0


def test_silent_disconnect_is_unhealthy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up_twice() -> None:
            for _ in range(2):  # the question, and the greeting that finds out about TLS
                listener.accept()[0].close()

        threading.Thread(target=hang_up_twice, daemon=True).start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        refused = health(address)
    assert refused.exit_code == 1
    assert refused.stderr.startswith(f"{address} does not respond: ")
    assert "TLS" not in refused.stderr


def test_tls_to_plain_listener_explains(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=SSL\n")
    with Cluster() as kafka:
        refused = health(kafka.bootstrap, "--command-config", str(config))
    assert refused.exit_code == 1
    assert "security.protocol=" in refused.stderr  # not a TLS response, or no response if the broker closed first


def test_invalid_config_file_is_usage_error(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=TLS\n")
    refused = health("127.0.0.1:1", "--command-config", str(config))
    assert (refused.exit_code, refused.stdout) == (2, "")
    expected = f"kohort: {config}: security.protocol=TLS: it is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL\n"
    assert refused.stderr == expected


def test_broker_writes_health_address(tmp_path: Path) -> None:
    file = tmp_path / "ready"
    missing = health("--ready-file", str(file))
    assert (missing.exit_code, missing.stderr) == (
        1,
        f"kohort: no broker is ready: {file}: No such file or directory\n",
    )
    command = [sys.executable, "-m", "kohort.cli", "serve", "--listen", "0.0.0.0:0", "--nodes", "2"]
    command += ["--advertise", "nowhere.test:1", "--ready-file", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith("READY bootstrap=nowhere.test:1,nowhere.test:2")
        found = health("--ready-file", str(file))
        broker.terminate()
    assert (found.exit_code, found.stderr) == (0, "")
    assert [line.startswith("127.0.0.1:") for line in found.stdout.splitlines()] == [True, True], (
        "each node, at the address that it listens on"
    )
    assert not file.exists()


def test_plain_listener_of_secured_broker(tmp_path: Path) -> None:
    file, made = tmp_path / "ready", Secured("SSL", tmp_path / "made")
    settings = made.settings("127.0.0.1:0") | {
        "listeners": "SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "listener.security.protocol.map": "SSL:SSL,PLAINTEXT:PLAINTEXT",
    }
    (tmp_path / "server.properties").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    command = [sys.executable, "-m", "kohort.cli", "serve", "--config", str(tmp_path / "server.properties")]
    environment = os.environ | {"KOHORT_READY_FILE": str(file)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as broker:
        assert broker.stdout is not None
        ready = broker.stdout.readline()
        told = file.read_text().strip()
        broker.terminate()
    assert f"PLAINTEXT://{told}" in ready


def test_unwritable_ready_file_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "no" / "such" / "folder"
    command = [sys.executable, "-m", "kohort.cli", "serve", "--listen", "127.0.0.1:0", "--ready-file", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith("READY bootstrap=127.0.0.1:")
        broker.terminate()
        _, logged = broker.communicate(timeout=60)
    assert broker.returncode == 0
    assert f"{file} cannot be written: No such file or directory; the broker runs without it" in logged
