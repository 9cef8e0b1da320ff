"""Programs in other languages that send a record to a secured cluster, and read it in a group.

Each prints the record, or the first error, and exits with 0 or 1.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.clients.libraries import HERE, command_of, fresh_folder, kafkajs, run

PATIENCE_S = 120


@dataclass(frozen=True)
class Trip:
    """Where to, and as whom. `certificate`: a file with key and chain; empty: none. `mechanism`: empty: no login."""

    bootstrap: str
    topic: str
    group: str
    authority: str
    certificate: str
    mechanism: str
    user: str
    password: str


@dataclass(frozen=True)
class Done:
    """How it went."""

    status: int
    said: str


def franz_go(trip: Trip, folder: Path) -> Done:
    built = fresh_folder("franz_go", HERE / "franz_go") / "roundtrip"
    if not built.exists():
        run(["go", "build", "-o", str(built), "./roundtrip"], HERE / "franz_go")
    return _end_of([str(built), json.dumps(asdict(trip))])


def kafka_js(trip: Trip, folder: Path) -> Done:
    node, main = kafkajs()
    program = Path(main).with_name("roundtrip.js")
    shutil.copy(HERE / "kafkajs" / program.name, program)
    return _end_of([node, str(program), json.dumps(asdict(trip))])


def java(protocol: str) -> Callable[[Trip, Path], Done]:
    def go(trip: Trip, folder: Path) -> Done:
        command = list(command_of("kafka-clients 4.4.0"))
        built, jars = command[command.index("-cp") + 1].split(":")
        if not (Path(built) / "RoundTrip.class").exists():
            run(["javac", "-nowarn", "-cp", jars, "-d", built, "RoundTrip.java"], HERE / "java")
        file = folder / "client.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in _java_properties(trip).items()))
        return _end_of([*command[:-1], "RoundTrip", str(file), trip.topic, trip.group, protocol])

    return go


def _java_properties(trip: Trip) -> dict[str, str]:
    properties = {
        "bootstrap.servers": trip.bootstrap,
        "security.protocol": "SASL_SSL" if trip.mechanism else "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": trip.authority,
    }
    if trip.certificate:
        properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": trip.certificate}
    if trip.mechanism:
        kind = "plain.Plain" if trip.mechanism == "PLAIN" else "scram.Scram"
        module = f"org.apache.kafka.common.security.{kind}LoginModule"
        properties["sasl.mechanism"] = trip.mechanism
        properties["sasl.jaas.config"] = f'{module} required username="{trip.user}" password="{trip.password}";'
    return properties


def _end_of(command: list[str]) -> Done:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return Done(done.returncode, done.stdout.strip() or done.stderr.strip())


TRIPS: dict[str, Callable[[Trip, Path], Done]] = {
    "kafka-clients 4.4.0": java("classic"),
    "kafka-clients 4.4.0, consumer protocol": java("consumer"),
    "franz-go": franz_go,
    "kafkajs": kafka_js,
}  # by library
