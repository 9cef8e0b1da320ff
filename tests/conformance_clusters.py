"""Who answers the recorded conversations: `kohort serve` or a real Kafka, with `kohort proxy` before it or without."""

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
LISTENER = re.compile(r"(\w+)://([^,\s]+)")
"""One of several listeners in the line that says READY."""

LISTENERS_APART = 10
"""Ports from one listener of a real Kafka to its next."""

RESTARTED = ("restart", "share-restart")
"""Profiles whose conversations restart the broker."""


@dataclass(frozen=True)
class Setup:
    """A profile, and who is to play it."""

    settings: dict[str, object] = field(default_factory=dict)
    nodes: int = 1
    listeners: tuple[str, ...] = ()
    """The first is where clients begin; none: a plain one."""
    profile: str = ""
    conformance: Path = Path()
    """The folder with the conversations, and what starts a real Kafka."""
    kohort: Path = KOHORT
    on_disk: bool = False
    proxied: bool = False
    kafka_port: int = 0
    """Where a real Kafka is to listen; 0: it is kohort's turn."""
    release: str = CURRENT

    @property
    def restarts(self) -> bool:
        """Whether somebody may restart the broker."""
        return (self.on_disk or self.profile in RESTARTED) and not self.listeners


@dataclass(frozen=True)
class Cluster:
    """What stands there."""

    bootstrap: str
    listeners: dict[str, str] = field(default_factory=dict)
    """Address by name, where the profile has several."""
    restart: str = ""
    """A shell command; empty: nobody restarts it."""


@contextmanager
def standing(setup: Setup, folder: Path) -> Iterator[Cluster]:
    """A cluster with the settings of a profile, for as long as the block lasts. It logs to a folder."""
    with ExitStack() as open_:
        start_it = real_kafka if setup.kafka_port else restartable if setup.restarts else serving
        cluster = open_.enter_context(start_it(setup, folder))
        yield open_.enter_context(behind_proxies(setup, cluster)) if setup.proxied else cluster


@contextmanager
def serving(setup: Setup, folder: Path) -> Iterator[Cluster]:
    """`kohort serve`, its data in memory."""
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
    """`kohort serve` with its data in the folder too, for `tests.restarting`."""
    try:
        yield Cluster(start(folder, serve(setup, folder)), restart=f"{sys.executable} -m tests.restarting {folder}")
    finally:
        kill(folder, signal.SIGTERM)


def serve(setup: Setup, folder: Path) -> list[str]:
    """The command that starts a broker with the settings of a profile, somewhere."""
    command = [str(setup.kohort), "serve", "--log-level", "warning", "--as-kafka", setup.release]
    if setup.listeners:
        config = folder / "server.properties"
        config.write_text(settings_of(setup))
        anywhere = ",".join(f"{name}://127.0.0.1:0" for name in setup.listeners)
        return [*command, "--config", str(config), "--set", f"listeners={anywhere}", "--set", "advertised.listeners="]
    command += ["--nodes", str(setup.nodes)]
    for name, value in setup.settings.items():
        command += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    return command


def settings_of(setup: Setup) -> str:
    """Kafka's own settings for a profile with several listeners, with the certificates that the conversations show."""
    command = kafka(setup, "settings", f"--version={setup.release}.0", "--profile", setup.profile)
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


@contextmanager
def real_kafka(setup: Setup, folder: Path) -> Iterator[Cluster]:
    """A real Kafka."""
    at = f"--port={setup.kafka_port}"
    subprocess.run(
        kafka(setup, "start", at, f"--version={setup.release}.0", "--profile", setup.profile),
        stdout=subprocess.DEVNULL,
        check=True,
        text=True,
    )
    try:
        addresses = [f"127.0.0.1:{setup.kafka_port + LISTENERS_APART * each}" for each in range(len(setup.listeners))]
        restart = shlex.join(kafka(setup, "restart", at)) if setup.profile in RESTARTED else ""
        yield Cluster(
            f"127.0.0.1:{setup.kafka_port}", dict(zip(setup.listeners, addresses, strict=True)), restart=restart
        )
    finally:
        subprocess.run(kafka(setup, "stop", at), check=True)


def kafka(setup: Setup, *words: str) -> list[str]:
    """A command of what starts and stops a real Kafka."""
    return [sys.executable, str(setup.conformance / "kafka"), *words]


@contextmanager
def behind_proxies(setup: Setup, cluster: Cluster) -> Iterator[Cluster]:
    """A proxy before each listener at which clients speak plainly; those of TLS stay as they are."""
    with ExitStack() as open_:

        def before(address: str) -> str:
            return open_.enter_context(proxy(setup, address))

        listeners = {
            name: each if "SSL" in name.split("_") else before(each) for name, each in cluster.listeners.items()
        }
        bootstrap = listeners[setup.listeners[0]] if listeners else before(cluster.bootstrap)
        yield Cluster(bootstrap, listeners, cluster.restart)


@contextmanager
def proxy(setup: Setup, bootstrap: str) -> Iterator[str]:
    """A proxy before a listener; yields its address."""
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
