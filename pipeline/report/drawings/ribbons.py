"""Partition by partition: whose it was, grey while nobody's."""

from __future__ import annotations

from collections import defaultdict

from kohort.pipeline.gold.gold_rows import PartitionMoveRow, RebalanceRow
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.report.drawings.times import begin_of
from kohort.pipeline.report.svg import Axis, Colours, Span, bar, chart, label, left_out, thinned
from kohort.pipeline.rules.finding import seconds

ROW = 16
MOST_ROWS = 60

Change = tuple[int, str | None]


def ribbons(axis: Axis, moves: list[PartitionMoveRow], rebalances: list[RebalanceRow], colours: Colours) -> str:
    """A row a partition; those that changed hands most, where there are too many."""
    owners = _changes(moves, rebalances)
    if not owners:
        return ""
    busiest = sorted(owners, key=lambda place: (-len({owner for _, owner in owners[place]}), place))[:MOST_ROWS]
    shown = sorted(busiest)
    least = 1.0 if len(shown) <= 12 else 2.0
    parts = []
    for n, place in enumerate(shown):
        parts.append(label(n * ROW + 12, f"{place[0]}-{place[1]}"))
        spans = _spans(owners[place], axis, colours)
        parts += [bar(axis, span, n * ROW + 2, ROW - 4) for span in thinned(axis, spans, least)]
    drawing = chart(len(shown) * ROW + 20, parts, "Owners of each partition over time", axis)
    return drawing + left_out(len(shown), len(owners), "partitions")


def _changes(moves: list[PartitionMoveRow], rebalances: list[RebalanceRow]) -> dict[TopicPartition, list[Change]]:
    by_number = {r["rebalance_no"]: r for r in rebalances}
    owners: dict[TopicPartition, list[Change]] = defaultdict(list)
    for move in moves:
        r = by_number.get(move["rebalance_no"])
        if r is None or r["outcome"] not in ("completed", "superseded"):
            continue
        place = (move["topic"], move["part"])
        if r["is_eager"] and r["members_before"]:
            owners[place].append((begin_of(r), None))
        owners[place].append((r["stable_ms"], move["to_client"]))
    for r in rebalances:
        if r["outcome"] == "empty":
            for changes in owners.values():
                changes.append((r["stable_ms"], None))
    return owners


def _spans(changes: list[Change], axis: Axis, colours: Colours) -> list[Span]:
    """Neighbours of the same owner are one."""
    joined: list[Change] = []
    for change in sorted(changes, key=lambda each: each[0]):
        if not joined or joined[-1][1] != change[1]:
            joined.append(change)
    ends = [start for start, _ in joined[1:]] + [axis.end_ms]
    return [
        Span(start, end, colours.of(owner), f"{owner or 'nobody'}, {seconds(end - start)}")
        for (start, owner), end in zip(joined, ends, strict=True)
        if end > start
    ]
