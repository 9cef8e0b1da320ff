"""Findings in words, for the terminal and for the report's headline."""

from __future__ import annotations

from kohort.pipeline.gold.gold_rows import GroupHealthRow
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.rules.finding import SEVERITIES, listed, seconds, several


def headline(group: str, found: list[FindingRow], health: GroupHealthRow | None) -> str:
    """One sentence about a group: stops, time without consumption or commits, and the member it waited for."""
    parts: list[str] = []
    stalls = [finding for finding in found if finding["rule"] == "R01"]
    if stalls:
        stops = sum(finding["evidence"]["stops"] for finding in stalls)
        silent = sum(finding["evidence"]["without_progress_ms"] for finding in stalls)
        eager = any(finding["evidence"]["eager"] for finding in stalls)
        parts.append(several(stops, "stop"))
        if silent:
            parts.append(f"{seconds(silent)} without {'consumption' if eager else 'commits'}")
        worst = max(stalls, key=lambda finding: finding["evidence"]["stops"])
        count = worst["evidence"]["stops"]
        whom = f"client {listed(worst['clients'])}"
        parts.append(
            f"{'all' if count == stops else count} of them waiting for {whom}" if stops > 1 else f"waiting for {whom}"
        )
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


def worst_severity(found: list[FindingRow]) -> str:
    return max((finding["severity"] for finding in found), key=SEVERITIES.index, default="")


def by_group(findings: list[FindingRow]) -> dict[str, list[FindingRow]]:
    """Findings by group, the groups with the gravest first."""
    groups: dict[str, list[FindingRow]] = {}
    for finding in findings:
        groups.setdefault(finding["group"], []).append(finding)
    return groups
