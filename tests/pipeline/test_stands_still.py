"""A group that stands still now, seen by who asks the cluster once: after its log was read, where the logs end."""

from __future__ import annotations

import numpy as np
import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput, LogEnds
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from tests.pipeline.stories import Story, ms

STOPPED, NOW = 400, 480


def asked_once(waiting: int, stable: int) -> GroupInput:
    """Ten records a second were read from each of six partitions until 400 s; now is 480 s. stable: of those that wait."""
    group = (
        Story(until=NOW)
        .generation(1, 0.5, {"c-1/a": {}, "c-2/a": {}})
        .silence(list(range(6)), STOPPED, NOW)
        .group_input()
    )
    for place, commits in group.commits.items():
        at = int(commits.committed[-1])
        sampled, start = np.array([ms(NOW + 2)], np.int64), np.zeros(1, np.int64)
        group.ends[place] = LogEnds(sampled, start, start + at + waiting, start + at + stable)
    return group


def found(group: GroupInput) -> list[Finding]:
    return [each for each in diagnose(analyse(group)) if each.rule == "R37"]


@pytest.mark.parametrize(("stable", "cause"), [(0, "likely"), (700, "possible")])
def test_as_much_waits_as_came_meanwhile(stable: int, cause: str) -> None:
    (finding,) = found(asked_once(800, stable))
    assert (finding.severity, finding.confidence, finding.cause_confidence) == ("critical", "likely", cause)
    assert ("an open transaction holds them up" in finding.text) == (cause == "likely")
    assert "when log ends were asked for, 4800 records waited" in finding.text
    assert finding.evidence["open"]


def test_little_waits_so_that_it_may_have_come_just_now() -> None:
    (finding,) = found(asked_once(3, 3))
    assert (finding.severity, finding.confidence) == ("info", "possible")


def test_nothing_waits() -> None:
    assert found(asked_once(0, 0)) == []
