"""Page of a group: findings, figures, drawings on one time axis, moves, rebalances, settings."""

from __future__ import annotations

import shlex

from kohort.pipeline.report import lists
from kohort.pipeline.report.cards import badge, card
from kohort.pipeline.report.drawings import generations, lanes
from kohort.pipeline.report.drawings.ribbons import ribbons
from kohort.pipeline.report.drawings.strips import strips
from kohort.pipeline.report.drawings.times import axis_of
from kohort.pipeline.report.gathering import PageTables
from kohort.pipeline.report.moves import matrices
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.report.share_member_table import share_member_table
from kohort.pipeline.report.svg import Axis, Colours, command, legend, name, sentence
from kohort.pipeline.report.words import headline, worst_severity


def group_page(
    page: str,
    group: str,
    findings: list[FindingRow],
    tables: PageTables,
    *,
    opened: bool,
    in_full: bool,
) -> str:
    """Render the page of a group.

    Args:
        page: Id of the page, and prefix of the ids in it.
        group: Group id.
        findings: Findings of the group.
        tables: Tables of the group.
        opened: Show the page expanded.
        in_full: Draw partitions and members.
    """
    linked = lists.shown_in_table(tables.rebalances, findings)
    by_number = {r["rebalance_no"]: r for r in tables.rebalances}
    cards = "".join(card(page, n, finding, by_number, linked) for n, finding in enumerate(findings))
    axis = axis_of(tables)
    worst = worst_severity(findings)
    clients = [client for finding in findings for client in finding["clients"]]
    summary = headline(group, findings, next(iter(tables.group_health), None))[len(group) + 2 :]
    # The id is inside the element, so that a browser that follows a link to it expands the element.
    return (
        f'<details class="group"{" open" if opened else ""}><summary>{badge(worst)}<b>{name(group)}</b> '
        f'<span class="soft">{sentence(summary, [group, *clients])}</span></summary><div class="in" id="{page}">{cards}'
        f"{lists.figures(tables.rebalances, tables.group_health)}{share_member_table(tables.share_members)}"
        f"{_drawings(page, axis, findings, tables, linked, in_full) if axis is not None else ''}"
        f"{matrices(tables.partition_moves, tables.rebalances)}"
        f"{_what_if(group, tables)}{lists.rebalance_table(page, tables.rebalances, linked)}"
        f"{lists.settings_table(tables.recommendations)}"
        "</div></details>"
    )


def _what_if(group: str, tables: PageTables) -> str:
    """Render the command that compares settings, for the types of groups that it can play."""
    types = {row["group_type"] for row in tables.group_health}
    if not tables.rebalances or not types & {"classic", "consumer"}:
        return ""
    line = f"kohort what-if SOURCE… --group {shlex.quote(group)} --suggest"
    return f'<p class="soft">What would other settings have cost? {command(line)}</p>'


_NOT_IN_FULL = (
    '<p class="soft">Partitions and members are not drawn, to limit the size of the report: see the tables '
    "partition_moves and member_sessions.</p>"
)


def _drawings(
    page: str, axis: Axis, findings: list[FindingRow], tables: PageTables, linked: set[int], in_full: bool
) -> str:
    rebalances = tables.rebalances
    parts = [
        "<h3>Generations</h3>",
        generations.generations(axis, page, tables.generations, rebalances, findings, linked),
        strips(axis, tables.throughput, tables.lag_minutes, tables.generations, tables.commit_stalls),
        generations.LEGEND,
    ]
    if not in_full:
        return "".join([*parts, _NOT_IN_FULL])
    colours = Colours()
    if owners := ribbons(axis, tables.partition_moves, rebalances, colours):
        parts += ["<h3>Partition owners</h3>", owners]
    if lives := lanes.lanes(axis, tables.member_sessions, tables.rebalance_members, rebalances, colours):
        parts += ["<h3>Members</h3>", lives, legend([*colours.names, ("unowned", "no owner")]), lanes.LEGEND]
    return "".join(parts)
