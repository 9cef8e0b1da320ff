"""Groups that stop together are not blamed for it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest

from kohort.pipeline.gold.gold_files import write_tables
from kohort.pipeline.gold.group_tables import analyse_group, as_tables
from kohort.pipeline.gold.outage_findings import judge_outages
from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.history.pauses import pauses
from kohort.pipeline.report.results import findings
from kohort.pipeline.rules.r35_broker_stopped import Outage, outages
from tests.pipeline.incidents.recorded import Recorded
from tests.pipeline.stories import Story, ms

ALL = dict.fromkeys(("a", "b", "c", "d"), (0, 100000))


def test_most_groups_at_the_same_time() -> None:
    still = {"a": [(10_000, 19_000)], "b": [(11_000, 18_000)], "c": [(10_500, 20_000)], "d": [(10_800, 21_000)]}
    (outage,) = outages(still, ALL)
    assert (outage.groups, outage.of) == (("a", "b", "c", "d"), 4)
    assert (outage.start_ms, outage.end_ms) == (11_000, 18_000)


@pytest.mark.parametrize(
    "still",
    [
        {"a": [(10_000, 19_000)], "b": [(11_000, 18_000)]},
        {"a": [(10_000, 19_000)], "b": [(11_000, 18_000)], "c": [(30_000, 50_000)]},
        {group: [(10_000, 11_500)] for group in ALL},
    ],
    ids=["two", "two and another later", "for a moment"],
)
def test_no_outage(still: dict[str, list[tuple[int, int]]]) -> None:
    assert outages(still, ALL) == []


def test_absent_groups_do_not_count() -> None:
    lived = ALL | {f"old-{n}": (0, 5_000) for n in range(20)}
    still = {group: [(10_000, 19_000)] for group in ("a", "b", "c", "d")}
    assert outages(still, lived) == [Outage(10_000, 19_000, ("a", "b", "c", "d"), 4)]


def frozen(name: str) -> GroupInput:
    """Stop the commits of a group for 8 s, and expire one of its sessions if requested."""
    members = {"c-1/a": {"session": 6_000}, "c-2/a": {"session": 6_000}}
    story = Story(name=name).generation(1, 0.5, members).silence(list(range(6)), 300, 308.5)
    story.event(308.2, "member_removed", member_id="c-2/a", cause="session_expired")
    return story.rebalance(2, 308.2, 308.4, {"c-1/a": {"session": 6_000}}, "session_expired", "c-2/a").group_input()


def test_member_lost_with_broker_is_innocent(tmp_path: Path) -> None:
    for names in (["one"], ["one", "two", "three"]):
        gold = tmp_path / str(len(names))
        write_tables(_tables([frozen(name) for name in names]), gold)
        judge_outages(gold)
        found = {row["rule"]: row for row in findings(gold) if row["group"] == "one"}
        if len(names) == 1:
            assert found["R03"]["severity"] == "warning"
            assert "R35" not in found
        else:
            assert found["R03"]["severity"] == "info"
            assert found["R03"]["advice"] == "R35 explains it: The group paused together with others."
            assert "this group and 2 of 2 others (three, two) committed nothing" in found["R35"]["text"]
            assert found["R35"]["start_ms"] == pytest.approx(ms(300), abs=1_100)


def test_broker_pause(incidents: Callable[[str], Recorded], tmp_path: Path) -> None:
    groups = incidents("classic-kafka-4.3").groups
    left = ["calm", "calm-default-ids", "calm-static"]
    write_tables(_tables([groups[name] for name in left]), tmp_path / "gold")
    judge_outages(tmp_path / "gold")
    assert {row["group"] for row in findings(tmp_path / "gold") if row["rule"] == "R35"} == set(left)


def test_large_recording_has_no_common_stop(recorded_groups: dict[str, GroupInput]) -> None:
    analyses = {name: analyse(copy.copy(group)) for name, group in recorded_groups.items()}
    still = {
        name: found for name, each in analyses.items() if (found := pauses(each.commits, each.ownership)) is not None
    }
    lived = {
        name: (each.commits.first_ms or 0, each.commits.last_ms or 0)
        for name, each in analyses.items()
        if name in still
    }
    assert outages(still, lived) == []


def static_expiry(name: str, *, returns: bool) -> GroupInput:
    """Expire the sessions of two static members together; they return 10 s later if `returns`."""
    members = {f"i-{n}-a": {"session": 6_000, "client": f"i-{n}", "instance_id": f"i-{n}"} for n in (1, 2)}
    story = Story(name=name, until=360).generation(1, 0.5, members).silence(list(range(6)), 300, 320)
    for member_id in members:
        story.event(306, "member_removed", member_id=member_id, cause="session_expired")
    story.rebalance(2, 306, 306.1, {}, "session_expired", next(iter(members)))
    if returns:
        back = {member_id.replace("-a", "-b"): differs for member_id, differs in members.items()}
        story.rebalance(3, 316, 316.5, back, "join_static", next(iter(back)))
    return story.group_input()


@pytest.mark.parametrize("returns", [True, False])
def test_stopped_static_groups_expire_alone(tmp_path: Path, returns: bool) -> None:
    write_tables(_tables([static_expiry(name, returns=returns) for name in ("one", "two", "three")]), tmp_path)
    judge_outages(tmp_path)
    assert {row["group"] for row in findings(tmp_path) if row["rule"] == "R36"} == (
        {"one", "two", "three"} if returns else set()
    )


def test_recorded_stop_of_static_groups(incidents: Callable[[str], Recorded], tmp_path: Path) -> None:
    write_tables(_tables(list(incidents("what-if-kafka-4.3").groups.values())), tmp_path)
    judge_outages(tmp_path)
    assert not {row["rule"] for row in findings(tmp_path)} & {"R35", "R36"}


def _tables(groups: list[GroupInput]) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for group in groups:
        for table, rows in as_tables(group, analyse_group(group)).items():
            found.setdefault(table, []).append(rows)
    return found
