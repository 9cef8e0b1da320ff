"""What a person must know about the data itself: rows of `dq_issues` that belong to no single group."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kohort.pipeline.arrow_types import rows_of
from kohort.pipeline.job.gold import silver_frame
from kohort.pipeline.silver.ranges import joined
from kohort.pipeline.silver.silver_rows import LogRange
from kohort.pipeline.silver.silver_schemas import COLUMNS
from kohort.pipeline.sources import found
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_OF_ONE_RULE = 50


def data_issues(spark: SparkSession, silver: Path, sources: list[Source], brought: set[str]) -> list[Issue]:
    """brought: the silver tables that hold anything, so that nothing is asked of one that isn't there."""
    issues = _exports(sources)
    if "dq_issues" in brought:
        rows = silver_frame(spark, silver, "dq_issues").select("rule", "keys", "detail").distinct().collect()
        issues += [Issue(row["rule"], row["keys"], row["detail"]) for row in rows]
    if "decode_errors" in brought:
        issues += _undecoded(spark, silver)
    if "log_ranges" in brought:
        issues += _compacted(spark, silver)
    if "events" in brought:
        issues += _event_numbers(spark, silver)
    return _at_most(issues)


def _exports(sources: list[Source]) -> list[Issue]:
    kinds = {source.kind for source in sources}
    if found.EXPORT in kinds and not kinds & {found.SEGMENT, found.WIRE, found.DUMP}:
        text = "an export says nothing of transactions: offsets of aborted transactions look like real ones"
        return [Issue("read_uncommitted", "", text)]
    return []


def _undecoded(spark: SparkSession, silver: Path) -> list[Issue]:
    rows = (
        silver_frame(spark, silver, "decode_errors")
        .groupBy("record_type", "value_version", "error")
        .agg(F.count("*").alias("n"))
        .collect()
    )
    return [
        Issue(
            "undecoded_records",
            f"type {row['record_type']}, value version {row['value_version']}",
            f"{row['n']} records kept as they are: {row['error']}",
        )
        for row in rows
    ]


def _compacted(spark: SparkSession, silver: Path) -> list[Issue]:
    """A partition counts as intact from where the most complete source of it is."""
    read = silver_frame(spark, silver, "log_ranges").toArrow()
    ranges = joined(rows_of(LogRange, COLUMNS["log_ranges"], read))
    issues = []
    for partition, group in groupby(sorted(ranges, key=attrgetter("partition")), key=attrgetter("partition")):
        of_partition = list(group)
        first, last, intact = (
            min(each.first_offset for each in of_partition),
            max(each.last_offset for each in of_partition),
            min(each.intact_from for each in of_partition),
        )
        if intact > first:
            text = f"offsets {first} to {intact} of {last} have holes: known in part only"
            issues.append(Issue("compacted_range", f"__consumer_offsets-{partition}", text))
    return issues


def _event_numbers(spark: SparkSession, silver: Path) -> list[Issue]:
    rows = (
        silver_frame(spark, silver, "events")
        .where("origin = 'event_log' and seq is not null")
        .groupBy("node_id", "boot_id")
        .agg(
            F.count("*").alias("n"),
            F.countDistinct("seq").alias("distinct"),
            (F.max("seq") - F.min("seq") + 1).alias("expected"),
        )
        .where("n > distinct or expected > distinct")
        .collect()
    )
    issues = []
    for row in rows:
        keys = f"node {row['node_id']}, boot {row['boot_id']}"
        if row["n"] > row["distinct"]:
            text = f"{row['n'] - row['distinct']} events came more than once and were counted once"
            issues.append(Issue("duplicate_events", keys, text))
        if row["expected"] > row["distinct"]:
            issues.append(Issue("missing_events", keys, f"{row['expected'] - row['distinct']} events are missing"))
    return issues


def _at_most(issues: list[Issue]) -> list[Issue]:
    kept: list[Issue] = []
    counts: dict[str, int] = {}
    for issue in issues:
        counts[issue.rule] = counts.get(issue.rule, 0) + 1
        if counts[issue.rule] <= _MOST_OF_ONE_RULE:
            kept.append(issue)
    kept += [
        Issue(rule, "", f"and {count - _MOST_OF_ONE_RULE} more of this kind")
        for rule, count in counts.items()
        if count > _MOST_OF_ONE_RULE
    ]
    return kept
