"""Share groups of a real Kafka 4.3, from their share coordinators' log, and of kohort, from its event log as well.

`incidents/share_stories.py` is what was done, `incidents/record.py` made the recordings.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kohort.pipeline.analysis.analysis_run import analyse as run
from kohort.pipeline.analysis.local_engine import LocalEngine
from kohort.pipeline.gold.group_tables import analyse_group
from kohort.pipeline.history.group_analysis import GroupAnalysis, analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.history.share_holders import Holder, holders
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from kohort.pipeline.sources.found import find_sources
from tests.pipeline.incidents.recorded import Recorded
from tests.pipeline.incidents.share_stories import HEALTHY
from tests.pipeline.incidents.told import OF_SHARES, OF_SHARES_WITH_EVENTS

KAFKA, KOHORT = "share-kafka-4.3", "share-kohort"
RECORDINGS = pytest.mark.parametrize("recording_name", [KAFKA, KOHORT])
Told = dict[str, dict[str, tuple[str, list[str]]]]


@pytest.fixture(scope="module")
def folders(incidents: Callable[[str], Recorded]) -> dict[str, Path]:
    return {name: incidents(name).folder for name in (KAFKA, KOHORT)}


@pytest.fixture(scope="module")
def share_groups(incidents: Callable[[str], Recorded]) -> dict[str, dict[str, GroupInput]]:
    """By recording and name."""
    return {name: incidents(name).groups for name in (KAFKA, KOHORT)}


def serious(group: GroupInput) -> dict[str, tuple[str, list[str]]]:
    found = [finding for finding in diagnose(analyse(copy.copy(group))) if finding.severity != "info"]
    return {finding.rule: (finding.severity, sorted(finding.clients)) for finding in found}


def done_to(folder: Path, group: str, event: str) -> list[tuple[int, int, int]]:
    """Return members' own accounts of records: partition, offset, delivery count."""
    lines = map(json.loads, (folder / "truth.jsonl").read_text().splitlines())
    return [
        tuple(place) for line in lines if (line["group"], line["event"]) == (group, event) for place in line["places"]
    ]


@pytest.mark.parametrize(
    ("recording_name", "findings"), [(KAFKA, OF_SHARES), (KOHORT, OF_SHARES_WITH_EVENTS)], ids=[KAFKA, KOHORT]
)
def test_share_incident_findings(
    share_groups: dict[str, dict[str, GroupInput]], recording_name: str, findings: Told
) -> None:
    assert {name: serious(group) for name, group in share_groups[recording_name].items()} == findings


def test_healthy_habits_are_left_alone() -> None:
    assert all(OF_SHARES[name] == OF_SHARES_WITH_EVENTS[name] == {} for name in HEALTHY)


@RECORDINGS
def test_archived_records_were_released_thrice(
    share_groups: dict[str, dict[str, GroupInput]], folders: dict[str, Path], recording_name: str
) -> None:
    for name in ("poisoned", "failing"):
        share = analyse(share_groups[recording_name][name]).share
        assert share is not None
        found = {
            (*each.topic_partition, offset) for each in share.given_up for offset in range(each.first, each.last + 1)
        }
        released = {
            (part, offset) for part, offset, count in done_to(folders[recording_name], name, "release") if count == 3
        }
        assert found == {(name, *place) for place in released}
        assert len(found) >= 2


@RECORDINGS
def test_archived_excludes_rejected_and_retried(
    share_groups: dict[str, dict[str, GroupInput]], folders: dict[str, Path], recording_name: str
) -> None:
    for name, event in (("rejecting", "reject"), ("retrying", "release")):
        assert len(done_to(folders[recording_name], name, event)) > 10
        (row,) = analyse_group(copy.copy(share_groups[recording_name][name]))["share_groups"]
        assert row["given_up"] == 0
        if event == "release":
            assert row["returned"] >= len(done_to(folders[recording_name], name, event))


def test_both_broker_logs_agree(share_groups: dict[str, dict[str, GroupInput]]) -> None:
    for name, group in share_groups[KOHORT].items():
        less = copy.copy(group)
        less.events = []
        (all_rows, rows) = (analyse_group(copy.copy(each)) for each in (group, less))
        (whole,), (part,) = all_rows["share_groups"], rows["share_groups"]
        assert (whole["accepted"], whole["given_up"]) == (part["accepted"], part["given_up"]), name
        assert whole["returned"] - whole["given_up"] == part["returned"], name
        assert part["held_max_ms"] is None
        assert all_rows.keys() == rows.keys()


def test_how_long_records_were_held(share_groups: dict[str, dict[str, GroupInput]]) -> None:
    group = share_groups[KOHORT]["outliving"]
    found = {holder.name: holder for holder in holders_of(analyse(copy.copy(group)))}
    assert found["c-2"].lock_ms == pytest.approx(2000, abs=100)
    assert not found["c-2"].records["accepted"]
    assert found["c-1"].accepted_after_ms[-1] < 2000
    (finding,) = (result for result in diagnose(analyse(copy.copy(group))) if result.rule == "R49")
    assert finding.evidence["works_ms"] == pytest.approx(3000, abs=200), "it sleeps for 3 s"
    assert_names_settings(finding)


def holders_of(analysis: GroupAnalysis) -> list[Holder]:
    assert analysis.share is not None
    return holders(analysis.share)


@RECORDINGS
def test_advice_names_group_and_broker_settings(
    share_groups: dict[str, dict[str, GroupInput]], recording_name: str
) -> None:
    for group in share_groups[recording_name].values():
        for finding in diagnose(analyse(copy.copy(group))):
            if finding.rule in ("R47", "R48", "R49", "R51"):
                assert_names_settings(finding)


def assert_names_settings(finding: Finding) -> None:
    assert " share." in finding.advice
    assert "group.share." in finding.advice


@RECORDINGS
def test_lag_excludes_processed_records(share_groups: dict[str, dict[str, GroupInput]], recording_name: str) -> None:
    group = share_groups[recording_name]["behind"]
    share = analyse(copy.copy(group)).share
    assert share is not None
    last = {place: samples.lag[-1] for place, samples in share.lags.items()}
    ends = {place: int(each.log_end[-1]) for place, each in group.ends.items()}
    assert sum(last.values()) == sum(ends.values()) - share.accepted_between(0, group.until_ms)


def test_report_shows_holders_of_failed_records(folders: dict[str, Path], tmp_path: Path) -> None:
    sources, issues = find_sources([str(folders[KOHORT] / part) for part in ("segments", "events", "log-ends.jsonl")])
    outcome = run(LocalEngine(), sources, issues, tmp_path, lambda _: None)
    assert {row["group_id"]: row["has_deliveries"] for row in outcome.shared}.keys() == OF_SHARES.keys()
    page = (tmp_path / "report.html").read_text()
    rows = [part for part in page.split("<tr>") if part.startswith("<td><bdi>c-2</bdi></td>")]
    assert any("<td>70.0 s</td>" in row for row in rows), "35 records, each of them for as long as a lock lasts"
    lacking = outcome.missing()
    assert lacking == [], "whatever would have shown something serious was read"
