"""Time ranges in drawings: the start of a rebalance's bar, and the axis of a group's page."""

from __future__ import annotations

from kohort.pipeline.gold.gold_rows import RebalanceRow
from kohort.pipeline.report.gathering import PageTables, RebalanceInShort
from kohort.pipeline.report.svg import Axis


def begin_of(r: RebalanceInShort | RebalanceRow) -> int:
    if r["start_ms"] is not None:
        return int(r["start_ms"])
    return int(r["barrier_ms"] - max(r["prepare_lo_ms"] or 0, r["prepare_est_ms"] or 0))


def axis_of(tables: PageTables) -> Axis | None:
    """Return an axis from the first to the last change; a steady end without progress is cut off."""
    moments = [begin_of(r) for r in tables.rebalances] + [r["stable_ms"] for r in tables.rebalances]
    moments += [row["minute"] + at for row in tables.commit_minutes if row["offset_delta"] for at in (0, 60_000)]
    moments += [edge for row in tables.commit_stalls for edge in (row["start_ms"], row["end_ms"])]
    if not moments:
        moments = [g["end_ms"] for g in tables.generations if g["end_ms"]]
    if not moments:
        return None
    start, end = min(moments), max(moments)
    margin = max(1000, (end - start) // 25)
    return Axis(start - margin, end + margin)
