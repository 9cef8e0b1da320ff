"""Comparison of the findings from fewer and from more sources."""

from __future__ import annotations

from tests.pipeline.incidents.recorded import Told

# rules whose findings others replace if more is known: readers that leave for a record, not die of it; records that are
# given up because members outlive their locks
SAID_BETTER = {
    "R30": ("R46",),
    "R04": ("R16", "R40"),  # clients that came back because their coordinator moved were not deployed
    "R47": ("R49",),
    "R03": (
        "R05",
        "R16",
        "R54",
    ),  # the rest shows how often it happened and to which process, or that the coordinator moved
}


def rules(diagnosis: Told) -> dict[str, str]:
    """Return the highest severity of each rule's findings."""
    return {finding.rule: finding.severity for finding in reversed(diagnosis.found)}


def loses(fewer: dict[str, str], more: dict[str, str]) -> list[str]:
    """Return rules that give a warning from fewer sources and nothing from more."""
    return sorted(
        rule
        for rule, severity in fewer.items()
        if severity != "info" and rule not in more and not more.keys() & set(SAID_BETTER.get(rule, ()))
    )
