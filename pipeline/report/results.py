"""Reads the gold tables back, for the report and for findings.json."""

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
    """A finding as it stands in findings.json. evidence: numbers by name; each rule has its own.

    confidence: that it happened. cause_confidence: that the cause is what text and advice say.
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
    """All rows of the gold table that holds this type; none when it wasn't written."""
    return list(iterate_gold(gold, row_type))


def iterate_gold(gold: Place, row_type: type[RowT]) -> Iterator[RowT]:
    """Yield the rows of the gold table that holds this type, made some thousand at a time."""
    table = next(name for name, each in ROW_TYPES.items() if each is row_type)
    found = read_table(gold, table)
    for batch in () if found is None else found.to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from batch.to_pylist()


def add_issues(gold: Place, cluster: str, issues: list[tuple[str, str, str]]) -> None:
    """Puts issues that belong to no group beside the groups' own. Written again, they replace themselves."""
    import pyarrow as pa

    schema = SCHEMAS["dq_issues"].remove(SCHEMAS["dq_issues"].get_field_index("day"))
    rows = [
        {"cluster": cluster, "group_id": None, "rule": rule, "keys": keys, "detail": detail}
        for rule, keys, detail in issues
    ]
    folder = gold / "dq_issues" / "day=all"
    folder.mkdir(parents=True, exist_ok=True)
    where, system = for_arrow(folder / "part-0.parquet")
    pq.write_table(pa.Table.from_pylist(rows, schema), where, filesystem=system)


def findings(gold: Place) -> list[FindingRow]:
    """Findings as they go into findings.json, the gravest first."""
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
