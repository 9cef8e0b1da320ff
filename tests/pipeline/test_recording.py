"""Findings about a real cluster, compared with an expert's."""

from __future__ import annotations

import copy
import re
from dataclasses import replace

import pytest

from kohort.pipeline.gold.group_tables import analyse_group
from kohort.pipeline.history.group_analysis import GroupAnalysis, analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.history.silver_input import GroupRows, group_input
from kohort.pipeline.history.zones import settle_zone
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.silver.silver_rows import GroupRecord
from tests.pipeline.expected import BARRIERS, EXPECTED, NOTHING_SERIOUS, Expected


@pytest.fixture(scope="module")
def analyses(recorded_groups: dict[str, GroupInput]) -> dict[str, GroupAnalysis]:
    return {name: analyse(group) for name, group in recorded_groups.items()}


@pytest.mark.parametrize(("group", "expected"), [(g, e) for g, all_of in EXPECTED.items() for e in all_of], ids=str)
def test_recording_findings(analyses: dict[str, GroupAnalysis], group: str, expected: Expected) -> None:
    rule, client, evidence = expected
    found = [finding for finding in diagnose(analyses[group]) if finding.rule == rule]
    assert found, f"{rule} is silent about {group}"
    assert client is None or client in found[0].clients
    for name, (value, tolerance) in evidence.items():
        figure = dict(found[0].evidence)[name]
        assert isinstance(figure, int | float)
        assert abs(figure - value) <= tolerance, name


@pytest.mark.parametrize("group", NOTHING_SERIOUS)
def test_is_quiet_about_the_healthy(analyses: dict[str, GroupAnalysis], group: str) -> None:
    assert [(f.rule, f.text) for f in diagnose(analyses[group]) if f.severity != "info"] == []


@pytest.mark.parametrize("group", BARRIERS)
def test_barriers_and_their_waits(analyses: dict[str, GroupAnalysis], group: str) -> None:
    count, waited_s = BARRIERS[group]
    reached = [r for r in analyses[group].rebalances if r.reached_barrier and not r.is_epoch]
    assert len(reached) == count
    assert sum(r.prepare_ms for r in reached) / 1000 == pytest.approx(waited_s, abs=0.1)


def test_aborted_offsets_do_not_count(analyses: dict[str, GroupAnalysis]) -> None:
    etl = analyses["txn-etl"]
    assert etl.group.aborted_commits == 86
    assert not [stall for stall in etl.stalls if stall.kind == "rewind"]


def test_share_groups_have_no_owners(analyses: dict[str, GroupAnalysis]) -> None:
    assert analyses["share-workers"].group_type == "share"
    assert analyses["share-workers"].rebalances == []


def test_recording_invariants(analyses: dict[str, GroupAnalysis]) -> None:
    # invariants of any input (design, section 13)
    for analysis in analyses.values():
        for r in analysis.rebalances:
            if r.movement is not None:
                assert 0 <= r.movement.moved <= r.movement.common
                assert r.movement.stickiness is None or 0 <= r.movement.stickiness <= 1
            assert r.cost.unavailable_partition_s[0] <= r.cost.unavailable_partition_s[1] + 1e-9
            if r.why.prepare_hi_ms is not None and r.before.size:
                assert r.why.prepare_lo_ms <= r.prepare_ms <= r.why.prepare_hi_ms
        storms = [r for storm in analysis.storms for r in storm.rebalances]
        assert len(storms) == len({r.number for r in storms})


def test_slow_member_without_text_log(recorded_groups: dict[str, GroupInput]) -> None:
    for name in ("one-slow-member", "slow-but-cooperative"):
        group = copy.copy(recorded_groups[name])
        group.events = []
        (finding,) = [f for f in diagnose(analyse(group)) if f.rule == "R01"]
        assert finding.clients == ["c-2"]
        assert finding.confidence == "likely"
        assert finding.evidence["longest_wait_ms"] == pytest.approx(12_700, abs=1500)


def test_death_precedes_its_discovery(analyses: dict[str, GroupAnalysis]) -> None:
    (finding,) = [f for f in diagnose(analyses["crash-loop"]) if f.rule == "R05"]
    assert "detected about 10.1 s after it had joined (its session timeout of 6.0 s included)" in finding.text


def test_mixed_settings_lists_only_differences(analyses: dict[str, GroupAnalysis]) -> None:
    (finding,) = [f for f in diagnose(analyses["shared-group-id"]) if f.rule == "R28"]
    assert finding.text.startswith("members differ: max.poll.interval.ms is 6.0 s, 15.0 s; the join barrier waits for")


def test_unknown_start_gives_no_time_share(recorded_groups: dict[str, GroupInput]) -> None:
    findings = diagnose(analyse(_log_alone(recorded_groups["crash-loop"])))
    assert [f.text for f in findings if f.rule == "R26" and "%" in f.text] == []
    assert {f.evidence["share_is"] for f in findings if f.rule == "R26"} == {"at least"}


