"""Figures of the pipeline, on synthetic logs: `make bench-pipeline`. Plain Python beside it, on the same input."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.pipeline.records.batches import read_segment
from kohort.pipeline.records.codec import decode
from kohort.pipeline.synthetic import Plan, write_segments


def best(action: Callable[[], Any], runs: int) -> float:
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        action()
        times.append(time.perf_counter() - begun)
    return min(times)


def bronze(logs: Path, target: Path) -> int:
    """The same records as Parquet, in files for several tasks."""
    count = 0
    target.mkdir(parents=True)
    for number, path in enumerate(sorted(logs.rglob("*.log"))):
        partition = int(path.parent.name.rsplit("-", 1)[1])
        columns: dict[str, list[Any]] = {name: [] for name in ("partition", "offset", "ts_ms", "key", "value")}
        for run in read_segment(path.read_bytes()):
            columns["offset"] += run.offset.tolist()
            columns["ts_ms"] += run.timestamp.tolist()
            columns["key"] += [run.places.key(n) for n in range(len(run.offset))]
            columns["value"] += [run.places.value(n) for n in range(len(run.offset))]
        columns["partition"] = [partition] * len(columns["offset"])
        count += len(columns["offset"])
        pq.write_table(pa.table(columns), target / f"{number}.parquet", compression="zstd")
    return count


def plainly(logs: Path, most: int) -> tuple[int, float]:
    """Decoding alone in plain Python, one core."""
    records = []
    for path in sorted(logs.rglob("*.log")):
        for run in read_segment(path.read_bytes()):
            records += [(run.places.key(n), run.places.value(n)) for n in range(len(run.offset))]
        if len(records) >= most:
            break
    begun = time.perf_counter()
    for key, value in records:
        decode(key, value)
    return len(records), time.perf_counter() - begun


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--records", type=int, default=1_000_000)
    arguments.add_argument("--runs", type=int, default=3)
    options = arguments.parse_args()
    from kohort.pipeline.job.bronze import silver_from_records
    from kohort.pipeline.job.gold import analyse_groups
    from kohort.pipeline.job.ingest import ingest_sources
    from kohort.pipeline.session import spark_session
    from kohort.pipeline.sources.found import find_sources

    figures: dict[str, Any] = {"cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        logs = folder / "logs"
        count = write_segments(Plan(records=options.records), logs)
        figures["records"] = count
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "kohort.pipeline", str(logs), "--out", str(folder / "cold"), "--cluster", "local[2]"],
            check=True, capture_output=True,
        )  # fmt: skip
        figures["cold_start_to_report_s"] = round(time.perf_counter() - begun, 1)
        plain_count, plain_s = plainly(logs, 100_000)
        figures["plain_python_decode_records_per_s"] = round(plain_count / plain_s)
        parquet = folder / "bronze"
        bronze(logs, parquet)
        spark = spark_session("local[2]", {"spark.sql.files.maxPartitionBytes": str(4 << 20)})
        sources, _ = find_sources([str(logs)])
        silver = folder / "silver"
        seconds = best(lambda: ingest_sources(spark, sources, silver), options.runs + 1)
        figures["segments_to_silver_records_per_s"] = round(count / seconds)
        seconds = best(lambda: analyse_groups(spark, silver).count(), options.runs)
        figures["silver_to_gold_s"] = round(seconds, 2)
        frame = spark.read.parquet(str(parquet))
        target = folder / "from-bronze"
        seconds = best(lambda: silver_from_records(frame, target, "0"), options.runs + 1)
        figures["bronze_to_silver_records_per_s"] = round(count / seconds)
        members = folder / "members"
        many = write_segments(Plan(records=1600, groups=40, members=8, parts=8, rebalance_every=1), members)
        shutil.rmtree(silver)
        sources, _ = find_sources([str(members)])
        metadata = 40 * (1600 // 320) * 8
        seconds = best(lambda: ingest_sources(spark, sources, silver), options.runs)
        figures["small_files"] = {"records": many, "members": metadata, "s": round(seconds, 2)}
        spark.stop()
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
