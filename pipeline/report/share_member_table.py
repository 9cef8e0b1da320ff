"""Table of a share group's page: its members, and the results of the records delivered to each."""

from __future__ import annotations

from kohort.pipeline.gold.share_gold_rows import ShareMemberRow
from kohort.pipeline.report.svg import esc, left_out, name
from kohort.pipeline.report.tables import table
from kohort.pipeline.rules.finding import seconds

MOST_ROWS = 100
_COUNTS = ("records", "accepted", "released", "rejected", "lock expired")
_COLUMNS = ("member", "ended", *_COUNTS, "with its session", "held accepted records for", "held in vain")
_UNTOLD = '<p class="soft">Only an event log shows the results of the records delivered to each member.</p>'


def share_member_table(rows: list[ShareMemberRow]) -> str:
    """Render the table, sorted by the time records were held in vain; empty for other types of groups."""
    if not rows:
        return ""
    order = sorted(rows, key=lambda row: (-(row["in_vain_s"] or 0), row["client"]))[:MOST_ROWS]
    body = "".join(_member(row) for row in order)
    untold = _UNTOLD if all(row["records"] is None for row in rows) else ""
    return (
        f"<h3>Members and their records</h3>{table(_COLUMNS, body)}{left_out(len(order), len(rows), 'members')}{untold}"
    )


def _member(row: ShareMemberRow) -> str:
    counts = (row["records"], row["accepted"], row["released"], row["rejected"], row["expired"], row["closed"])
    cells = (
        name(row["client"]),
        esc(row["ended"] or ""),
        *("" if count is None else esc(count) for count in counts),
        _held(row),
        "" if row["in_vain_s"] is None else esc(seconds(1000 * row["in_vain_s"])),
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _held(row: ShareMemberRow) -> str:
    if row["held_p50_ms"] is None or row["held_max_ms"] is None:
        return ""
    return esc(f"{seconds(row['held_p50_ms'])}, at most {seconds(row['held_max_ms'])}")
