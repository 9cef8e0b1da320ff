"""Gold tables, written without Spark, and the report of them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from kohort.pipeline.gold.group_tables import analyse_group, as_tables
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.report.html import report_text
from kohort.pipeline.report.results import FindingRow


def write_gold(groups: list[GroupInput], folder: Path) -> Path:
    for group in groups:
        for table, rows in as_tables(group, analyse_group(group)).items():
            pq.write_to_dataset(
                rows, folder / table, partition_cols=["day"], basename_template=f"{id(group)}-{{i}}.parquet"
            )
    return folder


def write_report(gold: Path, findings: list[FindingRow], path: Path) -> Path:
    path.write_text(report_text(gold, findings), encoding="utf-8")
    return path
