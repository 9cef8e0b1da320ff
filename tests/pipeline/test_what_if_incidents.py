"""Findings about groups of the what-if recordings, whose members wrote down what happened to them.

`../shared/data/what-if` has all of it. The copies here contain the groups that showed wrong or missing findings.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from kohort.pipeline.sources.text_log import columns_of
from tests.pipeline.incidents.recorded import Recorded, Sources, log_alone, text_alone

COMMIT_MS = 5_000  # interval at which the groups of the story `crash` commit


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


@pytest.mark.parametrize(
    ("group", "sources", "waited_ms", "stopped_ms"),
    [
        ("crash-session45", copy.copy, 39_100, 38_700 + COMMIT_MS),
        ("crash-session45", log_alone, 39_100, 38_700 + COMMIT_MS),
        ("crash-session45", text_alone, 39_100, 0),
        ("crash-session10", copy.copy, 4_200, 0),  # as long as the usual time between two commits
    ],
)
def test_stop_for_killed_member_is_stated(
    groups: dict[str, GroupInput], group: str, sources: Sources, waited_ms: int, stopped_ms: int
) -> None:
    finding = only(sources(groups[group]), "R03")
    assert finding.clients == ["m2"]
    assert finding.evidence["longest_wait_ms"] == pytest.approx(waited_ms, abs=500)
    assert finding.evidence["without_progress_ms"] == pytest.approx(stopped_ms, abs=1_000)
    assert "before the old session expired" in finding.text
    assert "the whole group waited" in finding.text
    assert finding.advice.startswith("Find out why the process ended without closing its consumer")


def test_killed_consumer_member_has_successor(groups: dict[str, GroupInput]) -> None:
    finding = only(groups["crash-consumer45"], "R03")
    assert "joined again as a new member" in finding.text
    assert "stops" not in finding.evidence  # only its own partitions waited


@pytest.mark.parametrize(
    ("group", "names"), [("slow-batch-range", ["m2", "m3"]), ("slow-batch-cooperative", ["m2", "m3"])]
)
def test_members_in_slow_batches_are_named(groups: dict[str, GroupInput], group: str, names: list[str]) -> None:
    stops = of_rule(groups[group], "R01")
    assert sorted(client for finding in stops for client in finding.clients) == names
    if group == "slow-batch-range":
        assert sum(finding.evidence["without_progress_ms"] for finding in stops) == pytest.approx(17_100, abs=1_000)
    else:
        assert all("members that keep their partitions may have continued to read" in finding.text for finding in stops)
        assert {finding.title for finding in stops} == {"One slow member delayed the rebalance"}


@pytest.mark.parametrize(("group", "rebalances"), [("rolling-range", 8), ("rolling-cooperative", 12)])
def test_restarts_cause_all_rebalances_of_truth(groups: dict[str, GroupInput], group: str, rebalances: int) -> None:
    finding = only(groups[group], "R04")
    assert finding.evidence["rebalances_caused"] == rebalances
    assert f"caused {rebalances} rebalances" in finding.text
    assert only(groups[group], "R26").evidence["rebalances_counted"] >= rebalances


def test_record_in_batch_is_not_exact(groups: dict[str, GroupInput]) -> None:
    finding = only(groups["poison-poll15"], "R46")
    assert "processes the record at or after poison-3@50 for longer" in finding.text
    assert finding.advice.startswith("Read the records from poison-3@50 on")


@pytest.mark.parametrize(
    ("line", "to", "reason"),
    [
        ("Cannot upgrade classic group g: x to consumer group: userData from a custom assignor would be lost.",
         "consumer", "userData from a custom assignor would be lost"),
        ("Cannot upgrade classic group g: x to consumer group because online upgrade is disabled.",
         "consumer", "online upgrade is disabled"),
        ("Cannot downgrade consumer group g: x to classic group because the online downgrade is disabled.",
         "classic", "the online downgrade is disabled"),
        ("Cannot downgrade the classic group g: malformed.", "classic", "malformed"),
    ],
)  # fmt: skip
def test_rejected_conversion_names_its_group(line: str, to: str, reason: str) -> None:
    columns = columns_of(line)
    assert columns is not None
    assert columns["group_id"] == ("g: x" if " to " in line else "g")
    assert (columns["kind"], columns["detail"]) == ("conversion_refused", {"to": to, "reason": reason})
