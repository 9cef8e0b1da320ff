"""All tested client libraries: their commands, their features, and their installation.

The Python libraries are installed with the tests. The others are small programs in folders next to this file, built at
their first use with the tools of the machine (Maven, Go, npm, Cargo), into a cache outside of the project. If a tool or
a registry is missing, their tests are skipped with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from kohort.demo.libraries import LIBRARIES as PYTHON_LIBRARIES
from tests.support.lacking import lacks

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kohort-clients"
BUILD_TIMEOUT_S = 1_200  # librdkafka is compiled for Rust, which takes minutes on two busy cores


class Missing(Exception):
    """The library cannot run here; the text contains the reason."""


@dataclass(frozen=True)
class Library:
    """One client library."""

    name: str
    language: str
    command: Callable[[], list[str]]  # command of a worker without its role; raises Missing
    static: bool = True  # whether it supports static membership (KIP-345)
    cooperative: bool = True  # whether it supports cooperative rebalancing (KIP-429)
    generations: bool = True  # whether it reports the generation of records
    consumer_protocol: bool = False  # whether it supports the consumer protocol (KIP-848)
    steps_out: bool = True  # whether its static members leave a group of that protocol temporarily, as Kafka expects


def in_python(name: str) -> Library:
    """Return one of the libraries that the demo uses."""

    def command() -> list[str]:
        return [sys.executable, "-m", "kohort.demo.workers.consuming"]

    return Library(name, "Python", command, cooperative=name != "aiokafka", consumer_protocol=name == "confluent-kafka")


def java(version: str, *, static: bool = True, cooperative: bool = True) -> Library:
    """Return Kafka's own client of a version."""

    def command() -> list[str]:
        folder = fresh_folder(f"java-{version}", HERE / "java")
        jars = folder / "jars"
        if not (folder / "built").exists():
            fetched = f"-DoutputDirectory={jars}", f"-Dkafka.version={version}"
            run(["mvn", "-q", "-B", "dependency:copy-dependencies", *fetched], HERE / "java")
            run(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(folder), "Worker.java"], HERE / "java")
            (folder / "built").touch()
        return ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}:{jars}/*", "Worker"]

    return Library(
        f"kafka-clients {version}",
        "Java",
        command,
        static,
        cooperative,
        generations=version >= "2.5",
        consumer_protocol=version >= "4.0",
    )


def go(name: str, folder: str, *, cooperative: bool, consumer_protocol: bool = False) -> Library:
    def command() -> list[str]:
        built = fresh_folder(folder, HERE / folder) / "worker"
        if not built.exists():
            run(["go", "build", "-o", str(built), "."], HERE / folder)
        return [str(built)]

    # franz-go 1.22.2 leaves out the group instance id, which Kafka and kohort refuse (INVALID_REQUEST).
    return Library(
        name, "Go", command, cooperative=cooperative, consumer_protocol=consumer_protocol, steps_out=name != "franz-go"
    )


def kafkajs() -> list[str]:
    folder = fresh_folder("kafkajs", HERE / "kafkajs")
    if not (folder / "node_modules").exists():
        for name in ("package.json", "package-lock.json", "main.js"):
            shutil.copy(HERE / "kafkajs" / name, folder)
        run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], folder)
    return [tool("node"), str(folder / "main.js")]


def http_examples() -> Path:
    """Return a copy of the examples in Node.js with the packages that they need, so that the sources stay unchanged."""
    source = HERE.parent.parent / "examples" / "http"
    folder = fresh_folder("http-examples", source, ("package-lock.json",))
    for path in source.glob("*.js*"):
        shutil.copy(path, folder)
    if not (folder / "node_modules").exists():
        run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], folder)
    return folder


def rust_rdkafka() -> list[str]:
    folder = fresh_folder("rust", HERE / "rust_rdkafka")
    built = folder / "release" / "worker"
    if not built.exists():
        run(["cargo", "build", "--release", "--quiet", "--target-dir", str(folder)], HERE / "rust_rdkafka")
    return [str(built)]


PYTHON = [in_python(name) for name in PYTHON_LIBRARIES]
OTHERS = [
    java("4.4.0"),
    java("2.8.2"),
    java("1.1.1", static=False, cooperative=False),
    go("franz-go", "franz_go", cooperative=True, consumer_protocol=True),
    go("sarama", "sarama", cooperative=False),
    Library("kafkajs", "Node.js", kafkajs, static=False, cooperative=False),
    Library("rdkafka (Rust)", "Rust", rust_rdkafka, generations=False, consumer_protocol=True),
]
BY_NAME = {library.name: library for library in (*PYTHON, *OTHERS)}


@cache
def command_of(name: str) -> tuple[str, ...]:
    """Return the command of a library's worker, built if necessary.

    Raises:
        Missing: It cannot run here.
    """
    return tuple(BY_NAME[name].command())


def usable(name: str, command: Callable[[str], object] = command_of) -> str:
    """Return the library's name, or skip the test with the reason if it cannot run."""
    try:
        command(name)
    except Missing as reason:
        lacks("program", f"{name}: {reason}")
    return name


def fresh_folder(name: str, source: Path, only: tuple[str, ...] = ()) -> Path:
    """Return a build folder for the current state of a program's source, or of some of its files."""
    digest = sha256()
    for path in sorted(source.rglob("*")):
        if path.is_file() and "node_modules" not in path.parts and (not only or path.name in only):
            digest.update(path.read_bytes())
    folder = CACHE / f"{name}-{digest.hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run(command: list[str], folder: Path) -> None:
    command[0] = tool(command[0])
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise Missing(f"{' '.join(command[:2])} took more than {BUILD_TIMEOUT_S} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(f"{' '.join(command[:2])} failed: {lines[-1] if lines else 'without a word'}")


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Missing(f"{name} is not installed")
    return found
