"""Findings as text, for the terminal and for the headlines of the report."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

from kohort.pipeline.gold.gold_rows import GroupHealthRow
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.rules.finding import SEVERITIES, listed, seconds, several


def headline(group: str, findings: list[FindingRow], health: GroupHealthRow | None) -> str:
    """Summarize a group: stops, time without consumption or commits, and the members it waited for."""
    parts: list[str] = []
    stalls = [finding for finding in findings if "stops" in finding["evidence"] and finding["severity"] != "info"]
    if stalls:
        stops = sum(finding["evidence"]["stops"] for finding in stalls)
        silent = sum(finding["evidence"]["without_progress_ms"] for finding in stalls)
        eager = any(finding["evidence"]["eager"] for finding in stalls)
        parts.append(several(stops, "stop"))
        if silent:
            parts.append(f"{seconds(silent)} without {'consumption' if eager else 'commits'}")
        parts.append(_waited_for(stalls, stops))
    parts = [", ".join(parts)] if parts else []
    grave = [f for f in findings if f["severity"] != "info" and f["rule"] not in ("R01", "R26")]
    parts += [finding["text"] for finding in grave[: 1 if stalls else 2]]
    if not parts:
        storm = next((f for f in findings if f["rule"] == "R26"), None)
        if storm:
            parts.append(storm["text"])
    if not parts and health is not None:
        parts.append(f"healthy; {several(health['rebalances'] + health['follow_ups'], 'rebalance')}")
    return f"{group}: " + "; ".join(parts)


def _waited_for(stalls: list[FindingRow], stops: int) -> str:
    """Describe all members that were waited for, the one with the most stops first."""
    order = sorted(stalls, key=lambda finding: -finding["evidence"]["stops"])
    members = [
        f"client {listed(finding_['clients'])}" if finding_["clients"] else "an unknown member" for finding_ in order
    ]
    if stops == 1:
        return f"waiting for {members[0]}"
    if len(order) == 1:
        return f"all waiting for {members[0]}"
    return ", ".join(
        f"{finding_['evidence']['stops']}{' of them' if n == 0 else ''} waiting for {member}"
        for n, (finding_, member) in enumerate(zip(order, members, strict=True))
    )


ENDED_MS = 1_000  # a finding that reaches so close to the end of the data is ongoing, unless it is known to be over


def period_of(findings: list[FindingRow], until_ms: int) -> str:
    """Describe the period of the most severe findings, and whether it is ongoing at the end of the data, `until_ms`."""
    worst = [finding for finding in findings if finding["severity"] == worst_severity(findings)]
    if not worst:
        return ""
    start, end = min(finding["start_ms"] for finding in worst), max(finding["end_ms"] for finding in worst)
    if any(finding["evidence"].get("open", finding["end_ms"] >= until_ms - ENDED_MS) for finding in worst):
        return f"since {moment(start)} UTC, ongoing at the end of the data"
    return f"{moment(start)} to {moment(end)} UTC, ended {seconds(until_ms - end)} before the end of the data"


def first_thing(findings: list[FindingRow]) -> str:
    """Return the first sentence of the advice of the most severe finding."""
    worst = next((finding for finding in findings if finding["severity"] == worst_severity(findings)), None)
    return "" if worst is None else re.split(r"(?<=[.!?])\s", worst["advice"].strip(), maxsplit=1)[0]


def how_sure(finding: FindingRow) -> str:
    """Describe the confidence in the finding, and in its cause if that differs."""
    sure, cause = finding["confidence"], finding["cause_confidence"]
    return sure if sure == cause else f"{sure}, its cause {cause}"


def moment(ms: int) -> str:
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")


def worst_severity(findings: list[FindingRow]) -> str:
    return max((finding["severity"] for finding in findings), key=SEVERITIES.index, default="")


def by_group(findings: list[FindingRow], health: Sequence[GroupHealthRow] = ()) -> dict[str, list[FindingRow]]:
    """Return the findings of each group, also of those without any, in the order of the report and the terminal.

    The groups with the most severe findings come first, then those whose partitions had no consumer for longest.
    """
    groups: dict[str, list[FindingRow]] = {}
    for finding in findings:
        groups.setdefault(finding["group"], []).append(finding)
    down: dict[str, float] = {}
    for row in health:
        group = row["group_id"] or ""
        groups.setdefault(group, [])
        down[group] = down.get(group, 0) + (row["unavailable_partition_s_hi"] or 0)

    def rank(group: str) -> tuple[int, float, str]:
        worst = worst_severity(groups[group])
        return (-SEVERITIES.index(worst) if worst else 1, -down.get(group, 0), group)

    return {group: groups[group] for group in sorted(groups, key=rank)}
