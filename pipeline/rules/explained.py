"""Downgrade of findings that are only consequences of another finding, so that each incident is reported once."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.rules.finding import INFO, Finding

EXPLAINS: dict[str, tuple[str, ...]] = {
    "R14": ("R01", "R03", "R05", "R15", "R20", "R32", "R37"),
    "R19": ("R20", "R32"),
    "R42": ("R01", "R02", "R03", "R05", "R15", "R20", "R30", "R37"),
    "R44": (
        "R01", "R02", "R03", "R05", "R15", "R20", "R21", "R23", "R27", "R30", "R32", "R33", "R37", "R38", "R39", "R45", "R46",
    ),
    "R45": ("R15", "R20", "R32"),
    "R48": ("R47", "R50"),
    "R49": ("R50",),
    "R55": ("R27",),
    "R46": ("R01", "R02", "R03", "R05", "R15", "R20", "R23", "R30", "R32", "R37"),
}  # fmt: skip
# rules that name a cause, with the rules whose findings may be its consequences
# rules whose findings would be wrong: members that leave because of a record and come back are not a deploy, for
# example
REPLACES: dict[str, tuple[str, ...]] = {"R46": ("R04",)}
AROUND_MS = 60_000
# rules about a moment whose consequences may last much longer
LASTING = ("R44",)


def explain(findings: list[Finding]) -> None:
    """Downgrade explained findings to info, refer to the finding that explains them, and remove replaced findings."""
    wrong = {rule for cause in findings for rule in REPLACES.get(cause.rule, ())}
    findings[:] = [finding for finding in findings if finding.rule not in wrong]
    for cause in [finding for finding in findings if finding.rule in EXPLAINS and finding.severity != INFO]:
        for other in _shown_by(cause, findings):
            other.is_explained_by(cause)


def _shown_by(cause: Finding, findings: list[Finding]) -> Iterator[Finding]:
    for other in findings:
        if other.rule not in EXPLAINS[cause.rule] or other.severity == INFO:
            continue
        same = not cause.clients or not other.clients or set(other.clients) <= set(cause.clients)
        last_ms = other.start_ms if cause.rule in LASTING else other.end_ms
        if same and cause.start_ms - AROUND_MS <= other.start_ms and last_ms <= cause.end_ms + AROUND_MS:
            yield other
