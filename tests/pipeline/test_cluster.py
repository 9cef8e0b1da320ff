"""The same job on a Spark cluster with a worker process of its own: the same tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kohort.pipeline.synthetic import Plan, write_segments

MASTERS = ("local[2]", "local-cluster[2,1,1024]")


@pytest.mark.spark
@pytest.mark.timeout(500)
def test_a_cluster_gives_the_same_tables(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    write_segments(Plan(records=8_000, groups=5, members=4, rebalance_every=10, seed=3), logs)
    tables = {}
    for number, master in enumerate(MASTERS):
        out = tmp_path / f"out-{number}"
        command = [sys.executable, "-m", "kohort.pipeline", str(logs), "--out", str(out), "--cluster", master]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        tables[master] = gold(out / "tables" / "gold")
    first, second = (tables[master] for master in MASTERS)
    assert first.keys() == second.keys()
    for name in first:
        assert first[name] == second[name], name
    assert len(first["rebalances"]) > 50


def gold(folder: Path) -> dict[str, list[str]]:
    """Every gold table, its rows in any order."""
    return {
        table.name: sorted(repr(sorted(row.items())) for row in pq.read_table(table).to_pylist())
        for table in sorted(folder.iterdir())
        if table.is_dir() and not table.name.startswith("_")
    }
