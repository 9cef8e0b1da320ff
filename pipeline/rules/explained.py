"""One thing that happened is told once: findings that only show what another one explains become information."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.rules.finding import INFO, Finding

EXPLAINS: dict[str, tuple[str, ...]] = {
    "R14": ("R01", "R03", "R05", "R15", "R20", "R32", "R37"),
    "R19": ("R20", "R32"),
    "R42": ("R01", "R02", "R03", "R05", "R15", "R20", "R30", "R37"),
    "R44": ("R20", "R21", "R27", "R33", "R37", "R39"),
    "R45": ("R15", "R20", "R32"),
    "R48": ("R47", "R50"),
    "R49": ("R50",),
    "R55": ("R27",),
    "R46": ("R01", "R02", "R03", "R05", "R15", "R20", "R30", "R32"),
}
"""Rules that tell a cause, and those whose findings may be nothing but what it does to a group."""
REPLACES: dict[str, tuple[str, ...]] = {"R46": ("R04",)}
"""Rules whose findings would be wrong then: members that leave and come back are no deploy if a record makes them leave."""
AROUND_MS = 60_000


def explain(found: list[Finding]) -> None:
    """The gravity of what is explained changes, and its advice names the finding that counts."""
    wrong = {each for cause in found for each in REPLACES.get(cause.rule, ())}
    found[:] = [each for each in found if each.rule not in wrong]
    for cause in [each for each in found if each.rule in EXPLAINS and each.severity != INFO]:
        for other in _shown_by(cause, found):
            other.is_explained_by(cause)


def _shown_by(cause: Finding, found: list[Finding]) -> Iterator[Finding]:
    for other in found:
        if other.rule not in EXPLAINS[cause.rule] or other.severity == INFO:
            continue
        same = not cause.clients or not other.clients or set(other.clients) <= set(cause.clients)
        if same and cause.start_ms - AROUND_MS <= other.start_ms and other.end_ms <= cause.end_ms + AROUND_MS:
            yield other
