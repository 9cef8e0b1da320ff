"""The report.html file with all results, without network access and without scripts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from kohort.pipeline.gold.gold_rows import DataIssueRow, GroupHealthRow
from kohort.pipeline.gold.share_gold_rows import ShareGroupRow
from kohort.pipeline.remote_path import Place
from kohort.pipeline.report.all_clear import Missing, missing
from kohort.pipeline.report.cards import badge
from kohort.pipeline.report.drawings.cause_bars import cause_bars
from kohort.pipeline.report.drawings.heat import heat_map
from kohort.pipeline.report.drawings.times import begin_of
from kohort.pipeline.report.gathering import Pages, RebalanceInShort, health_in_short, rebalances_in_short
from kohort.pipeline.report.group_page import group_page
from kohort.pipeline.report.quality import quality_box
from kohort.pipeline.report.readiness_section import readiness_section, what_if_section
from kohort.pipeline.report.results import FindingRow, read_gold
from kohort.pipeline.report.style import page_head
from kohort.pipeline.report.svg import esc, moment, name, sentence
from kohort.pipeline.report.words import by_group, first_thing, headline, period_of, worst_severity
from kohort.pipeline.rules.finding import several
from kohort.pipeline.rules.readiness import Readiness

MOST_PAGES = 150  # groups with a page of their own, the most severe first; the tables have all groups
# after this total length pages leave out their largest drawings, so that browsers can open the file
FULL_PAGES_CHARS = 1_500_000
MOST_PAGES_CHARS = 2_500_000  # total length of all pages
_IN_HEAT_MAP = 40
_IN_SHORT = 25
_CHECKS = {"readiness": "Readiness", "what-if": "What if"}  # titles of the sections that are there on request, by id


def report_text(
    gold: Place,
    findings: list[FindingRow],
    provided: Collection[str] = (),
    readiness_of: list[Readiness] | None = None,
    what_if: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """Render the report.

    Args:
        gold: Folder of the gold tables.
        findings: Findings of all groups.
        provided: Sources that were read, see `missing`.
        readiness_of: Readiness of groups for the consumer protocol; without it the section is left out.
        what_if: Costs under other settings by cluster and group, as HTML; without it the section is left out.
    """
    rows = health_in_short(gold)
    groups = by_group(findings, rows)
    health: dict[str, list[GroupHealthRow]] = defaultdict(list)
    for row in rows:
        health[row["group_id"] or ""].append(row)
    order = list(groups)
    pages = _pages(gold, order, groups)
    issues = read_gold(gold, DataIssueRow)
    days = [row for rows in health.values() for row in rows]
    lacking = missing(days, issues, read_gold(gold, ShareGroupRow), provided=provided)
    checks: dict[str, str] = {}
    if readiness_of is not None:
        checks["readiness"] = readiness_section(readiness_of)
    if what_if is not None:
        checks["what-if"] = what_if_section(what_if)
    return _page(order, groups, health, rebalances_in_short(gold), pages, issues, lacking, checks)


def _pages(gold: Place, order: list[str], groups: dict[str, list[FindingRow]]) -> list[str]:
    rows = Pages(gold, order[:MOST_PAGES])
    pages: list[str] = []
    length = 0
    for n, group in enumerate(order[:MOST_PAGES]):
        opened = n == 0 and worst_severity(groups[group]) in ("warning", "critical")
        in_full = length < FULL_PAGES_CHARS
        page = group_page(f"g{n}", group, groups[group], rows.of(group), opened=opened, in_full=in_full)
        length += len(page)
        if length > MOST_PAGES_CHARS:
            break
        pages.append(page)
    return pages


def _page(
    order: list[str],
    groups: dict[str, list[FindingRow]],
    health: dict[str, list[GroupHealthRow]],
    rebalances: list[RebalanceInShort],
    pages: list[str],
    issues: list[DataIssueRow],
    lacking: list[Missing],
    checks: dict[str, str],
) -> str:
    start = min((begin_of(r) for r in rebalances), default=0)
    end = max((r["stable_ms"] for r in rebalances), default=0)
    paged = {group: f"g{n}" for n, group in enumerate(order[: len(pages)])}
    troubled = [group for group in paged if worst_severity(groups[group]) in ("warning", "critical")]
    until_ms = max([end, *(row["last_ms"] for of_group in health.values() for row in of_group)])
    time = f"{moment(start)} to {moment(end)} UTC" if end else "no rebalance seen"
    rows = [(group, paged[group]) for group in (troubled or list(paged))[:_IN_HEAT_MAP]]
    heat = heat_map(rows, rebalances, start, end)
    return (
        f"{page_head('Why groups rebalanced')}<body>"
        '<a class="skip" href="#main">Skip to the findings</a><main id="main">'
        f'<h1>Why groups rebalanced</h1><p class="soft">{several(len(order), "group")}, '
        f"{several(len(rebalances), 'rebalance')}, {time}</p>{_navigation(checks)}"
        f'<h2 id="short">Summary</h2>{_in_short(troubled, paged, groups, health, until_ms, lacking)}'
        f'<h2 id="when">Time</h2>{_figure(heat, len(rows), len(troubled) or len(order))}'
        f'<h2 id="causes">Causes</h2>{cause_bars(rebalances) or "<p>No rebalances to explain.</p>"}'
        f'<h2 id="groups">Groups</h2>{"".join(pages)}{_rest(order, groups, len(pages))}'
        f"{''.join(checks.values())}{quality_box(issues)}{_NOTES}</main></body></html>\n"
    )


def _navigation(checks: Iterable[str]) -> str:
    parts = {"short": "Summary", "when": "Time", "causes": "Causes", "groups": "Groups"}
    parts |= {part: _CHECKS[part] for part in checks}
    parts |= {"quality": "Data quality", "notes": "How to read it"}
    links = " ".join(f'<a href="#{part}">{title}</a>' for part, title in parts.items())
    return f'<nav aria-label="Parts of the report">{links}</nav>'


def _in_short(
    troubled: list[str],
    paged: dict[str, str],
    groups: dict[str, list[FindingRow]],
    health: dict[str, list[GroupHealthRow]],
    until_ms: int,
    lacking: list[Missing],
) -> str:
    if not groups:
        return "<p>No groups found: the input has none, or none was active in that time.</p>"
    if not troubled:
        if not lacking:
            return "<p>Nothing serious was found.</p>"
        items = "".join(f"<li>{sentence(source.text, [])}.</li>" for source in lacking)
        return f"<p>Health unknown: nothing serious was found, but</p><ul>{items}</ul>"
    lines = []
    for group in troubled:
        summary = headline(group, groups[group], next(iter(health.get(group, [])), None))[len(group) + 2 :]
        link = f'<a href="#{paged[group]}"><b>{name(group)}</b></a>'
        names = [group, *(client for finding in groups[group] for client in finding["clients"])]
        lines.append(
            f"<li>{badge(worst_severity(groups[group]))}{link} {sentence(summary, names)}"
            f'<br><span class="soft">{esc(period_of(groups[group], until_ms))}.</span> '
            f"<b>First:</b> {sentence(first_thing(groups[group]), names)}</li>"
        )
    more = lines[_IN_SHORT:]
    folded = f'<details><summary>{len(more)} more</summary><ul class="head in">{"".join(more)}</ul></details>'
    return f'<ol class="head">{"".join(lines[:_IN_SHORT])}</ol>{folded if more else ""}'


def _figure(heat: str, drawn: int, total: int) -> str:
    if not heat:
        return "<p>No time was spent in rebalances.</p>"
    some = f" The {drawn} most severe of {total} groups." if drawn < total else ""
    return (
        f"<figure>{heat}<figcaption>Seconds spent in rebalances; darker is longer. Exact if the start of each "
        f"rebalance is known, otherwise at least.{some}</figcaption></figure>"
    )


def _rest(order: list[str], groups: dict[str, list[FindingRow]], paged: int) -> str:
    remaining = order[paged:]
    if not remaining:
        return ""
    grave = sum(worst_severity(groups[group]) in ("warning", "critical") for group in remaining)
    finding = f"{grave} with serious findings, which are in findings.json" if grave else "none with a serious finding"
    return f'<p class="soft">{several(len(remaining), "more group")} are in the tables only, {finding}.</p>'


_NOTES = (
    '<h2 id="notes">How to read the numbers</h2><p>Each figure has a precision. <b>Exact</b>: from the '
    "coordinator's records or log, to the millisecond. <b>At most</b>: measured between two commits, so the "
    "actual time was at most this. <b>Between</b>: two bounds. <b>Sampled</b>: the value at the time of a sample. "
    "<b>Estimate</b>, <b>likely</b>, <b>possible</b>: probable according to the records.</p>"
    "<p>The end of a join barrier and the time an assignment was stored are exact on "
    "any cluster. The start of a rebalance is exact with an event log or a broker's text log; otherwise bars are "
    "pale and begin at the latest possible start. Seconds without a consumer are bounds unless the times of every "
    "member were logged. “No commits” isn't always “no consumption”: cooperative members continue to consume "
    "during a rebalance, but don't commit. The offsets topic doesn't name the committing member: commits are "
    "attributed to the owner of the partition. Times are UTC.</p>"
)
