"""Section about the readiness of groups for the consumer protocol."""

from __future__ import annotations

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
