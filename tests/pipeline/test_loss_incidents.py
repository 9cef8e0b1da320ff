"""Incidents that lose records or stop a service, on a real Kafka 4.3; most of them without a rebalance that shows it.

`incidents/loss_stories.py` is what was done, `incidents/record.py` made the recording. The healthy groups do
what looks alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kohort.pipeline.gold.gold_files import write_tables
from kohort.pipeline.gold.group_tables import analyse_group, as_tables
from kohort.pipeline.gold.outage_findings import judge_outages
from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.report.results import FindingRow, findings
from kohort.pipeline.rules.diagnose import diagnose
from tests.pipeline.incidents.loss_stories import HEALTHY
from tests.pipeline.incidents.recorded import Recorded, log_alone, text_alone
from tests.pipeline.incidents.told import OF_LOSSES as TOLD

CUT_OFF = [f"cut-off-{number}" for number in (1, 2, 3, 4)]
GROUPS = [group for group in TOLD if group != "cut-off"] + CUT_OFF


@pytest.fixture(scope="module")
def folder(incidents: Callable[[str], Recorded]) -> Path:
    return incidents("loss-kafka-4.3").folder


@pytest.fixture(scope="module")
def groups(incidents: Callable[[str], Recorded]) -> dict[str, GroupInput]:
    return incidents("loss-kafka-4.3").groups


@pytest.fixture(scope="module")
def told(groups: dict[str, GroupInput], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[FindingRow]]:
    """What is said of each group when all are looked at."""
    gold = tmp_path_factory.mktemp("gold")
    tables: dict[str, list[object]] = {}
    for group in groups.values():
        for table, rows in as_tables(group, analyse_group(group)).items():
            tables.setdefault(table, []).append(rows)
    write_tables(tables, gold)
    judge_outages(gold)
    found: dict[str, list[FindingRow]] = {name: [] for name in groups}
    for finding in findings(gold):
        found[finding["group"]].append(finding)
    return found


def serious(found: list[FindingRow]) -> dict[str, tuple[str, list[str]]]:
    """Return the worst finding of each rule, with all members it names."""
    result: dict[str, tuple[str, list[str]]] = {}
    for finding in found:
        if finding["severity"] != "info":
            severity, clients = result.get(finding["rule"], (finding["severity"], []))
            result[finding["rule"]] = (severity, sorted({*clients, *finding["clients"]}))
    return result


def test_every_story_is_looked_at(groups: dict[str, GroupInput]) -> None:
    assert groups.keys() == set(GROUPS)


@pytest.mark.parametrize("group", GROUPS)
def test_only_actual_incidents_are_reported(told: dict[str, list[FindingRow]], group: str) -> None:
    assert serious(told[group]) == TOLD[group if group not in CUT_OFF else "cut-off"]


@pytest.mark.parametrize("group", HEALTHY)
def test_log_alone_clears_no_healthy_group(groups: dict[str, GroupInput], group: str) -> None:
    for alone in (log_alone(groups[group]), text_alone(groups[group])):
        assert {f.rule for f in diagnose(analyse(alone)) if f.severity != "info" or f.confidence == "certain"} <= {
            "R16"
        }


def only(found: list[FindingRow], rule: str) -> FindingRow:
    (finding,) = [each for each in found if each["rule"] == rule]
    return finding


def when(folder: Path, group: str, event: str) -> int:
    rows = map(json.loads, (folder / "truth.jsonl").read_text().splitlines())
    return int(next(row["ms"] for row in rows if (row["group"], row["event"]) == (group, event)))


@pytest.mark.parametrize("group", ["hanging-transaction", "hanging-transaction-848"])
def test_hanging_transaction_shows_its_length(told: dict[str, list[FindingRow]], folder: Path, group: str) -> None:
    finding = only(told[group], "R37")
    began, ended = when(folder, group, "transaction_begins"), when(folder, group, "transaction_ends")
    assert finding["evidence"]["stood_ms"] == pytest.approx(ended - began, abs=3_500)
    assert (finding["confidence"], finding["cause_confidence"]) == ("certain", "likely")
    assert "an open transaction blocks them" in finding["text"]
    assert finding["advice"].startswith("Abort the open transaction")


@pytest.mark.parametrize("group", ["dependency-away", "dependency-away-848"])
def test_waiting_members_are_no_transaction(told: dict[str, list[FindingRow]], folder: Path, group: str) -> None:
    finding = only(told[group], "R37")
    away_ms = when(folder, group, "dependency_back") - when(folder, group, "dependency_away")
    assert finding["evidence"]["stood_ms"] == pytest.approx(away_ms, abs=3_500)
    assert "no transaction was open" in finding["text"]


@pytest.mark.parametrize("group", ["hanging-transaction", "dependency-away"])
def test_unknown_stable_offsets_give_no_cause(groups: dict[str, GroupInput], group: str) -> None:
    for ends in groups[group].ends.values():
        ends.last_stable = ends.last_stable * 0 - 1
    (finding,) = [result for result in diagnose(analyse(groups[group])) if result.rule == "R37"]
    assert (finding.confidence, finding.cause_confidence) == ("certain", "possible")
    assert "transaction" not in finding.text
    assert "dump" in finding.advice
    assert "find-hanging" in finding.advice


def test_stop_without_log_ends_is_possible(groups: dict[str, GroupInput]) -> None:
    for name in ("hanging-transaction", "nothing-new"):
        (finding,) = [result for result in diagnose(analyse(log_alone(groups[name]))) if result.rule == "R37"]
        assert (finding.severity, finding.confidence) == ("info", "possible")


def test_unread_deleted_records_are_counted(told: dict[str, list[FindingRow]], folder: Path) -> None:
    finding = only(told["overtaken"], "R38")
    assert finding["start_ms"] == pytest.approx(when(folder, "overtaken", "retention"), abs=3_000)
    assert finding["evidence"]["partitions"] == 4
    assert 2_000 < finding["evidence"]["records"] < 4_000


def test_new_partitions_that_nobody_owns(told: dict[str, list[FindingRow]], folder: Path) -> None:
    finding = only(told["unowned"], "R39")
    assert finding["start_ms"] == pytest.approx(when(folder, "unowned", "partitions_added"), abs=4_000)
    assert finding["evidence"]["partitions"] == 4
    assert finding["evidence"]["records"] == pytest.approx(20 * finding["evidence"]["lasted_ms"] / 1000, rel=0.2)


def test_refused_member_is_no_deployment(told: dict[str, list[FindingRow]]) -> None:
    finding = only(told["refused-rollout"], "R40")
    assert finding["evidence"]["sizes"] == [3, 2, 1, 0]
    assert finding["evidence"]["protocols"] == ["range", "roundrobin"]
    assert not [each for each in told["refused-rollout"] if each["rule"] == "R04"]


def test_broker_log_explains_refused_migration(told: dict[str, list[FindingRow]]) -> None:
    finding = only(told["refused-migration"], "R41")
    assert "online upgrade is disabled" in finding["text"]
    assert "group.consumer.migration.policy" in finding["advice"]


def test_slow_record_blames_no_member(told: dict[str, list[FindingRow]]) -> None:
    finding = only(told["slow-record"], "R46")
    assert (finding["evidence"]["part"], finding["evidence"]["offset"]) == (1, 100)
    assert not [each for each in told["slow-record"] if each["rule"] == "R04"]


def test_shared_disconnect_is_mentioned(told: dict[str, list[FindingRow]]) -> None:
    for group in CUT_OFF:
        finding = only(told[group], "R36")
        assert (finding["evidence"]["expiries"], finding["evidence"]["of"]) == (12, 4)
        assert only(told[group], "R03")["advice"].startswith("R36 explains it")
