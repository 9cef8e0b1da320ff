"""Data quality: gaps, damage, clocks and unreadable input that affect the figures."""

from __future__ import annotations

from collections import Counter

from kohort.pipeline.gold.gold_rows import DataIssueRow
from kohort.pipeline.report.svg import esc, left_out
from kohort.pipeline.report.tables import table

_MOST_ROWS = 300


def rarest_first(issues: list[DataIssueRow]) -> list[DataIssueRow]:
    """Sort issues so that frequent ones don't hide rare ones."""
    counts = Counter(str(issue["rule"]) for issue in issues)
    return sorted(issues, key=lambda issue: (counts[issue["rule"]], issue["rule"]))


def quality_box(issues: list[DataIssueRow]) -> str:
    if not issues:
        return '<h2 id="quality">Data quality</h2><p>No issues: all input was understood.</p>'
    counts = Counter(str(issue["rule"]) for issue in issues)
    short = ", ".join(f"{count} × {name.replace('_', ' ')}" for name, count in counts.most_common())
    rows = "".join(
        f"<tr><td>{esc(i['rule'])}</td><td>{esc(i['keys'] or i['group_id'] or '')}</td><td>{esc(i['detail'])}</td></tr>"
        for i in rarest_first(issues)[:_MOST_ROWS]
    )
    return (
        '<h2 id="quality">Data quality</h2><section class="card warning" aria-label="Data quality">'
        f"<p>{esc(short)}.</p>{table(('issue', 'where', 'details'), rows)}"
        f"{left_out(_MOST_ROWS, len(issues), 'issues')}</section>"
    )
