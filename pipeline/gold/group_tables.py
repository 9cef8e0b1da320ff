"""One group from silver to gold: everything that is said about it."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from kohort.pipeline.gold.gold_schemas import SCHEMAS
from kohort.pipeline.gold.rows import day_of, gold_rows
from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.proposals import proposals

Row = dict[str, Any]


def analyse_group(group: GroupInput) -> dict[str, list[Row]]:
    """Rows of every gold table for one group."""
    analysis = analyse(group)
    tables = gold_rows(analysis)
    findings = diagnose(analysis)
    tables["diagnoses"] = [
        {
            "rule_id": f.rule,
            "title": f.title,
            "severity": f.severity,
            "confidence": f.confidence,
            "clients": f.clients,
            "window_start_ms": f.start_ms,
            "window_end_ms": f.end_ms,
            "evidence": json.dumps(f.evidence),
            "text": f.text,
            "advice": f.advice,
            "day": day_of(f.start_ms),
        }
        for f in findings
    ]
    tables["recommendations"] = [
        {
            "setting": p.setting,
            "client": p.client,
            "current": p.current,
            "proposed": p.proposed,
            "basis": p.basis,
            "sample_size": p.sample_size,
            "percentile": p.percentile,
            "expected_effect": p.expected_effect,
            "confidence": p.confidence,
            "day": day_of(analysis.span_ms[0]),
        }
        for p in proposals(analysis, findings)
    ]
    return {table: rows for table, rows in tables.items() if rows}


def as_tables(group: GroupInput, rows: dict[str, list[Row]]) -> dict[str, pa.Table]:
    """The rows under their schemas, with cluster and group filled in."""
    result = {}
    for table, found in rows.items():
        schema = SCHEMAS[table]
        for row in found:
            row["cluster"], row["group_id"] = group.cluster, group.group_id
        result[table] = pa.table([pa.array([row.get(f.name) for row in found], f.type) for f in schema], schema=schema)
    return result
