"""Kafka's own programs: its command-line tools, Connect and Streams, as Maven has them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from tests.clients.libraries import HERE, fresh_folder, run, tool

SOURCE = HERE / "kafka"
TIMEOUT_S = 180
JAVA = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"]
"""For programs that live for seconds, on a machine that others use too."""

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
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-dump-log": TOOLS + "DumpLogSegments",
    "connect-distributed": "org.apache.kafka.connect.cli.ConnectDistributed",
    "CopyingStream": "CopyingStream",
    "CountingStream": "CountingStream",
    "SharingConsumers": "SharingConsumers",
}
"""What Kafka's shell scripts start."""
OURS = ("CopyingStream.java", "CountingStream.java", "SharingConsumers.java")


@cache
def class_path() -> str:
    """Kafka's jars and our programs for them. Raises libraries.Missing."""
    folder = fresh_folder("kafka", SOURCE)
    jars = folder / "jars"
    if not (folder / "built").exists():
        run(["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"], SOURCE)
        run(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(folder), *OURS], SOURCE)
        (folder / "built").touch()
    return f"{folder}:{jars}/*"


def jars() -> Path:
    """Where the jars are."""
    return Path(class_path().rpartition(":")[2]).parent


def command(name: str, *arguments: str) -> list[str]:
    """What runs one of the programs. Raises libraries.Missing."""
    return [tool("java"), *JAVA, "-cp", class_path(), CLASSES[name], *arguments]


def said(name: str, *arguments: str, told: str | None = None) -> str:
    """Runs one of the tools to its end, and returns what it prints. It must succeed."""
    done = subprocess.run(
        command(name, *arguments), input=told, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def table(text: str) -> list[dict[str, str]]:
    """What a tool prints as a table: a row for each line, by the words of the heading, which may contain one blank."""
    lines = [line for line in text.splitlines() if line.strip()]
    heading = next(number for number, line in enumerate(lines) if line.startswith("GROUP"))
    names = lines[heading].replace("(", " (").split("  ")
    columns = [name.strip().split(" (")[0] for name in names if name.strip()]
    return [dict(zip(columns, line.split(), strict=False)) for line in lines[heading + 1 :]]
