"""One group from silver to gold."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
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

Rows = Iterable[Any]  # TypedDicts of `gold_rows`, all of one table
_KEY = ("cluster", "group_id")
_ROWS_AT_ONCE = 2_000


def analyse_group(group: GroupInput) -> dict[str, Rows]:
    """Return the rows of each gold table for one group, without empty tables."""
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


@dataclass(slots=True)
class _Later:
    """Rows that are generated on demand: a large group has millions of minutes.

    A check for emptiness generates the first row; the first iteration continues from there.
    """

    make: Callable[[], Iterator[Any]]
    _started: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        started, self._started = self._started, None
        return self.make() if started is None else started

    def __bool__(self) -> bool:
        rows = self.make()
        first = next(rows, None)
        if first is None:
            return False
        self._started = chain((first,), rows)
        return True


def diagnosis(finding: Finding) -> DiagnosisRow:
    """Return a finding as a row without cluster and group."""
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
    """Return the rows of a group as Arrow tables with cluster and group."""
    builder = TableBuilder()
    builder.add(group, rows)
    return {table: pa.concat_tables(portions) for table, portions in builder.finish().items()}


class TableBuilder:
    """Builds Arrow tables from the rows of many groups.

    Rows are buffered: a table of a few rows costs as much time and memory as one of thousands.
    """

    def __init__(self) -> None:
        self._keys: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._rows: dict[str, list[Any]] = defaultdict(list)
        self._tables: dict[str, list[pa.Table]] = defaultdict(list)

    def add(self, group: GroupInput, rows: dict[str, Rows]) -> None:
        key = (group.cluster, group.group_id)
        for table, table_rows in rows.items():
            remaining = iter(table_rows)
            while portion := list(islice(remaining, _ROWS_AT_ONCE)):
                self._rows[table] += portion
                self._keys[table] += [key] * len(portion)
                if len(self._rows[table]) >= _ROWS_AT_ONCE:
                    self._make(table)

    def finish(self) -> dict[str, list[pa.Table]]:
        """Return each table in one or more chunks, in the order in which groups were added."""
        for table in list(self._rows):
            self._make(table)
        return dict(self._tables)

    def _make(self, table: str) -> None:
        rows, keys = self._rows.pop(table), self._keys.pop(table)
        columns = []
        for column in SCHEMAS[table]:
            if column.name in _KEY:
                values = [key[_KEY.index(column.name)] for key in keys]
            else:
                values = [row[column.name] for row in rows]
            columns.append(pa.array(values, column.type))
        self._tables[table].append(pa.table(columns, schema=SCHEMAS[table]))
