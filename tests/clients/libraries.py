"""Every client library that is tried: what runs it, what it can do, and how it comes here.

The Python ones are installed with the tests. The others are small programs in folders beside this file, built when they
are first asked for with what the machine has (Maven, Go, npm, Cargo), into a cache outside of the project. Where a tool
or a registry is missing they are skipped, with that as the reason.
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
BUILD_TIMEOUT_S = 1_200
"""librdkafka is compiled from its source for Rust; on two busy cores that takes minutes."""


class Missing(Exception):
    """It cannot run here; the text says why."""


@dataclass(frozen=True)
class Library:
    """One client library."""

    name: str
    language: str
    command: Callable[[], list[str]]
    """What runs a worker, but for the part it plays. Raises Missing."""
    static: bool = True
    """Whether it knows static membership (KIP-345)."""
    cooperative: bool = True
    """Whether it knows cooperative rebalancing (KIP-429)."""
    generations: bool = True
    """Whether it tells the generation of what it reads."""
    consumer_protocol: bool = False
    """Whether it knows the consumer protocol (KIP-848)."""
    steps_out: bool = True
    """Whether its static members step out of a group of that protocol as Kafka demands it."""


def in_python(name: str) -> Library:
    """One of those that the demo plays with."""

    def command() -> list[str]:
        return [sys.executable, "-m", "kohort.demo.workers.consuming"]

    return Library(name, "Python", command, cooperative=name != "aiokafka", consumer_protocol=name == "confluent-kafka")


def java(version: str, *, static: bool = True, cooperative: bool = True) -> Library:
    """Kafka's own client, of a version."""

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
    """A library in Go."""

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
    """The one in JavaScript that has no native part."""
    folder = fresh_folder("kafkajs", HERE / "kafkajs")
    if not (folder / "node_modules").exists():
        for name in ("package.json", "package-lock.json", "main.js"):
            shutil.copy(HERE / "kafkajs" / name, folder)
        run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], folder)
    return [tool("node"), str(folder / "main.js")]


def http_examples() -> Path:
    """The examples in Node.js, beside the packages that they need. Copied: nothing is installed among the sources."""
    source = HERE.parent.parent / "examples" / "http"
    folder = fresh_folder("http-examples", source, ("package-lock.json",))
    for path in source.glob("*.js*"):
        shutil.copy(path, folder)
    if not (folder / "node_modules").exists():
        run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], folder)
    return folder


def rust_rdkafka() -> list[str]:
    """librdkafka, as Rust has it: compiled from the source that the crate brings."""
    folder = fresh_folder("rust", HERE / "rust_rdkafka")
    built = folder / "release" / "worker"
    if not built.exists():
        run(["cargo", "build", "--release", "--quiet", "--target-dir", str(folder)], HERE / "rust_rdkafka")
    return [str(built)]


PYTHON = [in_python(name) for name in PYTHON_LIBRARIES]
OTHERS = [
    java("4.3.0"),
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
    """What runs a library's worker, built if need be. Raises Missing."""
    return tuple(BY_NAME[name].command())


def usable(name: str, command: Callable[[str], object] = command_of) -> str:
    """The library's name; skips the test, with the reason, where it cannot run. `command`: finds what runs it."""
    try:
        command(name)
    except Missing as reason:
        lacks("program", f"{name}: {reason}")
    return name


def fresh_folder(name: str, source: Path, only: tuple[str, ...] = ()) -> Path:
    """Where a program is built: another folder for each state of its source, or of some files of it."""
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
