"""An added source loses no finding, and each contributes its own."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from tests.pipeline.incidents.recorded import Sources, Told, log_alone, text_alone, without_ends, without_events
from tests.pipeline.source_losses import loses, rules
from tests.pipeline.stories import Story

STATIC = {f"c-{n}/{n}": {"instance_id": f"i-{n}", "session": 60_000, "client": f"c-{n}"} for n in (1, 2, 3)}
SLEEPER = list(STATIC)[1]


@pytest.mark.parametrize(
    ("fewer", "more"),
    [
        (log_alone, without_ends),
        (log_alone, without_events),
        (without_ends, copy.copy),
        (without_events, copy.copy),
    ],
)
def test_added_source_loses_no_finding(
    fewer: Sources, more: Sources, told_from: Callable[[Sources], list[Told]]
) -> None:
    for some, all_of_it in zip(told_from(fewer), told_from(more), strict=True):
        assert loses(rules(some), rules(all_of_it)) == [], some.group.group_id


def test_text_log_keeps_static_sleeper() -> None:
    story = Story().generation(1, 0.5, STATIC).silence([1, 4], 80, 119.9)
    story.silence([0, 2, 3, 5], 115.1, 120.1)
    whole = story.rebalance(2, 115, 120, STATIC | {"c-4/4": {}}, "join_new", "c-4/4").group_input()
    assert whole.events
    for group in (whole, log_alone(whole)):
        (found,) = [finding for finding in diagnose(analyse(group)) if finding.rule == "R12"]
        assert found.clients == ["i-2"]


def test_text_log_alone_shows_group_wait(recorded_groups: dict[str, GroupInput]) -> None:
    (found,) = [f for f in diagnose(analyse(text_alone(recorded_groups["one-slow-member"]))) if f.rule == "R01"]
    assert found.text.startswith("the group waited 3 times for members to rejoin")
    assert (found.clients, found.confidence, found.severity) == ([], "certain", "warning")
    assert found.evidence["waits_ms"] == [pytest.approx(ms, abs=300) for ms in (10_400, 12_800, 10_900)]
