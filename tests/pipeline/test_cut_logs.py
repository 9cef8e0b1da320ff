"""A log that begins later or ends sooner than the group makes things unknown, and nothing wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import ALL, diagnose
from kohort.pipeline.rules.finding import Finding
from tests.pipeline.incidents.cuts import FACTS_OF_A_PART, without_end, without_start
from tests.pipeline.incidents.recorded import Sources, Told, log_alone, recorded, text_alone
from tests.pipeline.stories import Story, ms
from tests.support.effort import EFFORT, in_turn

SHARES = [n / EFFORT.cuts for n in range(1, EFFORT.cuts)]
A, B, C = "c-1/a", "c-2/a", "c-3/a"


def found_in(group: GroupInput) -> list[Finding]:
    return list(diagnose(analyse(copy.copy(group))))


@pytest.mark.parametrize("sources", [copy.copy, log_alone, text_alone])
@pytest.mark.parametrize("cut", [without_start, without_end])
def test_partial_log_adds_no_certainty(
    sources: Sources,
    cut: Callable[[GroupInput, float], GroupInput],
    told_from: Callable[[Sources], list[Told]],
) -> None:
    for number, (group, _, found) in enumerate(told_from(sources)):
        if not group.records and not group.events:
            continue
        sure = {finding.rule for finding in found if finding.confidence == "certain"}
        for share in in_turn(SHARES, number):
            for finding in found_in(cut(group, share)):
                if finding.confidence == "certain":
                    assert finding.rule in sure | FACTS_OF_A_PART.keys(), (group.group_id, share, finding)


def test_facts_of_a_part_are_rules() -> None:
    assert FACTS_OF_A_PART.keys() <= ALL.keys()


def test_ids_alone_name_nobody(all_recorded: list[GroupInput]) -> None:
    looping = [text_alone(group) for group in all_recorded if group.group_id == "crash-loop" and group.events]
    found = [result for group in looping for result in found_in(group) if result.rule == "R03" and not result.clients]
    assert found
    assert {finding.confidence for finding in found} == {"possible"}
    assert all("it is unknown whether the client came back" in finding.text for finding in found)


def test_generations_before_log_are_not_lost() -> None:
    group = Story().generation(913, 0.5, {A: {}}).rebalance(914, 100, 101, {A: {}, B: {}}, "join_new", B).group_input()
    assert [r.lost for r in analyse(copy.copy(group)).rebalances] == [912, 0]  # the log is whole: they never were
    group.intact_from = group.records[0].offset
    assert [r.lost for r in analyse(copy.copy(group)).rebalances] == [None, 0]
    assert "R25" not in {finding.rule for finding in found_in(group)}


def test_generations_in_gap_are_not_lost() -> None:
    group = Story().generation(1, 0.5, {A: {}}).rebalance(9, 100, 101, {A: {}, B: {}}, "join_new", B).group_input()
    assert [r.lost for r in analyse(copy.copy(group)).rebalances] == [0, 7]
    group.intact_from = group.records[1].offset
    assert [r.lost for r in analyse(copy.copy(group)).rebalances] == [0, None]


def test_missing_generation_line_is_a_gap() -> None:
    story = Story()
    for number, at in ((5, 1.0), (6, 2.0), (9, 60.0)):
        story.event(at, "join_completed", generation=number, members=1)
    group = text_alone(story.group_input())
    assert [r.lost for r in analyse(group).rebalances] == [None, 0, None]


def test_log_start_is_no_group_start() -> None:
    story = Story().generation(7, 0.5, {A: {}})
    members: dict[str, dict[str, str]] = {A: {}}
    for number, joiner in enumerate((B, C, "c-4/a"), start=8):
        members = members | {joiner: {}}
        at = 10 * (number - 7)
        story.rebalance(number, at, at + 1, members, "join_new", joiner)
    group = story.group_input()
    group.intact_from = group.records[0].offset
    assert {finding.rule for finding in found_in(group)} & {"R25", "R26"} == set()


def test_join_rebalance_identifies_new_member(tmp_path: Path) -> None:
    # before Kafka 4 the INFO log names a new member only as the reason of a rebalance
    lines, at = [], 0
    for number in range(5):
        member = f"svc-{number:08x}-1111-4222-8333-444455556666"
        for later, text in (
            (0, f"Preparing to rebalance group svc in state PreparingRebalance with old generation {2 * number} "
                f"(__consumer_offsets-3) (reason: Adding new member {member} with group instance id None)"),
            (3, f"Stabilized group svc generation {2 * number + 1} (__consumer_offsets-3) with 1 members"),
            (3, f"Assignment received from leader {member} for group svc for generation {2 * number + 1}. The group has 1 "
                "members, 0 of which are static."),
            (13, f"Member {member} in group svc has failed, removing it from the group"),
            (13, f"Preparing to rebalance group svc in state PreparingRebalance with old generation {2 * number + 1} "
                 f"(__consumer_offsets-3) (reason: removing member {member} on heartbeat expiration)"),
            (13, f"Group svc with generation {2 * number + 2} is now empty (__consumer_offsets-3)"),
        ):  # fmt: skip
            moment = f"2026-03-05 10:{(at + later) // 60:02}:{(at + later) % 60:02},000"
            lines.append(f"[{moment}] INFO [GroupCoordinator 1]: {text} (kafka.coordinator.group.GroupCoordinator)\n")
        at += 18
    (tmp_path / "server.log").write_text("".join(lines))
    (finding,) = [result for result in found_in(recorded(tmp_path)["svc"]) if result.severity == "critical"]
    assert (finding.rule, finding.confidence, finding.clients) == ("R05", "certain", ["svc"])
    assert finding.evidence["crashes"] == 5


def test_joiner_has_no_previous_epoch(all_recorded: list[GroupInput]) -> None:
    # in a log that starts later a member record alone may be a changed subscription
    killed = next(group for group in all_recorded if group.group_id == "killed" and group.records)
    part = without_start(log_alone(killed), 1 / 4)
    joins = [r.why for r in analyse(copy.copy(part)).rebalances if r.why.cause == "join_new"]
    assert {why.confidence for why in joins} == {"certain"}
    part.members = [replace(row, previous_epoch=7) if row.previous_epoch == 0 else row for row in part.members]
    joins = [r.why for r in analyse(part).rebalances if r.why.cause == "join_new"]
    assert {why.confidence for why in joins} == {"likely"}


def test_dead_member_may_return_after_log() -> None:
    story = Story(until=110).generation(1, 0.5, {A: {}, B: {}})
    story.event(100, "member_removed", member_id=B, cause="session_expired", client_id="c-2")
    story.rebalance(2, 100, 101, {A: {}}, "session_expired", B)
    group = story.group_input()
    group.until_ms = ms(110)
    (finding,) = [result for result in found_in(group) if result.rule == "R03"]
    assert (finding.title, finding.confidence) == ("A member's session expired", "certain")
    assert "had not come back" in finding.text
    assert "at the end of the data" in finding.text


def test_member_before_log_belongs_to_group(all_recorded: list[GroupInput]) -> None:
    # c-1 joined first and left last; without it the group would end with c-2
    looping = [group for group in all_recorded if group.group_id == "crash-loop" and group.ends]
    told = [(group, finding) for group in looping for finding in found_in(group) if finding.rule == "R29"]
    assert told
    for group, whole in told:
        for share in SHARES:
            for part in found_in(without_start(group, share)):
                if part.rule == "R29":
                    assert (part.severity, part.confidence) in (
                        (whole.severity, whole.confidence),
                        ("info", "possible"),
                    )
