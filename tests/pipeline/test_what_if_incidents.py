"""Findings about groups of the what-if recordings, whose members wrote down what happened to them.

`../shared/data/what-if` has all of it. The copies here contain the groups that showed wrong or missing findings.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from tests.pipeline.incidents.recorded import Recorded, Sources, log_alone, text_alone


@pytest.fixture(scope="module")
def groups(incidents: Callable[[str], Recorded]) -> dict[str, GroupInput]:
    return incidents("what-if-kafka-4.3").groups


@pytest.fixture(scope="module")
def moved(incidents: Callable[[str], Recorded]) -> dict[str, GroupInput]:
    return incidents("refused-move-kafka-4.3").groups


def of_rule(group: GroupInput, rule: str) -> list[Finding]:
    return [finding for finding in diagnose(analyse(group)) if finding.rule == rule]


def only(group: GroupInput, rule: str) -> Finding:
    (finding,) = of_rule(group, rule)
    return finding


@pytest.mark.parametrize("sources", [lambda group: group, text_alone])
def test_refused_move_is_reported(moved: dict[str, GroupInput], sources: Sources) -> None:
    assert set(moved) == {"new-protocol-librdkafka-cooperative-to-consumer", "new-protocol-stays-range"}
    finding = only(sources(moved["new-protocol-librdkafka-cooperative-to-consumer"]), "R41")
    assert (finding.severity, finding.confidence, finding.evidence["times"]) == ("warning", "certain", 2)
    assert "userData from a custom assignor would be lost" in finding.text
    assert "the group had fewer than 3 members, at times 1" in finding.text
    assert finding.advice.startswith("Set partition.assignment.strategy of all members to range first")


def test_ordinary_restart_is_no_refused_move(moved: dict[str, GroupInput]) -> None:
    assert not of_rule(moved["new-protocol-stays-range"], "R41")
