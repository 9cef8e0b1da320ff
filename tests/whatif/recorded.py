"""Small recordings of groups: what their coordinator writes while a script is played, as files for an analysis."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

from kohort.coordinator.effects import Append
from kohort.whatif.played_settings import Settings
from kohort.whatif.playing import Played, Run
from kohort.whatif.script import Event, Script
from kohort.whatif.virtual_cluster import EPOCH_MS

PARTITIONS = 8
TOPIC = "orders"


def rolling(members: int = 4, *, every_ms: int = 18_000, away_ms: int = 3_000) -> Script:
    """Return a rolling restart, with a record per partition every half second."""
    events: list[Event] = []
    for number in range(members):
        at_ms = 25_000 + every_ms * number
        events += [Event(at_ms, "stop", f"m{number + 1}"), Event(at_ms + away_ms, "start", f"m{number + 1}")]
    return script(events, end_ms=25_000 + every_ms * members + 12_000, members=members)


def script(events: list[Event], *, end_ms: int, members: int = 4) -> Script:
    return Script(
        topic=TOPIC,
        partitions=PARTITIONS,
        arrivals={number: array("q", range(300, end_ms, 500)) for number in range(PARTITIONS)},
        end_ms=end_ms,
        events=events,
        starts={f"m{number + 1}": 20 * number for number in range(members)},
    )


def record(folder: Path, played: Script, settings: Settings, seed: int = 1) -> Played:
    """Play a script and write the offsets topic and samples of log ends to a folder."""
    run = Run(played, settings, seed)
    batches: list[bytes] = []
    count = 0

    def keep(append: Append) -> None:
        nonlocal count
        batch = append.records.batch(append.timestamp_ms)
        batches.append(count.to_bytes(8, "big") + batch[8:])
        count += len(append.records)

    run.cluster.on_append = keep
    run.plays_quiet_time_ahead = False  # it would leave out commits
    result = run.play()
    segments = folder / "__consumer_offsets-0"
    segments.mkdir(parents=True)
    (segments / f"{0:020}.log").write_bytes(b"".join(batches))
    lines = []
    for ms in range(0, played.end_ms, 1_000):
        ends = {
            str(number): played.appended(number, ms)
            for number, times in played.arrivals.items()
            if number < PARTITIONS or times[0] <= ms
        }
        row = {"sampled_ms": EPOCH_MS + ms, "topic": TOPIC, "log_start": dict.fromkeys(ends, 0), "log_end": ends}
        lines.append(json.dumps(row))
    (folder / "log-ends.jsonl").write_text("\n".join(lines) + "\n")
    return result
