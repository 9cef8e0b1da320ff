"""Benchmark of the pipeline and other tools on the same synthetic logs: `make bench-pipeline`.

Every round measures everything once, ours and the peers' in turn, so that a busy moment of the machine hits all;
medians come at the end. Results are compared, so that all do the same work.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.pipeline.job.raw_records import records_of
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.segments import partition_of, read_partition
from tests.pipeline.synthetic import Plan, write_segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.pipeline.tree import TreeMemory

MASTER = "local[2]"
MILLION = 1_000_000
MEMBERS = Plan(records=1_200_000, groups=40, members=8, parts=100, rebalance_every=1, commits=False)
"""300 generations of 40 groups: 1.2 million rows of who owned what, from 96,000 members."""


@dataclass(frozen=True)
class Goal:
    """What a figure should be. less: smaller is better."""

    name: str
    unit: str
    floor: float | None = None
    must: float | None = None
    less: bool = False


GOALS = {
    goal.name: goal
    for goal in (
        Goal("segment files -> silver commits", "M records/s", 0.8, 1.2),
        Goal("group metadata", "k members/s", 50, 120),
        Goal("commit gaps", "s", 8, 6, less=True),
        Goal("movement", "s", 4, 2.5, less=True),
        Goal("cold start to report", "s", 60, 40, less=True),
        Goal("without Spark: cold start to report", "s", 8, 8, less=True),
        Goal("without Spark: memory", "GiB", 3, 2.5, less=True),
        Goal("memory of the process tree, shared pages once", "GiB", 3, 2.5, less=True),
        Goal("memory of the process tree, shared pages in each", "GiB", 3, 2.5, less=True),
    )
}


@dataclass
class Figures:
    """Samples by (what, who)."""

    samples: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, what: str, who: str, value: float) -> None:
        self.samples.setdefault((what, who), []).append(value)
        print(f"  {what}, {who}: {value:.2f}", file=sys.stderr, flush=True)

    def median(self, what: str, who: str) -> float | None:
        found = self.samples.get((what, who))
        return statistics.median(found) if found else None


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    result = action()
    return time.perf_counter() - begun, result


def write_parquet(logs: Path, target: Path) -> None:
    """Write the undecoded records as Parquet, one file per segment file, for peers that cannot read segment files."""
    target.mkdir(parents=True)
    for number, path in enumerate(sorted(logs.rglob("*.log"))):
        tables = [records_of(chunk) for chunk in read_partition(partition_of(path) or 0, [path])]
        raw = pa.concat_tables(tables).select(["partition", "offset", "ts_ms", "key", "value"])
        pq.write_table(raw, target / f"{number}.parquet", compression="zstd")


class Bench:
    def __init__(self, place: Path, scale: float) -> None:
        self.place, self.figures = place, Figures()
        self.sizes = [round(MILLION * scale * times) for times in (1, 2, 4)]
        self.plans = [Plan(records=size, groups=10 * times) for size, times in zip(self.sizes, (1, 2, 4), strict=True)]
        self.counts: list[int] = []

    # --- input

    def prepare(self) -> None:
        for number, plan in enumerate(self.plans):
            self.counts.append(write_segments(plan, self.place / f"logs{number}"))
        write_parquet(self.logs, self.place / "records")
        self.member_records = write_segments(MEMBERS, self.place / "members")

    @property
    def logs(self) -> Path:
        return self.place / f"logs{len(self.sizes) - 1}"

    @property
    def records(self) -> int:
        return self.counts[-1]

    # --- measurements

    def cold(self, size: int = 0) -> None:
        """Measure runs with Spark and without, in turn; goals are for size 0."""
        seconds, memory = self._command(size, "--cluster", MASTER)
        alone, its_memory = self._command(size, "--engine", "local")
        figures = {
            "cold start to report": seconds,
            "memory of the process tree, shared pages once": memory.pss / 2**30,
            "memory of the process tree, shared pages in each": memory.rss / 2**30,
            "without Spark: cold start to report": alone,
            "without Spark: memory": its_memory.rss / 2**30,
        }
        for name, value in figures.items():
            self.figures.add(
                name if size == 0 else f"{name}, {self.counts[size] / MILLION:.2f} M records", "kohort", value
            )

    def _command(self, size: int, *arguments: str) -> tuple[float, TreeMemory]:
        """Run the command; returns seconds from an empty machine to the report, and memory."""
        from tests.pipeline.tree import TreeMemory

        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "kohort.cli", "analyze", str(self.place / f"logs{size}"),
             "--out", str(self.place / "cold"), *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        with TreeMemory(process.pid) as memory:
            _, complaint = process.communicate()
        if process.returncode:
            raise SystemExit(complaint.decode())
        return time.perf_counter() - begun, memory

    def decoding(self, spark: SparkSession) -> None:
        from kohort.pipeline.job.ingest import ingest_sources
        from tests.pipeline import peers, polars_decoding

        sources, _ = find_sources([str(self.logs)])
        millions = self.records / MILLION
        seconds, _ = timed(lambda: ingest_sources(spark, sources, self.place / "silver"))
        self.figures.add("segment files -> silver commits", "kohort", millions / seconds)
        expected, target = committed(self.place / "silver"), self.place / "peer.parquet"
        for who, decode in (("DuckDB", peers.duckdb_decode), ("Polars", polars_decoding.polars_decode)):
            seconds, found = timed(partial(decode, self.place / "records", target))
            assert found == expected, f"{who} reads {found}, not {expected}"
            self.figures.add("segment files -> silver commits", who, millions / seconds)
        path = sorted(self.logs.rglob("*.log"))[-1]
        seconds, _ = timed(lambda: peers.plain_segments([path], target))
        rows = sum(len(chunk) for chunk in read_partition(0, [path]))
        self.figures.add("segment files -> silver commits", "plain Python", rows / MILLION / seconds)

    def gaps(self, spark: SparkSession) -> None:
        from tests.pipeline import peers

        commits = self.place / "silver" / "offset_commits"
        seconds, expected = timed(lambda: gaps_by_group(spark, self.place / "silver"))
        self.figures.add("commit gaps", "kohort", seconds)
        for who, work in (
            ("plain Python", peers.plain_gaps),
            ("DuckDB", peers.duckdb_gaps),
            ("Polars", peers.polars_gaps),
        ):
            seconds, found = timed(partial(work, commits))
            assert found == expected, f"{who} finds {found}, not {expected}"
            self.figures.add("commit gaps", who, seconds)

    def members(self, spark: SparkSession) -> None:
        from kohort.pipeline.job.ingest import ingest_sources
        from tests.pipeline import peers

        silver = self.place / "silver-members"
        sources, _ = find_sources([str(self.place / "members")])
        seconds, read = timed(lambda: ingest_sources(spark, sources, silver))
        self.figures.add("group metadata", "kohort", read.rows["group_members"] / 1000 / seconds)
        seconds, expected = timed(lambda: movement_by_group(spark, silver))
        self.figures.add("movement", "kohort", seconds)
        for who, work in (
            ("plain Python", peers.plain_movement),
            ("DuckDB", peers.duckdb_movement),
            ("Polars", peers.polars_movement),
        ):
            seconds, found = timed(partial(work, silver / "member_partitions"))
            assert found == expected, f"{who} finds {found}, not {expected}"
            self.figures.add("movement", who, seconds)

    def all_sizes(self, spark: SparkSession) -> None:
        """Measure from files to report in a running session, for each size."""
        from kohort.pipeline.analysis.analysis_run import analyse
        from kohort.pipeline.job.spark_engine import SparkEngine

        for number, count in enumerate(self.counts):
            sources, _ = find_sources([str(self.place / f"logs{number}")])
            seconds, _ = timed(partial(analyse, SparkEngine(spark), sources, [], self.place / "out", lambda _: None))
            self.figures.add(f"files to report, {count / MILLION:.2f} M records", "kohort", seconds)


def committed(silver: Path) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(pq.read_table(silver / "offset_commits", columns=["committed_offset"])[0]).as_py())


def gaps_by_group(spark: SparkSession, silver: Path) -> tuple[int, int]:
    """Return partitions and the sum of their longest gaps, computed by the analysis group by group."""
    from kohort.pipeline.analysis.packed_commits import unpack
    from kohort.pipeline.history.commit_history import CommitHistory
    from kohort.pipeline.history.silver_input import GroupRows, group_input
    from kohort.pipeline.job.commit_frames import packed_commits

    def work(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        group = group_input(key[0].as_py(), "", unpack(rows["payload"].to_pylist()), GroupRows())
        history = CommitHistory.of(group, [])
        longest = [int(p.gaps.max(initial=0)) for p in history.partitions.values()]
        return pa.table({"n": [len(longest)], "longest": [sum(longest)]})

    frame = packed_commits(spark, silver).repartition(8, "group_id").groupBy("group_id")
    rows = frame.applyInArrow(work, "n long, longest long").collect()
    return sum(row["n"] for row in rows), sum(row["longest"] for row in rows)


def movement_by_group(spark: SparkSession, silver: Path) -> tuple[int, int]:
    """Return compared and moved partitions over all generations, by the pipeline's own measure."""
    from kohort.pipeline.history.inputs import Generation, Member
    from kohort.pipeline.history.movement import movement
    from kohort.pipeline.job.file_frames import silver_frame

    def work(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        timeline: dict[int, Generation] = {}
        for offset, member, topic, parts in zip(*(column.to_pylist() for column in rows.columns[1:]), strict=True):
            generation = timeline.setdefault(offset, Generation(offset, offset))
            for part in parts:
                generation.owners[topic, part] = member
        for generation in timeline.values():
            generation.members = {n: Member(n, client_id=n) for n in generation.owners.values()}
        ordered = [timeline[offset] for offset in sorted(timeline)]
        found = [movement(before, after) for before, after in pairwise(ordered)]
        return pa.table({"common": [sum(m.common for m in found)], "moved": [sum(m.moved for m in found)]})

    frame = silver_frame(spark, silver, "member_partitions").where("role = 'assigned'")
    frame = frame.select("group_id", "offset", "member_id", "topic", "parts").repartition(8, "group_id")
    rows = frame.groupBy("group_id").applyInArrow(work, "common long, moved long").collect()
    return sum(row["common"] for row in rows), sum(row["moved"] for row in rows)


def slope(points: list[tuple[float, float]]) -> tuple[float, float]:
    if len(points) < 2:
        return points[0][1], 0.0
    found = statistics.linear_regression([p[0] for p in points], [p[1] for p in points])
    return found.intercept, found.slope


WHO = ("kohort", "plain Python", "DuckDB", "Polars")


def table(bench: Bench) -> Iterator[str]:
    figures = bench.figures
    yield f"| | minimum | goal | {' | '.join(WHO)} | |"
    yield f"|---|---|---|{'---|' * len(WHO)}---|"
    for goal in GOALS.values():
        samples = figures.samples.get((goal.name, "kohort"))
        if not samples:
            continue
        ours = statistics.median(samples)
        spread = f" [{min(samples):.2f} – {max(samples):.2f}]" if len(samples) > 1 else ""
        theirs = (figures.median(goal.name, who) for who in WHO[1:])
        cells = [f"**{ours:.2f}**{spread}", *("–" if t is None else f"{t:.2f}" for t in theirs)]
        sign = "≤" if goal.less else "≥"
        bounds = ("–" if b is None else f"{sign} {b:g}" for b in (goal.floor, goal.must))
        yield f"| {goal.name}, {goal.unit} | {' | '.join(bounds)} | {' | '.join(cells)} | {verdict(goal, ours)} |"


def verdict(goal: Goal, value: float) -> str:
    if goal.must is None or goal.floor is None:
        return ""

    def reached(bound: float) -> bool:
        return value <= bound if goal.less else value >= bound

    return "reached" if reached(goal.must) else "above the minimum" if reached(goal.floor) else "MISSED"


def scaling(bench: Bench) -> Iterator[str]:
    yield "| records | Spark running already | cold start | memory, shared pages once | shared pages in each |"
    yield "|---|---|---|---|---|"
    points = []
    for size, count in enumerate(bench.counts):
        millions = f"{count / MILLION:.2f} M"
        warm = bench.figures.median(f"files to report, {millions} records", "kohort")
        whole = [
            bench.figures.median(name if size == 0 else f"{name}, {millions} records", "kohort")
            for name in GOALS
            if name in COLD
        ]
        cells = [
            millions,
            *("–" if v is None else f"{v:.2f} {unit}" for v, unit in zip([warm, *whole], _UNITS, strict=True)),
        ]
        yield f"| {' | '.join(cells)} |"
        if warm is not None:
            points.append((count / MILLION, warm))
    if len(points) > 1:
        start, each = slope(points)
        yield f"\na straight line through the warm ones: {start:.1f} s + {each:.2f} s for each million"
        yield f"so 200 M records would take {(start + 200 * each) / 60:.0f} min (extrapolated, not measured)"


@contextmanager
def session() -> Iterator[SparkSession]:
    from kohort.pipeline.session import spark_session

    spark = spark_session(MASTER)
    try:
        yield spark
    finally:
        spark.stop()


def measure(bench: Bench, rounds: int) -> None:
    for _ in range(rounds):
        bench.cold()
    for size in range(1, len(bench.sizes)):
        bench.cold(size)
    with session() as spark:
        for number in range(rounds + 1):
            print(f"round {number} of {rounds}{'' if number else ', to warm up: not counted'}", file=sys.stderr)
            if number == 1:
                bench.figures.samples = {k: v for k, v in bench.figures.samples.items() if k[0].startswith(BEFORE)}
            for part in (bench.decoding, bench.gaps, bench.members, bench.all_sizes):
                part(spark)


BEFORE = ("cold", "memory", "without Spark")
"""Figures of whole commands, which are measured before a session is there."""
COLD = [name for name in GOALS if name.startswith(("cold", "memory"))]
_UNITS = ("s", "s", "GiB", "GiB")


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m tests.pipeline.bench", description=__doc__)
    arguments.add_argument("--rounds", type=int, default=3, help="how often everything is measured (default 3)")
    arguments.add_argument("--quick", action="store_true", help="a tenth of the size, once: whether all works")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="all samples, as JSON")
    options = arguments.parse_args()
    place = Path(tempfile.mkdtemp(prefix="kohort-bench-"))
    try:
        bench = Bench(place, 0.1 if options.quick else 1)
        print("writing synthetic logs …", file=sys.stderr)
        bench.prepare()
        before = os.getloadavg()[0]
        measure(bench, 1 if options.quick else options.rounds)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(f"\n{machine()}; load before: {before:.1f}; medians of {1 if options.quick else options.rounds} rounds")
    print(
        f"{bench.records / MILLION:.2f} M records in segment files, for DuckDB and Polars in Parquet; the cold run reads {bench.counts[0]:,}"
    )
    print(f"{bench.member_records:,} group records of {MEMBERS.members} members with {MEMBERS.parts} partitions\n")
    print("\n".join(table(bench)))
    print("\nfiles to report, by size:")
    print("\n".join(scaling(bench)))
    if options.json:
        kept = {f"{what} / {who}": values for (what, who), values in bench.figures.samples.items()}
        options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def machine() -> str:
    import pyspark

    system = f"{platform.machine()}, {platform.system()} {platform.release()}"
    return (
        f"{os.cpu_count()} cores ({system}), Python {platform.python_version()}, Spark {pyspark.__version__} {MASTER}"
    )


if __name__ == "__main__":
    main()