def _log_alone(group: GroupInput) -> GroupInput:
    """Return the group without the broker's text log and samples of log ends."""
    alone = copy.copy(group)
    alone.events, alone.ends = [], {}
    return alone


def test_log_alone_blames_nobody_else(
    recorded_groups: dict[str, GroupInput], analyses: dict[str, GroupAnalysis]
) -> None:
    def blamed(analysis: GroupAnalysis) -> set[tuple[str, str, str]]:
        found = [f for f in diagnose(analysis) if f.severity != "info"]
        return {(analysis.group.group_id, f.rule, client) for f in found for client in f.clients}

    for name, group in recorded_groups.items():
        assert blamed(analyse(_log_alone(group))) <= blamed(analyses[name])


@pytest.mark.parametrize(
    ("name", "rule", "client"),
    [("crash-loop", "R05", "c-3"), ("frozen-at-barrier", "R01", "c-1"), ("slow-beyond-poll", "R01", "c-3")],
)
def test_log_alone_shows_end_of_wait(recorded_groups: dict[str, GroupInput], name: str, rule: str, client: str) -> None:
    found = [f for f in diagnose(analyse(_log_alone(recorded_groups[name]))) if f.rule == rule]
    assert [(f.clients, f.confidence) for f in found] == [([client], "likely")]


def test_text_log_gives_times_and_causes(recorded_groups: dict[str, GroupInput]) -> None:
    group = recorded_groups["frozen-at-barrier"]
    alone = GroupInput(group.group_id, events=group.events, until_ms=group.until_ms)
    waits = [r.prepare_ms for r in analyse(alone).rebalances if r.reached_barrier]
    assert waits == [pytest.approx(ms, abs=100) for ms in (6000, 10_000, 800)]
    assert any(f.rule == "R01" and f.clients == ["c-1"] for f in diagnose(analyse(alone)))


@pytest.mark.parametrize("ahead_ms", [2 * 3_600_000, -(5 * 60 + 30) * 60_000])
def test_local_time_log_is_shifted(
    recorded_groups: dict[str, GroupInput], analyses: dict[str, GroupAnalysis], ahead_ms: int
) -> None:
    for name in ("crash-loop", "rolling-dynamic", "kip848-slow-revoker"):
        group = copy.copy(recorded_groups[name])
        group.events = [replace(event, ts=event.ts + ahead_ms) for event in group.events]
        settle_zone(group)
        assert set(group.ahead_ms.values()) == {ahead_ms}
        analysis = analyse(group)
        assert [f.text for f in diagnose(analysis)] == [f.text for f in diagnose(analyses[name])]
        said = [row["detail"] for row in analyse_group(group)["dq_issues"] if row["rule"] == "time_zone"]
        assert all(("2:00 h ahead of" if ahead_ms > 0 else "5:30 h behind") in detail for detail in said)
        assert said


@pytest.mark.parametrize("ahead_ms", [120_437, -90_012])
def test_broker_clock_is_corrected(
    recorded_groups: dict[str, GroupInput], analyses: dict[str, GroupAnalysis], ahead_ms: int
) -> None:
    # otherwise the difference between two clocks would look like a rebalance of two minutes
    for name in ("crash-loop", "rolling-dynamic", "kip848-slow-revoker"):
        group = copy.copy(recorded_groups[name])
        group.events = [replace(event, ts=event.ts + ahead_ms) for event in group.events]
        settle_zone(group)
        assert all(by == pytest.approx(ahead_ms, abs=20) for by in group.ahead_ms.values())
        analysis = analyse(group)
        assert [(f.rule, f.clients) for f in diagnose(analysis)] == [
            (f.rule, f.clients) for f in diagnose(analyses[name])
        ]
        waits = [r.prepare_ms for r in analyses[name].rebalances]
        assert [r.prepare_ms for r in analysis.rebalances] == [pytest.approx(wait, abs=20) for wait in waits]
        said = [row["detail"] for row in analyse_group(group)["dq_issues"] if row["rule"] == "clock_skew"]
        assert all(re.search(r"broker \d's text log is (120|90)\.\d\d\d s (ahead of|behind)", each) for each in said)
        assert said


def test_utc_text_log_is_not_shifted(recorded_groups: dict[str, GroupInput]) -> None:
    assert not any(group.ahead_ms for group in recorded_groups.values())
    assert {group.conflicts for group in recorded_groups.values()} == {0}, "several sources contain the same records"


def test_mixed_cluster_logs_are_reported() -> None:
    def read_from(*found: tuple[int, int]) -> GroupInput:
        records = [
            GroupRecord(
                partition=3, offset=7, ts_ms=1, group_id="orders", record_type=2, group_type="classic", op_id=0,
                generation=generation, rank=rank, n_members=0,
            )
            for generation, rank in found
        ]  # fmt: skip
        return group_input("orders", "", [], GroupRows(group_records=records))

    group = read_from((4, 0), (9, 0))
    assert group.conflicts == 1
    assert "conflicting_sources" in {row["rule"] for row in analyse_group(group)["dq_issues"]}
    assert read_from((4, 0), (4, 1)).conflicts == 0
