"""Sections with simulations: the readiness of groups for the consumer protocol, and costs under other settings."""

from __future__ import annotations

from collections.abc import Mapping

from kohort.pipeline.report.svg import esc, name, sentence
from kohort.pipeline.report.tables import table
from kohort.pipeline.rules.readiness import Readiness, Statement

_SUBJECTS = {
    "blocker": "blocker",
    "change": "to change",
    "stays": "stays",
    "cost": "cost",
    "unknown": "not known",
}


def readiness_section(groups: list[Readiness]) -> str:
    """Render the statements about each group, or a sentence without groups."""
    boxes = "".join(_box(group) for group in groups) or "<p>No groups found.</p>"
    return (
        '<h2 id="readiness">Readiness for the consumer protocol</h2><p class="soft">What prevents a move '
        "to group.protocol=consumer (KIP-848), and what it changes, as far as these sources show it. Costs are "
        "simulated.</p>"
        f"{boxes}"
    )


def what_if_section(parts: Mapping[tuple[str, str], str]) -> str:
    """Render the costs of each group's history under other settings.

    Args:
        parts: HTML by cluster and group.
    """
    has_clusters = len({cluster for cluster, _ in parts}) > 1
    boxes = "".join(
        f"<details><summary><b>{name(group)}</b>{f' in {name(cluster)}' if has_clusters else ''}</summary>"
        f'<div class="in">{part}</div></details>'
        for (cluster, group), part in parts.items()
    )
    return (
        '<h2 id="what-if">What if</h2><p class="soft">What the history of each group would have cost under other '
        f"settings, by simulation.</p>{boxes or '<p>No groups found.</p>'}"
    )


def _box(group: Readiness) -> str:
    rows = "".join(_row(statement, group.group) for statement in group.statements)
    return (
        f"<details><summary><b>{name(group.group)}</b> {esc(group.verdict)}</summary>"
        f'<div class="in">{table(("", "certainty", "fact", "what to do"), rows)}</div></details>'
    )


def _row(statement: Statement, group: str) -> str:
    return (
        f'<tr><th scope="row">{_SUBJECTS[statement.subject]}</th><td>{statement.certainty}</td>'
        f"<td>{sentence(statement.text, [group])}</td><td>{sentence(statement.advice, [group])}</td></tr>"
    )
