"""A source that is added loses no finding, and each tells what it holds."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from tests.pipeline.incidents.recorded import log_alone, recorded, text_alone, unpacked
from tests.pipeline.stories import Story

STATIC = {f"c-{n}/{n}": {"instance_id": f"i-{n}", "session": 60_000, "client": f"c-{n}"} for n in (1, 2, 3)}
SLEEPER = list(STATIC)[1]


SAID_BETTER = {"R30": "R46", "R04": "R40"}
"""Rules that others replace when more is known: readers that leave for a record, not die of it."""


def rules(group: GroupInput) -> dict[str, str]:
    """The gravest severity with which each rule speaks."""
    return {finding.rule: finding.severity for finding in reversed(diagnose(analyse(copy.copy(group))))}


def loses(fewer: dict[str, str], more: dict[str, str]) -> list[str]:
    """Rules that give a warning from fewer sources and say nothing from more."""
    return sorted(
        rule
        for rule, severity in fewer.items()
        if severity != "info" and rule not in more and SAID_BETTER.get(rule) not in more
    )


def combinations(group: GroupInput) -> dict[str, GroupInput]:
    without_ends, without_events = copy.copy(group), copy.copy(group)
    without_ends.ends, without_events.events = {}, []
    return {"log": log_alone(group), "log and events": without_ends, "log and ends": without_events, "all": group}


def check(groups: dict[str, GroupInput]) -> None:
    for name, group in groups.items():
        some = {sources: rules(each) for sources, each in combinations(group).items()}
        for fewer, more in (
            ("log", "log and events"), ("log", "log and ends"), ("log and events", "all"), ("log and ends", "all"),
        ):  # fmt: skip
            assert loses(some[fewer], some[more]) == [], (name, fewer, more)


@pytest.mark.parametrize("name", ["kafka-4.3", "kohort", "classic-kafka-4.3", "loss-kafka-4.3"])
def test_no_source_that_is_added_loses_a_finding(name: str, tmp_path: Path) -> None:
    check(recorded(unpacked(name, tmp_path)))


def test_nor_in_the_large_recording(recorded_groups: dict[str, GroupInput]) -> None:
    check(recorded_groups)


def test_a_static_sleeper_is_seen_with_the_text_log_too() -> None:
    """With it the rebalance that the sleeper held up at the end is known to begin within its silence."""
    story = Story().generation(1, 0.5, STATIC).silence([1, 4], 80, 119.9)
    story.silence([0, 2, 3, 5], 115.1, 120.1)
    whole = story.rebalance(2, 115, 120, STATIC | {"c-4/4": {}}, "join_new", "c-4/4").group_input()
    assert whole.events
    for group in (whole, log_alone(whole)):
        (found,) = [finding for finding in diagnose(analyse(group)) if finding.rule == "R12"]
        assert found.clients == ["i-2"]


def test_the_text_log_alone_tells_that_the_group_waited(recorded_groups: dict[str, GroupInput]) -> None:
    """Who it waited for stands in no line: the member came back in time."""
    (found,) = [f for f in diagnose(analyse(text_alone(recorded_groups["one-slow-member"]))) if f.rule == "R01"]
    assert found.text.startswith("the group waited 3 times for somebody to join again")
    assert (found.clients, found.confidence, found.severity) == ([], "certain", "warning")
    assert found.evidence["waits_ms"] == [pytest.approx(ms, abs=300) for ms in (10_400, 12_800, 10_900)]
