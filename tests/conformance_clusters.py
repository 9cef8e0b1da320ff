"""Clusters for recorded conversations: `kohort serve` or a real Kafka, with or without `kohort proxy`."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kohort.protocol.releases import CURRENT
from tests.restarting import READY, kill, start

KOHORT = Path(sys.executable).parent / "kohort"
LISTENER = re.compile(r"(\w+)://([^,\s]+)")  # one of several listeners in the line that begins with READY
PORT_STEP = 10  # distance of the ports of a real Kafka's listeners
RESTARTED = ("restart", "share-restart")  # profiles whose conversations restart the broker


@dataclass(frozen=True)
class Setup:
    """A profile and its cluster."""

    settings: dict[str, object] = field(default_factory=dict)
    nodes: int = 1
    listeners: tuple[str, ...] = ()  # the first one is for bootstrapping; none: one plain listener
    profile: str = ""
    conformance: Path = Path()  # folder with the conversations, and with the command that starts a real Kafka
    kohort: Path = KOHORT
    on_disk: bool = False
    proxied: bool = False
    kafka_port: int = 0  # port of a real Kafka; 0: kohort
    release: str = CURRENT

    @property
    def restarts(self) -> bool:
        """Whether conversations may restart the broker."""
        return (self.on_disk or self.profile in RESTARTED) and not self.listeners


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    bootstrap: str
    listeners: dict[str, str] = field(default_factory=dict)  # address by name, if the profile has several
    restart: str = ""  # shell command; empty: it cannot be restarted


@contextmanager
def running(setup: Setup, folder: Path) -> Iterator[Cluster]:
    """Run a cluster with the settings of a profile during the block. Its log is written to the folder."""
    with ExitStack() as open_:
        start_it = real_kafka if setup.kafka_port else restartable if setup.restarts else serving
        cluster = open_.enter_context(start_it(setup, folder))
        yield open_.enter_context(behind_proxies(setup, cluster)) if setup.proxied else cluster


@contextmanager
def serving(setup: Setup, folder: Path) -> Iterator[Cluster]:
    """Run `kohort serve` with data in memory."""
    command = serve(setup, folder) + ([] if setup.listeners else ["--listen", "127.0.0.1:0"])
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout
    try:
        line = process.stdout.readline()
        ready = READY.match(line)
        if not ready:
            sys.exit(f"the broker did not start: {' '.join(command)}\n{(folder / 'log').read_text()}")
        yield Cluster(ready[1], dict(LISTENER.findall(line)) if setup.listeners else {})
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def restartable(setup: Setup, folder: Path) -> Iterator[Cluster]:
    """Run `kohort serve` with its data in the folder, for `tests.restarting`."""
    try:
        yield Cluster(start(folder, serve(setup, folder)), restart=f"{sys.executable} -m tests.restarting {folder}")
    finally:
        kill(folder, signal.SIGTERM)


def serve(setup: Setup, folder: Path) -> list[str]:
    """Return the command that starts a broker with the settings of a profile on any port."""
    command = [str(setup.kohort), "serve", "--log-level", "warning", "--as-kafka", setup.release]
    if setup.listeners:
        config = folder / "server.properties"
        config.write_text(settings_of(setup))
        listeners = ",".join(f"{name}://127.0.0.1:0" for name in setup.listeners)
        return [*command, "--config", str(config), "--set", f"listeners={listeners}", "--set", "advertised.listeners="]
    command += ["--nodes", str(setup.nodes)]
    for name, value in setup.settings.items():
        command += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    return command


def settings_of(setup: Setup) -> str:
    """Return Kafka's settings for a profile with several listeners, with the certificates of the conversations."""
    command = kafka(setup, "settings", f"--version={setup.release}.0", "--profile", setup.profile)
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


@contextmanager
def real_kafka(setup: Setup, folder: Path) -> Iterator[Cluster]:
    """Run a real Kafka."""
    port = f"--port={setup.kafka_port}"
    subprocess.run(
        kafka(setup, "start", port, f"--version={setup.release}.0", "--profile", setup.profile),
        stdout=subprocess.DEVNULL,
        check=True,
        text=True,
    )
    try:
        ports = range(setup.kafka_port, setup.kafka_port + PORT_STEP * len(setup.listeners), PORT_STEP)
        addresses = [f"127.0.0.1:{number}" for number in ports]
        restart = shlex.join(kafka(setup, "restart", port)) if setup.profile in RESTARTED else ""
        yield Cluster(
            f"127.0.0.1:{setup.kafka_port}", dict(zip(setup.listeners, addresses, strict=True)), restart=restart
        )
    finally:
        subprocess.run(kafka(setup, "stop", port), check=True)


def kafka(setup: Setup, *words: str) -> list[str]:
    """Return a command that starts or stops a real Kafka."""
    return [sys.executable, str(setup.conformance / "kafka"), *words]


@contextmanager
def behind_proxies(setup: Setup, cluster: Cluster) -> Iterator[Cluster]:
    """Run a proxy for each listener without TLS."""
    with ExitStack() as open_:

        def proxied(address: str) -> str:
            return open_.enter_context(proxy(setup, address))

        listeners = {
            name: address if "SSL" in name.split("_") else proxied(address)
            for name, address in cluster.listeners.items()
        }
        bootstrap = listeners[setup.listeners[0]] if listeners else proxied(cluster.bootstrap)
        yield Cluster(bootstrap, listeners, cluster.restart)


@contextmanager
def proxy(setup: Setup, bootstrap: str) -> Iterator[str]:
    """Run a proxy for a listener. Yield its address."""
    command = [str(setup.kohort), "proxy", bootstrap, "--log-level", "error"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        ready = READY.match(process.stdout.readline())
        if not ready:
            sys.exit(f"the proxy did not start: {' '.join(command)}")
        try:
            yield ready[1]
        finally:
            process.terminate()
