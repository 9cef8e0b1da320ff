"""Gold is small: what thousands of groups bring lies together in its files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.pipeline.gold.gold_files import write_tables
from kohort.pipeline.gold.group_tables import analyse_group, as_tables
from kohort.pipeline.report.results import findings
from tests.pipeline.stories import Story

GROUPS = 40


def tables() -> dict[str, list[pa.Table]]:
    found: dict[str, list[pa.Table]] = {}
    members: dict[str, dict[str, str]] = {"c-1/a": {}, "c-2/a": {}, "c-3/a": {}}
    for number in reversed(range(GROUPS)):
        group = Story(name=f"g-{number:02}", topic_parts=2, until=60).generation(1, 0.5, members).group_input()
        for table, rows in as_tables(group, analyse_group(group)).items():
            found.setdefault(table, []).append(rows)
    return found


def test_one_row_group_per_day(tmp_path: Path) -> None:
    found = tables()
    counts = write_tables(found, tmp_path)
    assert counts["diagnoses"] == GROUPS
    for table in found:
        (file,) = (tmp_path / table).rglob("*.parquet")
        metadata = pq.read_metadata(file)
        assert metadata.num_row_groups == 1, table
        assert metadata.num_rows == counts[table]
        groups = pq.read_table(file, partitioning=None)["group_id"].to_pylist()
        assert groups == sorted(groups)


def test_rewritten_table_replaces_itself(tmp_path: Path) -> None:
    for _ in range(2):
        write_tables(tables(), tmp_path)
        assert [row["group"] for row in findings(tmp_path)] == [f"g-{number:02}" for number in range(GROUPS)]
