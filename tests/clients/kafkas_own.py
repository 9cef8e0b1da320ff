"""Kafka's own programs: its command-line tools, Connect and Streams, as Maven has them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from tests.clients.libraries import HERE, fresh_folder, run, tool

SOURCE = HERE / "kafka"
TIMEOUT_S = 180
JAVA = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"]  # options for short-lived programs on a busy machine

TOOLS = "org.apache.kafka.tools."
CLASSES = {
    "kafka-topics": TOOLS + "TopicCommand",
    "kafka-groups": TOOLS + "GroupsCommand",
    "kafka-consumer-groups": TOOLS + "consumer.group.ConsumerGroupCommand",
    "kafka-share-groups": TOOLS + "consumer.group.ShareGroupCommand",
    "kafka-streams-groups": TOOLS + "streams.StreamsGroupCommand",
    "kafka-console-share-consumer": TOOLS + "consumer.ConsoleShareConsumer",
    "kafka-features": TOOLS + "FeatureCommand",
    "kafka-console-producer": TOOLS + "ConsoleProducer",
    "kafka-console-consumer": TOOLS + "consumer.ConsoleConsumer",
    "kafka-transactions": TOOLS + "TransactionsCommand",
    "kafka-verifiable-consumer": TOOLS + "VerifiableConsumer",
    "kafka-verifiable-producer": TOOLS + "VerifiableProducer",
    "kafka-get-offsets": TOOLS + "GetOffsetShell",
    "kafka-broker-api-versions": TOOLS + "BrokerApiVersionsCommand",
    "kafka-configs": TOOLS + "ConfigCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-dump-log": TOOLS + "DumpLogSegments",
    "connect-distributed": "org.apache.kafka.connect.cli.ConnectDistributed",
    "CopyingStream": "CopyingStream",
    "CountingStream": "CountingStream",
    "SharingConsumers": "SharingConsumers",
}  # main classes of Kafka's shell scripts
OURS = ("CopyingStream.java", "CountingStream.java", "LineConnector.java", "SharingConsumers.java")


@cache
def class_path() -> str:
    """Return Kafka's jars and the compiled test programs.

    Raises:
        libraries.Missing: They cannot be built here.
    """
    folder = fresh_folder("kafka", SOURCE)
    jars = folder / "jars"
    if not (folder / "built").exists():
        run(["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], SOURCE)
        run(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(folder), *OURS], SOURCE)
        (folder / "built").touch()
    return f"{folder}:{jars}/*"


def jars() -> Path:
    return Path(class_path().rpartition(":")[2]).parent


def command(name: str, *arguments: str) -> list[str]:
    """Return the command of a program.

    Raises:
        libraries.Missing: It cannot run here.
    """
    return [tool("java"), *JAVA, "-cp", class_path(), CLASSES[name], *arguments]


def said(name: str, *arguments: str, told: str | None = None) -> str:
    """Run a tool, which must succeed, and return its output."""
    done = subprocess.run(
        command(name, *arguments), input=told, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def table(text: str) -> list[dict[str, str]]:
    """Return the rows of a table in a tool's output, by column title; a title may contain one blank."""
    lines = [line for line in text.splitlines() if line.strip()]
    heading = next(number for number, line in enumerate(lines) if line.startswith("GROUP"))
    names = lines[heading].replace("(", " (").split("  ")
    columns = [name.strip().split(" (")[0] for name in names if name.strip()]
    return [dict(zip(columns, line.split(), strict=False)) for line in lines[heading + 1 :]]
