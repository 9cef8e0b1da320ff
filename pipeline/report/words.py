"""Findings in words, for the terminal and for the report's headline."""

from __future__ import annotations

import datetime
import re

from kohort.pipeline.gold.gold_rows import GroupHealthRow
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.rules.finding import SEVERITIES, listed, seconds, several


def headline(group: str, found: list[FindingRow], health: GroupHealthRow | None) -> str:
    """One sentence about a group: stops, time without consumption or commits, and the member it waited for."""
    parts: list[str] = []
    stalls = [finding for finding in found if finding["rule"] == "R01" and finding["severity"] != "info"]
    if stalls:
        stops = sum(finding["evidence"]["stops"] for finding in stalls)
        silent = sum(finding["evidence"]["without_progress_ms"] for finding in stalls)
        eager = any(finding["evidence"]["eager"] for finding in stalls)
        parts.append(several(stops, "stop"))
        if silent:
            parts.append(f"{seconds(silent)} without {'consumption' if eager else 'commits'}")
        parts.append(_whom(stalls, stops))
    parts = [", ".join(parts)] if parts else []
    grave = [f for f in found if f["severity"] != "info" and f["rule"] not in ("R01", "R26")]
    parts += [finding["text"] for finding in grave[: 1 if stalls else 2]]
    if not parts:
        storm = next((f for f in found if f["rule"] == "R26"), None)
        if storm:
            parts.append(storm["text"])
    if not parts and health is not None:
        parts.append(f"healthy; {several(health['rebalances'], 'rebalance')}")
    return f"{group}: " + "; ".join(parts)


def _whom(stalls: list[FindingRow], stops: int) -> str:
    """All who were waited for, the one that caused most stops first."""
    order = sorted(stalls, key=lambda finding: -finding["evidence"]["stops"])
    whom = [f"client {listed(each['clients'])}" if each["clients"] else "somebody" for each in order]
    if stops == 1:
        return f"waiting for {whom[0]}"
    if len(order) == 1:
        return f"all of them waiting for {whom[0]}"
    return ", ".join(
        f"{each['evidence']['stops']}{' of them' if n == 0 else ''} waiting for {who}"
        for n, (each, who) in enumerate(zip(order, whom, strict=True))
    )


ENDED_MS = 60_000
"""What was so shortly before the end of what was looked at goes on, as far as is known."""


def when(found: list[FindingRow], until_ms: int) -> str:
    """When the gravest of it was, and whether it goes on. until_ms: the end of what was looked at."""
    worst = [finding for finding in found if finding["severity"] == worst_severity(found)]
    if not worst:
        return ""
    start, end = min(finding["start_ms"] for finding in worst), max(finding["end_ms"] for finding in worst)
    if any(finding["evidence"].get("open") for finding in worst) or end > until_ms - ENDED_MS:
        return f"since {moment(start)} UTC, still so at the end"
    return f"{moment(start)} to {moment(end)} UTC, over for {seconds(until_ms - end)} at the end"


def first_thing(found: list[FindingRow]) -> str:
    """The first thing to do: the first sentence of the advice on the gravest finding."""
    worst = next((finding for finding in found if finding["severity"] == worst_severity(found)), None)
    return "" if worst is None else re.split(r"(?<=[.!?])\s", worst["advice"].strip(), maxsplit=1)[0]


def how_sure(finding: FindingRow) -> str:
    """That it happened, and that it has the cause which is named, where the two differ."""
    sure, cause = finding["confidence"], finding["cause_confidence"]
    return sure if sure == cause else f"{sure}, its cause {cause}"


def moment(ms: int) -> str:
    """A day and time in UTC."""
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")


def worst_severity(found: list[FindingRow]) -> str:
    return max((finding["severity"] for finding in found), key=SEVERITIES.index, default="")


def by_group(findings: list[FindingRow]) -> dict[str, list[FindingRow]]:
    """Findings by group, the groups with the gravest first."""
    groups: dict[str, list[FindingRow]] = {}
    for finding in findings:
        groups.setdefault(finding["group"], []).append(finding)
    return groups
