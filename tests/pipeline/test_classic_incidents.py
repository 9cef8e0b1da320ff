"""Incidents of classic groups on a real Kafka 4.3, from all sources and from the offsets topic alone.

`incidents/classic_stories.py` is what was done, on hosts of their own; `incidents/record.py` made the recording.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kohort.pipeline.history.group_analysis import GroupAnalysis, analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from tests.pipeline.incidents.recorded import Recorded, log_alone
from tests.pipeline.incidents.told import OF_CLASSIC_GROUPS as TOLD

ALONE: dict[str, dict[str, tuple[str, list[str]]]] = TOLD | {
    "dead": {"R03": ("warning", ["c-1", "c-2"])},
    # c-5's host had no partition: nothing shows how its member ended
    "lost-hosts": {"R03": ("warning", [f"rdkafka@127.0.5.{number}" for number in (2, 3, 5)])},
    "poison": {"R30": ("critical", ["c-2", "c-3"])},
    "static-taken-once": {},  # only refused requests show that the first process lived
}


@pytest.fixture(scope="module")
def groups(incidents: Callable[[str], Recorded]) -> dict[str, GroupInput]:
    return incidents("classic-kafka-4.3").groups


@pytest.fixture(scope="module")
def analyses(groups: dict[str, GroupInput]) -> dict[str, GroupAnalysis]:
    return {name: analyse(group) for name, group in groups.items()}


def told(analysis: GroupAnalysis) -> dict[str, tuple[str, list[str]]]:
    found = [f for f in diagnose(analysis) if f.severity != "info" and f.rule != "R26"]
    return {finding.rule: (finding.severity, sorted(finding.clients)) for finding in found}


def only(analysis: GroupAnalysis, rule: str) -> Finding:
    (finding,) = [result for result in diagnose(analysis) if result.rule == rule]
    return finding


def test_every_story_is_looked_at(groups: dict[str, GroupInput]) -> None:
    assert groups.keys() == TOLD.keys()


@pytest.mark.parametrize("group", TOLD)
def test_only_culprit_is_named(analyses: dict[str, GroupAnalysis], group: str) -> None:
    assert told(analyses[group]) == TOLD[group]


@pytest.mark.parametrize("group", ALONE)
def test_findings_from_log_alone(groups: dict[str, GroupInput], group: str) -> None:
    assert told(analyse(log_alone(groups[group]))) == ALONE[group]
