"""What a report's tables say of each group, as numbers: rebalances by cause and client, stops, lag in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kohort.pipeline.gold.gold_files import read_table
from kohort.pipeline.remote_path import Place

TREND_MS = 5 * 60_000
"""Whether lag shrinks is measured over this time."""
NO_REBALANCE = "no_rebalance"


@dataclass(slots=True)
class GroupFigures:
    """rebalances: by group, cause and client. stopped_s: seconds without consumption, by group and cause.

    lag_s: how long the oldest record has waited, by group. gone_s: in how many seconds the lag is gone if it goes on
    shrinking as it does; infinite where it doesn't shrink. never_joined: members that came and were in no generation,
    by group and client.
    """

    rebalances: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    stopped_s: dict[tuple[str, str], float] = field(default_factory=dict)
    lag_s: dict[str, float] = field(default_factory=dict)
    gone_s: dict[str, float] = field(default_factory=dict)
    never_joined: Counter[tuple[str, str]] = field(default_factory=Counter)


def figures_of(gold: Place) -> GroupFigures:
    """From the tables under this folder."""
    found = GroupFigures()
    causes: dict[tuple[str, int], str] = {}
    for row in _rows(gold, "rebalances", "group_id", "rebalance_no", "cause", "trigger_client", "outcome"):
        causes[row["group_id"], row["rebalance_no"]] = row["cause"]
        if row["outcome"] != "open":
            found.rebalances[row["group_id"], row["cause"], row["trigger_client"] or ""] += 1
    for row in _rows(gold, "commit_stalls", "group_id", "kind", "start_ms", "end_ms", "during_rebalance"):
        if row["kind"] == "group_silent":
            cause = causes.get((row["group_id"], row["during_rebalance"]), NO_REBALANCE)
            key = (row["group_id"], cause)
            found.stopped_s[key] = found.stopped_s.get(key, 0.0) + (row["end_ms"] - row["start_ms"]) / 1000
    for row in _rows(gold, "member_sessions", "group_id", "client", "generations", "end_kind"):
        if not row["generations"] and row["end_kind"] != "alive":
            found.never_joined[row["group_id"], row["client"]] += 1
    by_group: dict[str, list[dict[str, Any]]] = {}
    for row in _rows(gold, "lag_minutes", "group_id", "topic", "part", "minute", "lag", "time_lag_ms"):
        by_group.setdefault(row["group_id"], []).append(row)
    for group, rows in by_group.items():
        found.lag_s[group], found.gone_s[group] = _lag(rows)
    return found


def _lag(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """The longest time that a record has waited at the last sample, and when the lag is gone."""
    newest: dict[tuple[str, int], dict[str, Any]] = {}
    for row in rows:
        place = (row["topic"], row["part"])
        if place not in newest or row["minute"] > newest[place]["minute"]:
            newest[place] = row
    now = sum(row["lag"] for row in newest.values())
    longest_s = max((row["time_lag_ms"] or 0) for row in newest.values()) / 1000
    last_ms = max(row["minute"] for row in newest.values())
    before = [
        row for row in rows if last_ms - TREND_MS <= row["minute"] < last_ms and (row["topic"], row["part"]) in newest
    ]
    if not now:
        return longest_s, 0.0
    if not before:
        return longest_s, float("inf")
    first_ms = min(row["minute"] for row in before)
    was = sum(row["lag"] for row in before if row["minute"] == first_ms)
    rate = (was - now) * 1000 / (last_ms - first_ms)
    return longest_s, now / rate if rate > 0 else float("inf")


def _rows(gold: Place, table: str, *columns: str) -> Iterable[dict[str, Any]]:
    found = read_table(gold, table, list(columns))
    return [] if found is None else found.to_pylist()
