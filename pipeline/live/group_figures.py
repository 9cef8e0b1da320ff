"""Figures of each group from a report's tables: rebalances by cause and client, standstills, lag in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kohort.pipeline.gold.gold_files import read_table
from kohort.pipeline.remote_path import Place

TREND_MS = 5 * 60_000  # period over which a change of the lag is measured
NO_REBALANCE = "no_rebalance"


@dataclass(slots=True)
class GroupFigures:
    """Figures by group.

    Attributes:
        rebalances: Number by group, cause and client.
        stopped_s: Seconds without consumption by group and cause.
        lag_s: Time that the oldest record has waited, by group.
        gone_s: Seconds until the lag is gone at the current rate; infinite if it doesn't shrink.
        never_joined: Members that tried to join and were in no generation, by group and client.
    """

    rebalances: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    stopped_s: dict[tuple[str, str], float] = field(default_factory=dict)
    lag_s: dict[str, float] = field(default_factory=dict)
    gone_s: dict[str, float] = field(default_factory=dict)
    never_joined: Counter[tuple[str, str]] = field(default_factory=Counter)


def figures_of(gold: Place) -> GroupFigures:
    figures = GroupFigures()
    causes: dict[tuple[str, int], str] = {}
    for row in _rows(gold, "rebalances", "group_id", "rebalance_no", "cause", "trigger_client", "outcome"):
        causes[row["group_id"], row["rebalance_no"]] = row["cause"]
        if row["outcome"] != "open":
            figures.rebalances[row["group_id"], row["cause"], row["trigger_client"] or ""] += 1
    for row in _rows(gold, "commit_stalls", "group_id", "kind", "start_ms", "end_ms", "during_rebalance"):
        if row["kind"] == "group_silent":
            cause = causes.get((row["group_id"], row["during_rebalance"]), NO_REBALANCE)
            key = (row["group_id"], cause)
            figures.stopped_s[key] = figures.stopped_s.get(key, 0.0) + (row["end_ms"] - row["start_ms"]) / 1000
    for row in _rows(gold, "member_sessions", "group_id", "client", "generations", "end_kind"):
        if not row["generations"] and row["end_kind"] != "alive":
            figures.never_joined[row["group_id"], row["client"]] += 1
    by_group: dict[str, list[dict[str, Any]]] = {}
    for row in _rows(gold, "lag_minutes", "group_id", "topic", "part", "minute", "lag", "time_lag_ms"):
        by_group.setdefault(row["group_id"], []).append(row)
    for group, rows in by_group.items():
        figures.lag_s[group], figures.gone_s[group] = _lag(rows)
    return figures


def _lag(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the longest wait of a record at the last sample, and the time until the lag is gone."""
    newest: dict[tuple[str, int], dict[str, Any]] = {}
    for row in rows:
        topic_partition = (row["topic"], row["part"])
        if topic_partition not in newest or row["minute"] > newest[topic_partition]["minute"]:
            newest[topic_partition] = row
    now = sum(row["lag"] for row in newest.values())
    longest_s = max((row["time_lag_ms"] or 0) for row in newest.values()) / 1000
    last_ms = max(row["minute"] for row in newest.values())
    earlier = [
        row for row in rows if last_ms - TREND_MS <= row["minute"] < last_ms and (row["topic"], row["part"]) in newest
    ]
    if not now:
        return longest_s, 0.0
    if not earlier:
        return longest_s, float("inf")
    first_ms = min(row["minute"] for row in earlier)
    was = sum(row["lag"] for row in earlier if row["minute"] == first_ms)
    rate = (was - now) * 1000 / (last_ms - first_ms)
    return longest_s, now / rate if rate > 0 else float("inf")


def _rows(gold: Place, table: str, *columns: str) -> Iterable[dict[str, Any]]:
    table_rows = read_table(gold, table, list(columns))
    return [] if table_rows is None else table_rows.to_pylist()
