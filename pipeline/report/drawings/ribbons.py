"""Owner of each partition over time, gray without an owner."""

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
    """Draw a row per partition; if there are too many, those with the most owners take precedence."""
    owners = _changes(moves, rebalances)
    if not owners:
        return ""
    busiest = sorted(owners, key=lambda place: (-len({owner for _, owner in owners[place]}), place))[:MOST_ROWS]
    drawn = sorted(busiest)
    least = 1.0 if len(drawn) <= 12 else 2.0
    parts = []
    for n, partition in enumerate(drawn):
        parts.append(label(n * ROW + 12, f"{partition[0]}-{partition[1]}"))
        spans = _spans(owners[partition], axis, colours)
        parts += [bar(axis, span, n * ROW + 2, ROW - 4) for span in thinned(axis, spans, least)]
    drawing = chart(len(drawn) * ROW + 20, parts, "Owners of each partition over time", axis)
    return drawing + left_out(len(drawn), len(owners), "partitions")


def _changes(moves: list[PartitionMoveRow], rebalances: list[RebalanceRow]) -> dict[TopicPartition, list[Change]]:
    by_number = {r["rebalance_no"]: r for r in rebalances}
    owners: dict[TopicPartition, list[Change]] = defaultdict(list)
    for move in moves:
        r = by_number.get(move["rebalance_no"])
        if r is None or r["outcome"] not in ("completed", "superseded"):
            continue
        partition = (move["topic"], move["part"])
        if r["is_eager"] and r["members_before"]:
            owners[partition].append((begin_of(r), None))
        owners[partition].append((r["stable_ms"], move["to_client"]))
    for r in rebalances:
        if r["outcome"] == "empty":
            for changes in owners.values():
                changes.append((r["stable_ms"], None))
    return owners


def _spans(changes: list[Change], axis: Axis, colours: Colours) -> list[Span]:
    """Return the periods of ownership, with adjacent periods of the same owner merged."""
    joined: list[Change] = []
    for change in sorted(changes, key=lambda item: item[0]):
        if not joined or joined[-1][1] != change[1]:
            joined.append(change)
    ends = [start for start, _ in joined[1:]] + [axis.end_ms]
    return [
        Span(start, end, colours.of(owner), f"{owner or 'no owner'}, {seconds(end - start)}")
        for (start, owner), end in zip(joined, ends, strict=True)
        if end > start
    ]
