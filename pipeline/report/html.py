"""report.html: one file that says everything, without network and without scripts."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from kohort.pipeline.report import charts
from kohort.pipeline.report.results import Row, read_gold
from kohort.pipeline.report.style import CSS
from kohort.pipeline.report.svg import Axis, Colours, esc, moment
from kohort.pipeline.report.words import by_group, headline, worst_severity
from kohort.pipeline.rules.finding import SEVERITIES, seconds

MOST_PAGES = 150
"""Groups with a page of their own, the gravest first; the tables hold all of them."""
MOST_ROWS = 300

_TABLES = (
    "rebalances", "generations", "rebalance_members", "partition_moves", "member_sessions", "commit_minutes",
    "lag_minutes", "commit_stalls", "recommendations",
)  # fmt: skip


def write_report(gold: Path, findings: list[Row], path: Path) -> Path:
    health = read_gold(gold, "group_health")
    groups = by_group(findings)
    for row in health:
        groups.setdefault(row["group_id"], [])
    order = sorted(groups, key=lambda group: _rank(group, groups[group], health))
    paged = order[:MOST_PAGES]
    tables: dict[str, dict[str, list[Row]]] = {}
    for table in _TABLES:
        tables[table] = defaultdict(list)
        for row in read_gold(gold, table):
            tables[table][row["group_id"]].append(row)
    by_name = {row["group_id"]: row for row in health}
    pages = [
        _group_page(n, group, groups[group], {table: tables[table][group] for table in _TABLES}, by_name.get(group))
        for n, group in enumerate(paged)
    ]
    everything = [r for rows in tables["rebalances"].values() for r in rows]
    text = _page(order, paged, groups, by_name, everything, pages, read_gold(gold, "dq_issues"))
    path.write_text(text, encoding="utf-8")
    return path


def _rank(group: str, found: list[Row], health: list[Row]) -> tuple[int, float, str]:
    down = sum(row["unavailable_partition_s_hi"] or 0 for row in health if row["group_id"] == group)
    worst = worst_severity(found)
    return (-SEVERITIES.index(worst) if worst else 1, -down, group)


def _badge(severity: str) -> str:
    return f'<span class="badge {severity}">{severity or "fine"}</span>'


def _page(
    order: list[str],
    paged: list[str],
    groups: dict[str, list[Row]],
    health: dict[str, Row],
    rebalances: list[Row],
    pages: list[str],
    issues: list[Row],
) -> str:
    start = min((charts.begin_of(r) for r in rebalances), default=0)
    end = max((r["stable_ms"] for r in rebalances), default=0)
    troubled = [group for group in order if worst_severity(groups[group]) in ("warning", "critical")]
    lines = []
    for n, group in enumerate(paged):
        if group in troubled:
            words = esc(headline(group, groups[group], health.get(group)))
            lines.append(f'<li>{_badge(worst_severity(groups[group]))}<a href="#g{n}">{words}</a></li>')
    when = f"{moment(start)} to {moment(end)} UTC" if end else "no rebalance seen"
    heat = charts.heat_map(troubled[:40] or order[:40], rebalances, start, end)
    short = f"<ol class=head>{''.join(lines)}</ol>" if lines else "<p>Nothing serious was found.</p>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Why groups rebalanced</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{CSS}</style></head><body>"
        '<a class="skip" href="#main">Skip to the findings</a><main id="main">'
        f"<h1>Why groups rebalanced</h1><p class=soft>{len(order)} groups, {len(rebalances)} rebalances, {when}</p>"
        f"<h2>In short</h2>{short}"
        f"<h2>When</h2><figure>{heat}<figcaption>Seconds spent rebalancing; darker is longer.</figcaption></figure>"
        f"<h2>Causes</h2>{charts.cause_bars(rebalances)}"
        f"<h2>Groups</h2>{''.join(pages)}{_rest(order, paged)}"
        f"{_quality(issues)}{_NOTES}</main></body></html>\n"
    )


_NOTES = (
    "<h2>How to read the numbers</h2><p>The end of a join barrier and the moment an assignment was stored are exact on "
    "any cluster. The start of a rebalance is exact where an event log or a broker's text log was given; else bars are "
    "pale and begin where the start can have been at the latest. Seconds without a reader are given as bounds unless "
    "every member's own times were logged. “No commits” isn't always “no consumption”: cooperative members read on "
    "while a rebalance is open, but don't commit. The log doesn't say who committed: commits are put down to the owner "
    "of the partition.</p>"
)


def _rest(order: list[str], paged: list[str]) -> str:
    left = order[len(paged) :]
    return (
        f"<p class=soft>{len(left)} more groups without a serious finding are in the tables only.</p>" if left else ""
    )


def _quality(issues: list[Row]) -> str:
    if not issues:
        return "<h2 id=quality>Data quality</h2><p>Nothing to remark: everything that was read was understood.</p>"
    rows = "".join(
        f"<tr><td>{esc(i['rule'])}</td><td>{esc(i['keys'] or i['group_id'] or '')}</td><td>{esc(i['detail'])}</td></tr>"
        for i in issues[:MOST_ROWS]
    )
    return (
        f"<h2 id=quality>Data quality</h2><div class=scroll><table><thead><tr><th>what<th>where<th>in words</thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _group_page(number: int, group: str, found: list[Row], tables: dict[str, list[Row]], health: Row | None) -> str:
    for rows, column in (("rebalances", "stable_ms"), ("generations", "stable_ms"), ("commit_stalls", "start_ms")):
        tables[rows].sort(key=lambda row: row[column])
    colours = Colours()
    axis = _axis(tables)
    drawings = ""
    if axis is not None:
        drawings = (
            f"<h3>Generations</h3>{charts.generations(axis, tables['generations'], tables['rebalances'])}"
            + charts.strips(
                axis, tables["commit_minutes"], tables["lag_minutes"], tables["generations"], tables["commit_stalls"]
            )
        )
        if ribbons := charts.ribbons(axis, tables["partition_moves"], tables["rebalances"], colours):
            drawings += f"<h3>Who owned which partition</h3>{ribbons}"
        if lanes := charts.lanes(
            axis, tables["member_sessions"], tables["rebalance_members"], tables["rebalances"], colours
        ):
            drawings += f"<h3>Members</h3>{lanes}{colours.legend}"
    worst = worst_severity(found)
    opened = " open" if number < 1 and worst in ("warning", "critical") else ""
    return (
        f'<details id="g{number}"{opened}><summary>{_badge(worst)}<b>{esc(group)}</b> '
        f"<span class=soft>{esc(headline(group, found, health)[len(group) + 2 :])}</span></summary><div class=in>"
        f"{''.join(_card(number, finding) for finding in found)}{drawings}{_matrix(tables)}"
        f"{_rebalance_table(number, tables['rebalances'])}{_settings(tables['recommendations'])}{_score(health)}"
        "</div></details>"
    )


def _axis(tables: dict[str, list[Row]]) -> Axis | None:
    """From the first to the last thing that happened: a generation that just goes on is cut there."""
    moments = [charts.begin_of(r) for r in tables["rebalances"]] + [r["stable_ms"] for r in tables["rebalances"]]
    moments += [row["minute"] + 60_000 for row in tables["commit_minutes"]]
    if not moments:
        moments = [g["end_ms"] for g in tables["generations"] if g["end_ms"]]
    if not moments:
        return None
    start, end = min(moments), max(moments)
    margin = max(1000, (end - start) // 25)
    return Axis(start - margin, end + margin)


def _card(number: int, finding: Row) -> str:
    evidence = dict(finding["evidence"])
    rebalances = evidence.pop("rebalances", [])
    links = " ".join(f'<a href="#g{number}r{n}">{n}</a>' for n in rebalances[:40])
    rows = "".join(f"<dt>{esc(_words(key))}</dt><dd>{esc(_value(key, value))}</dd>" for key, value in evidence.items())
    if links:
        rows += f"<dt>rebalances</dt><dd>{links}</dd>"
    return (
        f'<section class="card {finding["severity"]}"><p>{_badge(finding["severity"])}<b>{esc(finding["title"])}</b> '
        f"<span class=soft>{esc(finding['rule'])}, {esc(finding['confidence'])}, "
        f"{moment(finding['start_ms'], '%H:%M:%S')} to "
        f"{moment(finding['end_ms'], '%H:%M:%S')}</span></p><p>{esc(finding['text'])}.</p>"
        f"<p><b>What to do:</b> {esc(finding['advice'])}</p>"
        f"<details><summary>Evidence</summary><div class=in><dl class=evidence>{rows}</dl></div></details></section>"
    )


def _words(key: str) -> str:
    return re.sub(r"_ms$", "", key).replace("_", " ")


def _value(key: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_value(key, one) for one in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(name, one)}" for name, one in value.items())
    if key.endswith("_ms") and isinstance(value, (int, float)):
        return moment(value) if value > 10**11 else seconds(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not known" if value is None else str(value)


def _rebalance_table(number: int, rows: list[Row]) -> str:
    if not rows:
        return ""
    body = []
    for r in rows[:MOST_ROWS]:
        wait = seconds(r["barrier_ms"] - charts.begin_of(r))
        if r["start_ms"] is None:
            hi = seconds(r["prepare_hi_ms"]) if r["prepare_hi_ms"] is not None else "?"
            wait = f"{wait} to {hi}" if r["prepare_hi_ms"] else "not known"
        down = f"{r['unavailable_partition_s_lo']:.1f} to {r['unavailable_partition_s_hi']:.1f}"
        if r["unavailable_partition_s"] is not None:
            down = f"{r['unavailable_partition_s']:.1f}"
        members = f"{r['members_before']} → {r['members_after']}"
        late = f"{r['laggard_client']} ({r['laggard_how'].replace('_', ' ')})" if r["laggard_client"] else ""
        moved = (
            ""
            if r["moved"] is None
            else f"{r['moved']}" + (f" ({r['excess_moves']} too many)" if r["excess_moves"] else "")
        )
        cells = (
            r["rebalance_no"], moment(charts.begin_of(r), "%H:%M:%S"), f"{r['gen_from']} → {r['gen_to']}",
            r["kind"] if r["outcome"] == "completed" else f"{r['kind']}, {r['outcome']}", r["cause"].replace("_", " "),
            r["trigger_client"] or "", wait, seconds(r["stable_ms"] - r["barrier_ms"]), late, members, moved, down,
        )  # fmt: skip
        body.append(
            f'<tr id="g{number}r{r["rebalance_no"]}">' + "".join(f"<td>{esc(cell)}</td>" for cell in cells) + "</tr>"
        )
    head = "".join(
        f"<th>{name}"
        for name in (
            "no", "start", "generation", "kind", "cause", "by", "waited", "assigned in", "last to come", "members",
            "moved", "partition-seconds without reader",
        )
    )  # fmt: skip
    return (
        f"<details><summary>{len(rows)} rebalances</summary><div class='in scroll'><table><thead><tr>{head}</thead>"
        f"<tbody>{''.join(body)}</tbody></table></div></details>"
    )


def _matrix(tables: dict[str, list[Row]]) -> str:
    """Old owner by new owner, for the rebalance that moved most."""
    moving = [r for r in tables["rebalances"] if r["moved"]]
    if not moving:
        return ""
    r = max(moving, key=lambda r: r["moved"])
    cells: dict[tuple[str, str], int] = defaultdict(int)
    for move in tables["partition_moves"]:
        if move["rebalance_no"] == r["rebalance_no"]:
            cells[(move["from_client"] or "nobody", move["to_client"] or "nobody")] += 1
    olds, news = sorted({old for old, _ in cells}), sorted({new for _, new in cells})
    head = "".join(f"<th>{esc(new)}" for new in news)
    body = "".join(
        f"<tr><th>{esc(old)}" + "".join(f"<td class=n>{cells.get((old, new)) or ''}" for new in news) for old in olds
    )
    sticky = f"{r['stickiness']:.0%}" if r["stickiness"] is not None else "not known"
    fewest = r["moved"] - r["excess_moves"] if r["excess_moves"] is not None else None
    told = f", {fewest} would have been enough" if fewest is not None else ""
    return (
        f"<details><summary>Moves in rebalance {r['rebalance_no']}: {r['moved']} partitions{told}; stickiness {sticky}"
        f"</summary><div class='in scroll'><table><thead><tr><th>from \\ to{head}</thead><tbody>{body}</tbody></table>"
        "</div></details>"
    )


def _settings(rows: list[Row]) -> str:
    if not rows:
        return ""
    body = "".join(
        "<tr>" + "".join(f"<td>{esc(cell)}</td>" for cell in (
            row["setting"], row["current"], row["proposed"] or "no change", row["basis"], row["sample_size"],
            row["expected_effect"], row["confidence"],
        )) + "</tr>"
        for row in rows
    )  # fmt: skip
    head = "".join(f"<th>{name}" for name in ("setting", "now", "proposed", "basis", "samples", "effect", "confidence"))
    return f"<h3>Settings</h3><div class=scroll><table><thead><tr>{head}</thead><tbody>{body}</tbody></table></div>"


def _score(health: Row | None) -> str:
    if health is None:
        return ""
    return (
        f"<p class=soft>Health {health['score']:.0f} of 100: "
        f"−{health['minus_unavailable']:.0f} for time without readers, "
        f"−{health['minus_storms']:.0f} for storms, −{health['minus_evictions']:.0f} for evictions. "
        f"{health['rebalances']} rebalances and {health['follow_ups']} follow-ups on {esc(health['day'])}.</p>"
    )
