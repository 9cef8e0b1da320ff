"""Incidents that look like another one, on a real Kafka 4.3, from all sources and from each subset of them.

`incidents/lookalike_stories.py` is what was done, `incidents/record.py` made the recording.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from tests.pipeline.incidents.lookalike_stories import AWAY_S
from tests.pipeline.incidents.recorded import Recorded, Sources, log_alone, text_alone, without_ends

RECORDING = "lookalike-kafka-4.3"
COMMON_STOPS = ("joined-while-away", "joined-while-away-848")
# warnings by group: severity, and the clients that they name
EXPECTED: dict[str, dict[str, tuple[str, list[str]]]] = {
    "joined-while-away": {"R37": ("warning", [])},
    "joined-while-away-848": {"R37": ("warning", [])},
    "joined-while-slow": {"R01": ("warning", ["c-2"])},
    "static-absent": {"R01": ("warning", ["p-2"])},
    "resubscribing": {},
    "busy-start": {},
    "recreated-848": {"R44": ("critical", [])},
}


@pytest.fixture(scope="module")
def groups(incidents: Callable[[str], Recorded]) -> dict[str, GroupInput]:
    return incidents(RECORDING).groups


@pytest.fixture(scope="module")
def folder(incidents: Callable[[str], Recorded]) -> Path:
    return incidents(RECORDING).folder


def warnings(group: GroupInput) -> list[Finding]:
    return [finding for finding in diagnose(analyse(group)) if finding.severity != "info"]


def test_each_story_has_expected_findings(groups: dict[str, GroupInput]) -> None:
    assert groups.keys() == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_only_expected_warnings_are_reported(groups: dict[str, GroupInput], name: str) -> None:
    assert {finding.rule: (finding.severity, finding.clients) for finding in warnings(groups[name])} == EXPECTED[name]


@pytest.mark.parametrize("sources", [without_ends, log_alone, text_alone])
@pytest.mark.parametrize("name", COMMON_STOPS)
def test_common_stop_names_no_member(groups: dict[str, GroupInput], name: str, sources: Sources) -> None:
    assert [finding.clients for finding in warnings(sources(groups[name])) if finding.clients] == []


@pytest.mark.parametrize("name", COMMON_STOPS)
def test_common_stop_has_its_whole_length(groups: dict[str, GroupInput], folder: Path, name: str) -> None:
    (finding,) = warnings(groups[name])
    rows = map(json.loads, (folder / "truth.jsonl").read_text().splitlines())
    begin_ms = next(row["ms"] for row in rows if (row["group"], row["event"]) == (name, "dependency_away"))
    assert finding.start_ms == pytest.approx(begin_ms, abs=2_000)
    assert finding.evidence["stood_ms"] == pytest.approx(1_000 * AWAY_S, abs=2_000)
    assert "before a rebalance began" in finding.text


@pytest.mark.parametrize(("name", "client"), [("joined-while-slow", "c-2"), ("static-absent", "p-2")])
@pytest.mark.parametrize("sources", [copy.copy, without_ends, log_alone])
def test_late_member_is_named(groups: dict[str, GroupInput], name: str, client: str, sources: Sources) -> None:
    (finding,) = warnings(sources(groups[name]))
    assert (finding.rule, finding.clients, finding.cause_confidence) == ("R01", [client], "likely")
    assert ("did not rejoin within the rebalance timeout" in finding.text) == (name == "static-absent")


@pytest.mark.parametrize("sources", [copy.copy, log_alone, text_alone])
def test_resubscribing_member_is_no_storm(groups: dict[str, GroupInput], sources: Sources) -> None:
    (finding,) = [row for row in diagnose(analyse(sources(groups["resubscribing"]))) if row.rule == "R43"]
    assert (finding.severity, finding.clients, finding.evidence["times"]) == ("info", ["c-2"], 7)
    assert "at once, sooner than a process starts; the other members stayed" in finding.text
