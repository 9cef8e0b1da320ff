"""`kohort analyze` as a whole, next to merely reading its input, and to a Polars script that decodes and groups.

Each is a process of its own, in turn with the others. `make bench-pipeline` runs it on a million records.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median

# Imports are in the functions, because each part is charged for its own.

COMMITS = "commits.parquet"  # intermediate result of the Polars script


def read_bytes(place: Path) -> int:
    """Read the segment files; return their size."""
    return sum(len(path.read_bytes()) for path in sorted((place / "logs").rglob("*.log")))


def read_records(place: Path) -> int:
    """Read the segment files with the analysis's reader, without decoding keys and values; return their records."""
    from kohort.pipeline.sources.segments import partition_of, read_partition

    paths = sorted((place / "logs").rglob("*.log"))
    return sum(len(chunk) for path in paths for chunk in read_partition(partition_of(path) or 0, [path]))


def polars(place: Path) -> int:
    """Decode commits in Parquet and group them by partition; return their number. Polars cannot read segment files."""
    import polars as pl

    from tests.pipeline.polars_decoding import polars_decode

    polars_decode(place / "records", place / COMMITS)
    partitions = (
        pl.scan_parquet(place / COMMITS)
        .group_by("group_id", "topic", "part")
        .agg(
            pl.len().alias("commits"),
            pl.col("committed_offset").max() - pl.col("committed_offset").min(),
            pl.col("commit_ts_ms").sort().diff().max().alias("longest_gap_ms"),
        )
        .collect()
    )
    return int(partitions["commits"].sum())


def analyzed(place: Path) -> int:
    """Return the number of commits in the tables of the analysis."""
    import pyarrow.parquet as pq

    files = (place / "out").rglob("silver/offset_commits/**/*.parquet")
    return sum(pq.read_metadata(path).num_rows for path in files)


PARTS: dict[str, Callable[[Path], int]] = {
    "reading the bytes": read_bytes,
    "reading the records": read_records,
    "Polars: decoding and grouping": polars,
}
ANALYZE = "kohort analyze"


def run(title: str, place: Path) -> tuple[float, float, int]:
    """Return seconds, processor seconds, and the count that a part returns, from a new process."""
    start = time.perf_counter()
    if title == ANALYZE:
        arguments = ["kohort.cli", "analyze", str(place / "logs"), "--out", str(place / "out"), "--engine", "local"]
    else:
        arguments = ["tests.pipeline.bench_whole", "--part", title, "--place", str(place)]
    words = [sys.executable, "-m", *arguments]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{title} failed")
    seconds = time.perf_counter() - start
    count = analyzed(place) if title == ANALYZE else int(output)
    return seconds, usage.ru_utime + usage.ru_stime, count


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.pipeline.bench_whole", description=__doc__)
    parser.add_argument("--millions", type=float, default=1, help="millions of records (default 1)")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (default 3)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, once: whether all works")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part is not None:
        print(PARTS[options.part](options.place))
        return
    from tests.pipeline.bench import MILLION, write_parquet
    from tests.pipeline.synthetic import Plan, write_segments

    millions, rounds = (0.1, 1) if options.quick else (options.millions, options.rounds)
    results = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="kohort-bench-") as folder:
        place = Path(folder)
        count = write_segments(
            Plan(records=round(MILLION * millions), groups=max(round(10 * millions), 1)), place / "logs"
        )
        write_parquet(place / "logs", place / "records")
        for _ in range(rounds):
            for title in (*PARTS, ANALYZE):
                results[title].append(run(title, place))
        counts = {title: {result[2] for result in of_part} for title, of_part in results.items()}
        assert counts["reading the records"] == {count}, counts
        assert counts["Polars: decoding and grouping"] == counts[ANALYZE], counts
    print(f"{count:,} records of {max(round(10 * millions), 1)} groups, medians of {rounds} rounds\n")
    print("| | processor time | wall clock |\n|---|---|---|")
    for title, of_part in results.items():
        seconds, used_s, _ = (median(column) for column in zip(*of_part, strict=True))
        print(f"| {title} | {used_s:.2f} s | {seconds:.2f} s |")


if __name__ == "__main__":
    main()
