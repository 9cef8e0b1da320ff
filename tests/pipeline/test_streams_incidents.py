"""Streams groups of a real Kafka 4.3 with real processes of Kafka Streams 4.3, from the offsets topic.

`incidents/streams_stories.py` is what was done, `incidents/record.py` made the recording.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.history.streams_history import StreamsHistory
from kohort.pipeline.history.streams_processes import processes
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from tests.pipeline.incidents.recorded import Recorded, log_alone
from tests.pipeline.incidents.streams_stories import HEALTHY
from tests.pipeline.incidents.told import OF_STREAMS

RECORDING = "streams-kafka-4.3"


@pytest.fixture(scope="module")
def folder(incidents: Callable[[str], Recorded]) -> Path:
    return incidents(RECORDING).folder


@pytest.fixture(scope="module")
def groups(incidents: Callable[[str], Recorded]) -> dict[str, GroupInput]:
    return incidents(RECORDING).groups


def said(group: GroupInput) -> dict[str, Finding]:
    return {found.rule: found for found in diagnose(analyse(copy.copy(group))) if found.severity != "info"}


def serious(group: GroupInput) -> dict[str, tuple[str, list[str]]]:
    return {rule: (finding.severity, sorted(finding.clients)) for rule, finding in said(group).items()}


def truth(folder: Path, group: str, event: str) -> list[dict[str, object]]:
    """Return the actions on a group, or the output of its processes."""
    lines = map(json.loads, (folder / "truth.jsonl").read_text().splitlines())
    return [line for line in lines if line["group"] == group and str(line["event"]).split()[0] == event]


def history_of(group: GroupInput) -> StreamsHistory:
    streams = analyse(copy.copy(group)).streams
    assert streams is not None
    return streams


def test_streams_incident_findings(groups: dict[str, GroupInput]) -> None:
    assert {name: serious(group) for name, group in groups.items()} == OF_STREAMS


def test_healthy_habits_are_left_alone() -> None:
    assert all(OF_STREAMS[name] == {} for name in HEALTHY)


def test_offsets_topic_raises_no_false_alarm(groups: dict[str, GroupInput]) -> None:
    for name, group in groups.items():
        assert serious(log_alone(group)).items() <= OF_STREAMS[name].items(), name


def test_tasks_stopped_while_restoring(groups: dict[str, GroupInput], folder: Path) -> None:
    finding = said(groups["restoring"])["R53"]
    (killed_ms,) = [int(str(each["ms"])) for each in truth(folder, "restoring", "signal")]
    begun = [each for each in truth(folder, "restoring", "restoring") if int(str(each["ms"])) > killed_ms]
    assert finding.evidence["tasks"] == sorted(f"0_{str(each['event']).split()[1]}" for each in begun)
    assert finding.clients == ["p-1"]
    (stopped_ms,) = [int(str(each["ms"])) for each in truth(folder, "restoring", "stop")]
    assert finding.evidence["longest_ms"] == pytest.approx(stopped_ms - int(str(begun[0]["ms"])), abs=10_000)
    assert (finding.confidence, finding.cause_confidence) == ("certain", "possible")
    to_restore = max(int(str(each["event"]).split()[2]) for each in begun)
    assert finding.evidence["changelog_records"] == pytest.approx(to_restore, abs=100)


def test_only_killed_process_returns(groups: dict[str, GroupInput], folder: Path) -> None:
    finding = said(groups["flapping"])["R54"]
    assert finding.evidence["restarts"] == len(truth(folder, "flapping", "signal"))
    assert sum(finding.evidence["moves"]) >= 4
    (process,) = [each for each in processes(history_of(groups["flapping"])) if each.name == "p-2"]
    assert all(before.end_ms and before.end_ms < after.start_ms for before, after in pairwise(process.stays))
    assert len({thread.process_id for stay in process.stays for thread in stay.threads}) == 1, (
        "its state directory stayed"
    )


def test_group_deleted_for_new_topology(groups: dict[str, GroupInput], folder: Path) -> None:
    finding = said(groups["upgraded"])["R55"]
    (deleted,) = truth(folder, "upgraded", "deleted")
    assert finding.start_ms == pytest.approx(int(str(deleted["ms"])), abs=2_000)
    assert finding.evidence["tombstones"] == 4
    known = [topology for _, topology in history_of(groups["upgraded"]).topologies]
    assert [each is None for each in known] == [False, True, False]
    stores = [
        {name for part in each.subtopologies.values() for name in part.stores} for each in known if each is not None
    ]
    assert stores == [{"upgraded-counts-changelog"}, {"upgraded-counts-changelog", "upgraded-more-changelog"}]
