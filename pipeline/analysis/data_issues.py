"""Remarks on the data itself: rows of `dq_issues` without a group."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from kohort.pipeline.analysis.engine import SilverFacts, Undecoded
from kohort.pipeline.silver.ranges import joined
from kohort.pipeline.silver.silver_rows import EventRange, LogRange
from kohort.pipeline.sources import found
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import Source

_MOST_OF_ONE_RULE = 50


def data_issues(sources: list[Source], facts: SilverFacts) -> list[Issue]:
    """Return the issues in an order independent of the order of reads."""
    return _at_most(
        [
            *_exports(sources),
            *sorted(facts.issues, key=lambda issue: (issue.rule, issue.keys or "", issue.detail)),
            *sorted(map(_undecoded, facts.undecoded), key=lambda issue: (issue.keys, issue.detail)),
            *_compacted(facts.ranges),
            *_event_numbers(facts.event_ranges),
        ]
    )


def _exports(sources: list[Source]) -> list[Issue]:
    kinds = {source.kind for source in sources}
    if found.EXPORT in kinds and not kinds & {found.SEGMENT, found.WIRE, found.DUMP}:
        text = "an export contains no transactions: offsets of aborted transactions look like real ones"
        return [Issue("read_uncommitted", "", text)]
    return []


def _undecoded(record: Undecoded) -> Issue:
    keys = f"type {record.record_type}, value version {record.value_version}"
    return Issue("undecoded_records", keys, f"{record.records} records kept as they are: {record.error}")


def _compacted(ranges: list[LogRange]) -> list[Issue]:
    """Report partitions that are not intact. The most complete source of a partition counts."""
    issues = []
    for partition, group in groupby(sorted(joined(ranges), key=attrgetter("partition")), key=attrgetter("partition")):
        of_partition = list(group)
        first, last, intact = (
            min(log_range.first_offset for log_range in of_partition),
            max(log_range.last_offset for log_range in of_partition),
            min(log_range.intact_from for log_range in of_partition),
        )
        if intact > first:
            text = f"offsets {first} to {intact} of {last} have gaps: only partly known"
            issues.append(Issue("compacted_range", f"__consumer_offsets-{partition}", text))
    return issues


def _event_numbers(ranges: list[EventRange]) -> list[Issue]:
    def process(span: EventRange) -> tuple[int, str]:
        return (span.node_id or 0, span.boot_id or "")

    issues = []
    in_order = sorted(ranges, key=lambda span: (*process(span), span.first_seq, span.last_seq))
    for _, of_process in groupby(in_order, key=process):
        first, *later_spans = of_process
        repeated, absent, last_seq = 0, 0, first.last_seq
        for span in later_spans:
            absent += max(0, span.first_seq - last_seq - 1)
            repeated += max(0, min(span.last_seq, last_seq) - span.first_seq + 1)
            last_seq = max(last_seq, span.last_seq)
        keys = f"node {first.node_id}, boot {first.boot_id}"
        if repeated:
            text = f"{repeated} events came more than once and were counted once"
            issues.append(Issue("duplicate_events", keys, text))
        if absent:
            issues.append(Issue("missing_events", keys, f"{absent} events are missing"))
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
