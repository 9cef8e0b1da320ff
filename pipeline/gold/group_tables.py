"""One group from silver to gold: everything that is said about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa

from kohort.pipeline.gold.consumption_rows import (
    assignment_skew_rows,
    commit_minute_rows,
    commit_pause_rows,
    commit_stall_rows,
    lag_minute_rows,
    throughput_rows,
)
from kohort.pipeline.gold.gold_rows import DiagnosisRow, RecommendationRow
from kohort.pipeline.gold.gold_schemas import SCHEMAS
from kohort.pipeline.gold.health_rows import data_issue_rows, group_health_rows, storm_rows
from kohort.pipeline.gold.member_rows import client_flaps_rows, member_session_rows, static_effect_rows
from kohort.pipeline.gold.rebalance_rows import (
    generation_rows,
    partition_move_rows,
    rebalance_member_rows,
    rebalance_rows,
)
from kohort.pipeline.gold.share_rows import share_given_up_rows, share_group_rows, share_member_rows
from kohort.pipeline.history.days import day_of
from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from kohort.pipeline.rules.proposals import Proposal, proposals

Rows = Iterable[Any]
"""TypedDicts of `gold_rows`, all of one table."""
_ROWS_AT_ONCE = 50_000


def analyse_group(group: GroupInput) -> dict[str, Rows]:
    """Rows of every gold table for one group, without the tables that have none."""
    analysis = analyse(group)
    findings = diagnose(analysis)
    tables: dict[str, Rows] = {
        "rebalances": rebalance_rows(analysis),
        "generations": generation_rows(analysis),
        "rebalance_members": rebalance_member_rows(analysis),
        "partition_moves": partition_move_rows(analysis),
        "member_sessions": member_session_rows(analysis),
        "client_flaps": client_flaps_rows(analysis),
        "storms": storm_rows(analysis),
        "assignment_skew": assignment_skew_rows(analysis),
        "commit_stalls": commit_stall_rows(analysis),
        "commit_pauses": commit_pause_rows(analysis),
        "commit_minutes": _Later(partial(commit_minute_rows, analysis)),
        "lag_minutes": lag_minute_rows(analysis),
        "throughput": throughput_rows(analysis),
        "group_health": group_health_rows(analysis),
        "share_groups": share_group_rows(analysis),
        "share_members": share_member_rows(analysis),
        "share_given_up": share_given_up_rows(analysis),
        "static_effect": static_effect_rows(analysis),
        "dq_issues": data_issue_rows(analysis),
        "diagnoses": [diagnosis(finding) for finding in findings],
        "recommendations": [_recommendation(p, analysis.span_ms[0]) for p in proposals(analysis, findings)],
    }
    return {table: rows for table, rows in tables.items() if rows}


@dataclass(frozen=True, slots=True)
class _Later:
    """Rows that are made when they are asked for: a large group has millions of minutes, and they pass one by one."""

    make: Callable[[], Iterator[Any]]

    def __iter__(self) -> Iterator[Any]:
        return self.make()

    def __bool__(self) -> bool:
        return next(self.make(), None) is not None


def diagnosis(finding: Finding) -> DiagnosisRow:
    """A finding as a row of the table, but for the cluster and the group."""
    return {
        "rule_id": finding.rule,
        "title": finding.title,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "cause_confidence": finding.cause_confidence or finding.confidence,
        "clients": finding.clients,
        "window_start_ms": finding.start_ms,
        "window_end_ms": finding.end_ms,
        "evidence": json.dumps(finding.evidence),
        "text": finding.text,
        "advice": finding.advice,
        "day": day_of(finding.start_ms),
    }


def _recommendation(proposal: Proposal, start_ms: int) -> RecommendationRow:
    return {
        "setting": proposal.setting,
        "client": proposal.client,
        "current": proposal.current,
        "proposed": proposal.proposed,
        "basis": proposal.basis,
        "sample_size": proposal.sample_size,
        "percentile": proposal.percentile,
        "expected_effect": proposal.expected_effect,
        "confidence": proposal.confidence,
        "day": day_of(start_ms),
    }


def as_tables(group: GroupInput, rows: dict[str, Rows]) -> dict[str, pa.Table]:
    """The rows under their schemas, with cluster and group filled in."""
    key = {"cluster": group.cluster, "group_id": group.group_id}
    result = {}
    for table, found in rows.items():
        left, portions = iter(found), []
        while portion := list(islice(left, _ROWS_AT_ONCE)):
            columns = []
            for column in SCHEMAS[table]:
                same = column.name in key
                values = [key[column.name]] * len(portion) if same else [row[column.name] for row in portion]
                columns.append(pa.array(values, column.type))
            portions.append(pa.table(columns, schema=SCHEMAS[table]))
        result[table] = pa.concat_tables(portions)
    return result
