"""Gold tables read for the report and for findings.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypedDict, TypeVar

import pyarrow.parquet as pq

from kohort.pipeline.gold.gold_files import read_table
from kohort.pipeline.gold.gold_rows import DiagnosisRow
from kohort.pipeline.gold.gold_schemas import ROW_TYPES, SCHEMAS
from kohort.pipeline.remote_path import Place, for_arrow
from kohort.pipeline.rules.evidence import Evidence
from kohort.pipeline.rules.finding import SEVERITIES

RowT = TypeVar("RowT")

_ROWS_AT_ONCE = 2_000


class FindingRow(TypedDict):
    """Finding as in findings.json.

    evidence: Figures by name, different for each rule.
    confidence: Confidence that it happened.
    cause_confidence: Confidence in the cause that text and advice name.
    """

    group: str
    rule: str
    title: str
    severity: str
    confidence: str
    cause_confidence: str
    clients: list[str]
    start_ms: int
    end_ms: int
    evidence: Evidence
    text: str
    advice: str


def read_gold(gold: Place, row_type: type[RowT]) -> list[RowT]:
    """Read all rows of the gold table with this row type; an empty list if the table wasn't written."""
    return list(iterate_gold(gold, row_type))


def iterate_gold(gold: Place, row_type: type[RowT]) -> Iterator[RowT]:
    """Yield the rows of the gold table with this row type, created in batches."""
    table = next(name for name, table_type in ROW_TYPES.items() if table_type is row_type)
    rows = read_table(gold, table)
    for batch in () if rows is None else rows.to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from batch.to_pylist()


def add_issues(gold: Place, cluster: str, issues: list[tuple[str, str, str]]) -> None:
    """Write issues that belong to no group, replacing those of an earlier call."""
    import pyarrow as pa

    schema = SCHEMAS["dq_issues"].remove(SCHEMAS["dq_issues"].get_field_index("day"))
    rows = [
        {"cluster": cluster, "group_id": None, "rule": rule, "keys": keys, "detail": detail}
        for rule, keys, detail in issues
    ]
    folder = gold / "dq_issues" / "day=all"
    folder.mkdir(parents=True, exist_ok=True)
    path, system = for_arrow(folder / "part-0.parquet")
    pq.write_table(pa.Table.from_pylist(rows, schema), path, filesystem=system)


def findings(gold: Place) -> list[FindingRow]:
    """Return the findings for findings.json, most severe first."""
    rows: list[FindingRow] = [
        {
            "group": row["group_id"] or "",
            "rule": row["rule_id"],
            "title": row["title"],
            "severity": row["severity"],
            "confidence": row["confidence"],
            "cause_confidence": row["cause_confidence"],
            "clients": row["clients"],
            "start_ms": row["window_start_ms"],
            "end_ms": row["window_end_ms"],
            "evidence": json.loads(row["evidence"]),
            "text": row["text"],
            "advice": row["advice"],
        }
        for row in iterate_gold(gold, DiagnosisRow)
    ]
    return sorted(rows, key=lambda row: (-SEVERITIES.index(row["severity"]), row["group"], row["rule"]))
