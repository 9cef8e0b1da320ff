"""A group that stands still: in one query of the cluster after its log was read, and in continuous samples."""

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
    """Read ten records a second from each of six partitions until 400 s; now is 480 s.

    `stable` counts the waiting records.
    """
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
    return [finding for finding in diagnose(analyse(group)) if finding.rule == "R37"]


@pytest.mark.parametrize(("stable", "cause"), [(0, "likely"), (700, "possible")])
def test_as_much_waits_as_came_meanwhile(stable: int, cause: str) -> None:
    (finding,) = found(asked_once(800, stable))
    assert (finding.severity, finding.confidence, finding.cause_confidence) == ("critical", "likely", cause)
    assert ("an open transaction blocks them" in finding.text) == (cause == "likely")
    assert "when log end offsets were sampled, 4800 records waited" in finding.text
    assert finding.evidence["open"]


def test_few_waiting_records_are_ignored() -> None:
    (finding,) = found(asked_once(3, 3))
    assert (finding.severity, finding.confidence) == ("info", "possible")


def test_nothing_waits() -> None:
    assert found(asked_once(0, 0)) == []


def sampled(silence: tuple[int, int], came: float, at: range) -> GroupInput:
    """Write twenty records to each partition in a silence without commits, with samples of log ends at these seconds."""
    start, end = silence
    group = (
        Story(until=NOW)
        .generation(1, 0.5, {"c-1/a": {}, "c-2/a": {}})
        .silence(list(range(6)), start, end)
        .group_input()
    )
    for place, commits in group.commits.items():
        before = int(np.searchsorted(commits.ts_ms, ms(start), "right")) - 1
        had = int(commits.committed[before])
        looked = np.array([ms(each) for each in at], np.int64)
        ends = np.where(looked >= ms(came), had + 20, had)
        group.ends[place] = LogEnds(looked, np.zeros_like(looked), ends, ends)
    return group


def test_late_records_are_no_stall() -> None:
    assert found(sampled((200, 250), 249, range(5, NOW, 2))) == []


def test_records_wait_until_next_commit() -> None:
    (finding,) = found(sampled((200, 250), 202, range(5, NOW, 2)))
    assert (finding.severity, finding.confidence) == ("warning", "certain")


def test_wait_counts_after_quiet_time() -> None:
    (finding,) = found(sampled((100, 350), 310, range(5, NOW, 2)))
    assert finding.confidence == "certain"
    assert "one of them for 39" in finding.text


def test_single_sample_gives_no_duration() -> None:
    (finding,) = found(sampled((200, 250), 202, range(245, 246)))
    assert (finding.severity, finding.confidence) == ("info", "possible")
