"""The recipe for testcontainers, with processes of this machine in the place of an engine and its containers."""

from __future__ import annotations

import os
import re
import runpy
import socket
import subprocess
import sys
import threading
import types
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kohort.cli.watch.client import Broker
from kohort.protocol.messages.metadata import MetadataRequest

ROOT = Path(__file__).parent.parent
RECIPE = ROOT / "docker" / "testcontainers" / "kohort_container.py"


class Container:
    """As testcontainers' DockerContainer, as far as the recipe uses it. A container's /dev/shm is a folder here.

    Each of its ports is mapped: what connects to the mapped one is passed on to where the process listens.
    """

    folder: Path

    def __init__(self, image: str) -> None:
        self.image = image
        self.env: dict[str, str] = {}
        self.lines: list[str] = []
        self.said = threading.Event()
        self._mapped: dict[int, socket.socket] = {}
        self._entrypoint: list[str] = []
        self._process: subprocess.Popen[str] | None = None

    def with_exposed_ports(self, *ports: int) -> None:
        self._mapped = {port: socket.create_server(("127.0.0.1", 0)) for port in ports}

    def with_env(self, name: str, value: str) -> None:
        self.env[name] = value

    def with_kwargs(self, entrypoint: list[str]) -> None:
        self._entrypoint = entrypoint

    def get_container_host_ip(self) -> str:
        return "localhost"

    def get_exposed_port(self, port: int) -> int:
        assert self._process is not None, "a mapped port is known when the container runs"
        found: int = self._mapped[port].getsockname()[1]
        return found

    def start(self) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        there = os.environ | self.env | {"PATH": path, "KOHORT_READY_FILE": str(self.folder / "ready")}
        command = [self._inside(word) for word in self._entrypoint]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=there)
        threading.Thread(target=self._listen, daemon=True).start()

    def exec(self, command: list[str]) -> None:
        subprocess.run([self._inside(word) for word in command], check=True)

    def stop(self) -> int:
        """As an engine: SIGTERM for the container's first process. Returns its exit code."""
        assert self._process is not None
        self._process.terminate()
        code = self._process.wait(60)
        for listener in self._mapped.values():
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        return code

    def _inside(self, word: str) -> str:
        return re.sub(r"0\.0\.0\.0:\d+", "127.0.0.1:0", word.replace("/dev/shm", str(self.folder)))

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)
            self.said.set()
            kafka, control = (self.folder / "ready").read_text(), line.rpartition(" control=")[2]
            for port, where in ((9092, kafka), (9099, control)):
                threading.Thread(target=pass_on, args=(self._mapped[port], where.strip()), daemon=True).start()


def pass_on(listener: socket.socket, where: str) -> None:
    """Connects to the other address whoever connects, until the listener is closed."""
    host, _, port = where.rpartition(":")
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            server = socket.create_connection((host, int(port)))
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=copy, args=(one, other), daemon=True).start()


def copy(one: socket.socket, other: socket.socket) -> None:
    """What is said to one is said to the other, until it hangs up."""
    with suppress(OSError):
        while data := one.recv(1 << 16):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)


def wait_for_logs(container: Container, text: str, timeout: float) -> None:
    assert container.said.wait(timeout)
    assert text in container.lines[0]


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The recipe's class, made on ours."""
    monkeypatch.setattr(Container, "folder", tmp_path, raising=False)
    modules: dict[str, dict[str, object]] = {
        "testcontainers": {},
        "testcontainers.core": {},
        "testcontainers.core.container": {"DockerContainer": Container},
        "testcontainers.core.waiting_utils": {"wait_for_logs": wait_for_logs},
    }
    for name, words in modules.items():
        module = types.ModuleType(name)
        vars(module).update(words)
        monkeypatch.setitem(sys.modules, name, module)
    return runpy.run_path(str(RECIPE))["KohortContainer"]


@pytest.mark.long
async def test_clients_are_told_the_mapped_port(recipe: Any) -> None:
    kafka = recipe("kohort", "--set", "group.max.size=2")
    kafka.start()
    try:
        host, _, port = kafka.bootstrap.partition(":")
        broker = Broker(host, int(port))
        about = await broker.ask("metadata", MetadataRequest(topics=()))
        broker.close()
        assert [(each.host, each.port) for each in about.brokers] == [(host, int(port))]
        assert kafka.lines[0].startswith(f"READY bootstrap={kafka.bootstrap} control=")
        asked = [sys.executable, "-m", "kohort.cli", "ctl", "groups", "list"]
        control = os.environ | {"KOHORT_CONTROL": kafka.control, "KOHORT_CONTROL_TOKEN": kafka.token}
        done = subprocess.run(asked, env=control, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    finally:
        assert kafka.stop() == 0, "the shell has given its place to kohort, which hears the signal"


def test_examples_wait_for_advertised_address(recipe: Any) -> None:
    java = RECIPE.with_name("KohortContainer.java").read_text()
    python = RECIPE.read_text()
    for words in ("--profile", "--listen", "--advertise", "--control-host", "KOHORT_CONTROL_TOKEN", "READY bootstrap="):
        assert words in java
        assert words in python
