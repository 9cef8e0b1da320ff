"""Tables of a group's page: rebalances, settings, key figures."""

from __future__ import annotations

from kohort.pipeline.gold.gold_rows import GroupHealthRow, RebalanceRow, RecommendationRow
from kohort.pipeline.report.drawings.times import begin_of
from kohort.pipeline.report.figures import AT_MOST, ESTIMATE, EXACT, down, waited, with_sureness
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.report.svg import esc, left_out, moment, name, sentence
from kohort.pipeline.report.tables import table
from kohort.pipeline.rules.finding import seconds

MOST_ROWS = 300
_COLUMNS = ("no", "start", "generation", "kind", "cause", "by", "waited for joins", "assigned in", "last to join",
            "members", "moved", "partition-seconds without consumer")  # fmt: skip


def shown_in_table(rebalances: list[RebalanceRow], findings: list[FindingRow]) -> set[int]:
    cited = {n for finding in findings for n in finding["evidence"].get("rebalances", ())}
    order = sorted(rebalances, key=lambda r: (r["rebalance_no"] not in cited, begin_of(r) - r["stable_ms"]))
    return {r["rebalance_no"] for r in order[:MOST_ROWS]}


def rebalance_table(page: str, rows: list[RebalanceRow], numbers: set[int]) -> str:
    """Render a table of the rebalances with these numbers."""
    listed = [r for r in rows if r["rebalance_no"] in numbers]
    if not listed:
        return ""
    body = "".join(_rebalance(page, r) for r in listed)
    return (
        f'<details><summary>{len(rows)} rebalances</summary><div class="in">{table(_COLUMNS, body)}'
        f"{left_out(len(listed), len(rows), 'rebalances')}</div></details>"
    )


def _rebalance(page: str, r: RebalanceRow) -> str:
    laggard = f"{r['laggard_client']} ({(r['laggard_how'] or '').replace('_', ' ')})" if r["laggard_client"] else ""
    excess = f" ({r['excess_moves']} too many)" if r["excess_moves"] else ""
    cause = f"{r['cause'].replace('_', ' ')} ({r['cause_confidence']})"
    figures = r["unavailable_partition_s"], r["unavailable_partition_s_lo"], r["unavailable_partition_s_hi"]
    start = ("" if r["start_ms"] is not None else "by ") + moment(begin_of(r), "%H:%M:%S")
    cells = (
        esc(r["rebalance_no"]),
        esc(start),
        esc(f"{r['gen_from']} → {r['gen_to']}"),
        esc(r["kind"] if r["outcome"] == "completed" else f"{r['kind']}, {r['outcome']}"),
        esc(cause),
        name(r["trigger_client"]) if r["trigger_client"] else "",
        with_sureness(*waited(r)),
        with_sureness(seconds(r["stable_ms"] - r["barrier_ms"]), EXACT),
        esc(laggard),
        esc(f"{r['members_before']} → {r['members_after']}"),
        "" if r["moved"] is None else esc(f"{r['moved']}{excess}"),
        with_sureness(*down(*figures)),
    )
    return f'<tr id="{page}r{r["rebalance_no"]}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def settings_table(rows: list[RecommendationRow]) -> str:
    """Render current and proposed settings with their basis and number of samples; empty without rows."""
    if not rows:
        return ""
    body = "".join(
        f'<tr><th scope="row">{esc(row["setting"])}</th><td>{name(row["client"]) if row["client"] else ""}</td>'
        f"<td>{esc(_setting(row['setting'], row['current']))}</td><td>{_proposed(row)}</td>"
        f'<td>{esc(row["basis"])}</td><td class="n">{esc(row["sample_size"])}</td>'
        f"<td>{sentence(row['expected_effect'], [])}</td><td>{esc(row['confidence'])}</td></tr>"
        for row in sorted(rows, key=lambda row: row["proposed"] is None)[:MOST_ROWS]
    )
    columns = ("setting", "client", "now", "proposed", "basis", "samples", "effect", "confidence")
    return f"<h3>Settings</h3>{table(columns, body)}{left_out(MOST_ROWS, len(rows), 'settings')}"


def _proposed(row: RecommendationRow) -> str:
    if row["proposed"] is None:
        return "no change"
    return f"→ <b>{esc(_setting(row['setting'], row['proposed']))}</b>"


def _setting(name: str, text: str | None) -> str:
    if text is None:
        return "not known"
    return f"{text} ({seconds(int(text))})" if name.endswith(".ms") and text.isdigit() else text


def figures(rebalances: list[RebalanceRow], health: list[GroupHealthRow]) -> str:
    """Render the key figures of a group over all days, each with its precision."""
    if not health:
        return ""
    counted = [r for r in rebalances if r["kind"] not in ("followup", "static_swap") and r["outcome"] != "open"]
    starts_known = all(r["start_ms"] is not None for r in counted)
    low = sum(row["unavailable_partition_s_lo"] or 0.0 for row in health)
    high = sum(row["unavailable_partition_s_hi"] or 0.0 for row in health)
    without = down(None, low, high)
    longest = max((row["max_total_ms"] or 0 for row in health), default=0)
    total = sum(row["time_rebalancing_s"] or 0.0 for row in health)
    entries = [
        ("rebalances", str(sum(row["rebalances"] for row in health)), EXACT),
        ("follow-ups", str(sum(row["follow_ups"] for row in health)), EXACT),
        ("time rebalancing", seconds(total * 1000), EXACT if starts_known else ESTIMATE),
        ("longest rebalance", seconds(longest), EXACT if starts_known else ESTIMATE),
        ("no commits at all", seconds(1000 * sum(row["no_commit_s"] or 0.0 for row in health)), AT_MOST),
        ("partition-seconds without a consumer", *without),
        ("members removed", str(sum(row["evictions"] for row in health)), EXACT if starts_known else ESTIMATE),
    ]
    items = "".join(
        f"<div><dt>{esc(label)}</dt><dd>{with_sureness(text, sure)}</dd></div>" for label, text, sure in entries if text
    )
    return f'<dl class="figures">{items}</dl>{"".join(_score(row) for row in health[:MOST_DAYS])}'


MOST_DAYS = 7


def _score(row: GroupHealthRow) -> str:
    return (
        f'<p class="soft">Health on {esc(row["day"])}: {row["score"]:.0f} of 100 '
        f"(−{row['minus_unavailable']:.0f} time without consumers at most, −{row['minus_storms']:.0f} storms, "
        f"−{row['minus_evictions']:.0f} evictions).</p>"
    )
