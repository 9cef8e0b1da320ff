"""What collectors make of a line of a broker's log."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime

FIRST_MS = 1_772_704_800_100
A, B = (f"c-{number}-0a1b2c3d-1111-4222-8333-44445555666{number}" for number in (1, 2))
COORDINATOR = "[GroupCoordinator id=1 topic=__consumer_offsets partition=31]"
LOGGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"
SAID = (
    f"Preparing to rebalance group pay in state PreparingRebalance with old generation 0 (reason: Adding new member {A} "
    "with group instance id null; client reason: not provided).",
    "Stabilized group pay generation 1 with 1 members.",
    f"Preparing to rebalance group pay in state PreparingRebalance with old generation 1 (reason: Adding new member {B} "
    "with group instance id null; client reason: not provided).",
    f"Group pay removed dynamic members who haven't joined: [{A}]",
    "Stabilized group pay generation 2 with 1 members.",
    f"Assignment received from leader {B} for group pay for generation 2. The group has 1 members, 0 of which are static.",
)
Line = Callable[[str, int], str]
"""What a collector makes of a message of that moment."""


def iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1_000:03}Z"


def plain(said: str, ms: int) -> str:
    return f"[{iso(ms)[:-1].replace('T', ' ').replace('.', ',')}] INFO {COORDINATOR} {said} ({LOGGER})"


def bare(said: str) -> str:
    return f"{COORDINATOR} {said}"


def layout(said: str, ms: int) -> dict[str, object]:
    return {"@timestamp": iso(ms), "level": "INFO", "logger": LOGGER, "message": bare(said)}


def csv_row(*cells: str) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="").writerow(cells)
    return out.getvalue()


WRAPPINGS: dict[str, Line] = {
    "journald, as JSON": lambda said, ms: json.dumps(
        {"__REALTIME_TIMESTAMP": str(ms * 1_000), "_HOSTNAME": "h", "MESSAGE": plain(said, ms)}
    ),
    "journald of a bare layout": lambda said, ms: json.dumps(
        {"PRIORITY": "6", "MESSAGE": bare(said), "__REALTIME_TIMESTAMP": str(ms * 1_000)}
    ),
    "CloudWatch": lambda said, ms: json.dumps(
        {"logStreamName": "Broker-1", "timestamp": ms, "message": plain(said, ms), "eventId": "0"}
    ),
    "Loki": lambda said, ms: json.dumps({"labels": {"app": "kafka"}, "line": plain(said, ms), "timestamp": iso(ms)}),
    "Elastic": lambda said, ms: json.dumps(
        {"_index": "logs", "_source": {"@timestamp": iso(ms), "message": bare(said), "host": {"name": "kafka-0"}}}
    ),
    "fluentd": lambda said, ms: (
        f"{iso(ms)[:-1]}+00:00\tkube.kafka-0\t" + json.dumps({"log": plain(said, ms) + "\n", "stream": "stdout"})
    ),
    "GELF": lambda said, ms: json.dumps({"version": "1.1", "short_message": bare(said), "timestamp": ms / 1_000}),
    "log4j2, pretty": lambda said, ms: (
        json.dumps(
            {
                "instant": {"epochSecond": ms // 1_000, "nanoOfSecond": ms % 1_000 * 1_000_000},
                "loggerName": LOGGER,
                "message": bare(said),
            },
            indent=2,
        )
        + ","
    ),
    "Vector, JSON in JSON": lambda said, ms: json.dumps(
        {"timestamp": iso(ms), "message": json.dumps(layout(said, ms))}
    ),
    "docker of a JSON layout": lambda said, ms: json.dumps(
        {"log": json.dumps(layout(said, ms)) + "\n", "stream": "stdout", "time": iso(ms)}
    ),
    "Splunk": lambda said, ms: json.dumps(
        {"preview": False, "result": {"_raw": plain(said, ms), "_time": iso(ms), "host": "kafka-0"}}
    ),
    "Datadog": lambda said, ms: json.dumps(
        {"id": "x", "content": {"timestamp": iso(ms), "tags": ["kafka"], "message": bare(said)}}
    ),
    "Google Cloud": lambda said, ms: json.dumps(
        {"insertId": "x", "jsonPayload": {"message": bare(said)}, "timestamp": iso(ms), "severity": "INFO"}
    ),
    "a cell of CSV": lambda said, ms: csv_row(iso(ms), "kafka-0", plain(said, ms)),
    "colours": lambda said, ms: f"\x1b[32m{plain(said, ms)}\x1b[0m",
    "kubectl with stamps": lambda said, ms: f"{iso(ms)} {plain(said, ms)}",
    "docker compose": lambda said, ms: f"kafka-1  | {plain(said, ms)}",
}
