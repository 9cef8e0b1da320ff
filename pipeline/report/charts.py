"""The drawings of a group's page."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from kohort.pipeline.report.svg import LEFT, WIDTH, Axis, Colours, chart, label, moment, rect, text
from kohort.pipeline.rules.finding import seconds

Row = dict[str, Any]

_ROW = 16
_MOST_ROWS = 60


def begin_of(r: Row) -> int:
    """The start of a rebalance's bar: known, else the estimate, else the bound."""
    if r["start_ms"] is not None:
        return int(r["start_ms"])
    return int(r["barrier_ms"] - max(r["prepare_lo_ms"] or 0, r["prepare_est_ms"] or 0))


def generations(axis: Axis, rows: list[Row], rebalances: list[Row]) -> str:
    """Gantt: stable stretches with their number, prepare and complete phases, follow-ups thin, lost ones as ticks."""
    parts = [label(24, "generations")]
    for g in rows:
        end = g["end_ms"] or axis.end_ms
        if not g["members"]:
            parts.append(rect(axis.x(g["stable_ms"]), 10, axis.x(end), 20, "empty", "empty"))
            continue
        x0, x1 = axis.x(g["stable_ms"]), axis.x(end)
        title = f"generation {g['generation']}: {g['members']} members, {g['partitions']} partitions, {g['protocol']}"
        parts.append(rect(x0, 10, x1, 20, "stable", title))
        if x1 - x0 > 26:
            parts.append(text((x0 + x1) / 2, 24, g["generation"], "on", "middle"))
    for r in rebalances:
        begin, thin = begin_of(r), r["kind"] == "followup"
        y, h = (15, 10) if thin else (6, 28)
        title = (
            f"rebalance {r['rebalance_no']} ({r['kind']}): {r['cause']}, waited {seconds(r['barrier_ms'] - begin)}, "
            f"assigned in {seconds(r['stable_ms'] - r['barrier_ms'])}"
        )
        phase = "prepare" if r["start_ms"] is not None else "prepare bound"
        parts.append(rect(axis.x(begin), y, axis.x(r["barrier_ms"]), h, phase, title, 1.5))
        parts.append(rect(axis.x(r["barrier_ms"]), y, axis.x(r["stable_ms"]), h, "complete", title))
        for _ in range(r["lost_generations"] or 0):
            parts.append(
                rect(axis.x(r["barrier_ms"]) - 1, 2, axis.x(r["barrier_ms"]) + 1, 36, "lost", "lost generation")
            )
    return chart(58, parts, "Generations: stable, preparing (waiting for joins) and completing", axis)


def strips(axis: Axis, commits: list[Row], lags: list[Row], members: list[Row], stalls: list[Row]) -> str:
    """Throughput, lag and members, one under the other; silences of the whole group shaded through all three."""
    parts = []
    for stall in stalls:
        if stall["kind"] == "group_silent":
            length = seconds(stall["end_ms"] - stall["start_ms"])
            parts.append(
                rect(
                    axis.x(stall["start_ms"]),
                    0,
                    axis.x(stall["end_ms"]),
                    150,
                    "silence",
                    f"no progress for {length}",
                    1.5,
                )
            )
    parts += _bars(axis, _per_minute(commits, "offset_delta"), 0, "offsets / min", "flow")
    parts += _bars(axis, _per_minute(lags, "lag"), 52, "lag, records", "lag")
    peak = max((g["members"] for g in members), default=0)
    parts += [label(128, "members"), label(142, f"max {peak}")]
    for g in members:
        if g["members"]:
            height = 40 * g["members"] / peak
            end = g["end_ms"] or axis.end_ms
            parts.append(
                rect(axis.x(g["stable_ms"]), 148 - height, axis.x(end), height, "members", f"{g['members']} members")
            )
    return chart(168, parts, "Throughput, lag and members over time", axis)


def _per_minute(rows: list[Row], column: str) -> list[tuple[int, int]]:
    sums: dict[int, int] = defaultdict(int)
    for row in rows:
        sums[row["minute"]] += row[column] or 0
    return sorted(sums.items())


def _bars(axis: Axis, values: list[tuple[int, int]], top: float, name: str, kind: str) -> list[str]:
    peak = max((value for _, value in values), default=0)
    parts = [label(top + 22, name), label(top + 36, f"max {peak}" if values else "not known")]
    for minute, value in values:
        if value:
            height = 44 * value / peak
            x0, x1 = axis.x(minute), axis.x(minute + 60_000)
            if x1 > LEFT:
                parts.append(rect(x0, top + 46 - height, x1 - 0.5, height, kind, f"{moment(minute, '%H:%M')}: {value}"))
    return parts


def ribbons(axis: Axis, moves: list[Row], rebalances: list[Row], colours: Colours) -> str:
    """Partition by partition: whose it was, grey while nobody's."""
    by_number = {r["rebalance_no"]: r for r in rebalances}
    owners: dict[tuple[str, int], list[tuple[int, str | None]]] = defaultdict(list)
    for move in moves:
        r = by_number.get(move["rebalance_no"])
        if r is None or r["outcome"] not in ("completed", "superseded"):
            continue
        place = (move["topic"], move["part"])
        if r["is_eager"] and r["members_before"]:
            owners[place].append((begin_of(r), None))
        owners[place].append((r["stable_ms"], move["to_client"]))
    for r in rebalances:
        if r["outcome"] == "empty":
            for changes in owners.values():
                changes.append((r["stable_ms"], None))
    parts = []
    shown = sorted(owners)[:_MOST_ROWS]
    for n, place in enumerate(shown):
        y = n * _ROW
        parts.append(label(y + 12, f"{place[0]}-{place[1]}"))
        changes = sorted(owners[place], key=lambda change: change[0])
        for (start, owner), (end, _) in zip(changes, [*changes[1:], (axis.end_ms, None)], strict=True):
            if end > start:
                title = f"{owner or 'nobody'}, {seconds(end - start)}"
                parts.append(rect(axis.x(start), y + 2, axis.x(end), _ROW - 4, colours.of(owner), title))
    if not shown:
        return ""
    return chart(len(shown) * _ROW + 20, parts, "Owners of each partition over time", axis)


def lanes(axis: Axis, sessions: list[Row], members: list[Row], rebalances: list[Row], colours: Colours) -> str:
    """One lane a client: when it was a member, how each life ended, and red where the others waited for it."""
    lane: dict[str, list[Row]] = defaultdict(list)
    for session in sessions:
        lane[session["client_id"] or session["logical_client"]].append(session)
    by_number = {r["rebalance_no"]: r for r in rebalances}
    late: dict[str, list[Row]] = defaultdict(list)
    for row in members:
        if row["is_laggard"]:
            late[row["client_id"] or row["logical_client"]].append(by_number[row["rebalance_no"]])
    parts = []
    names = sorted(lane)[:_MOST_ROWS]
    for n, name in enumerate(names):
        y = n * _ROW
        parts.append(label(y + 12, name))
        for session in lane[name]:
            kind = colours.of(session["client_id"] or name)
            title = (
                f"{session['member_id']}: {seconds(session['last_ms'] - session['first_ms'])}, {session['end_kind']}"
            )
            x1 = axis.x(session["last_ms"])
            parts.append(rect(axis.x(session["first_ms"]), y + 4, x1, _ROW - 8, kind, title, 1.5))
            if session["end_kind"] != "alive":
                mark = "end-left" if session["end_kind"] in ("left", "replaced") else "end-thrown"
                parts.append(rect(x1 - 1.5, y + 1, x1 + 1.5, _ROW - 2, mark, session["end_kind"]))
        for r in late[name]:
            title = f"the others waited {seconds(r['barrier_ms'] - begin_of(r))}"
            parts.append(rect(axis.x(begin_of(r)), y + 2, axis.x(r["barrier_ms"]), _ROW - 4, "laggard", title, 2))
    return chart(len(names) * _ROW + 20, parts, "Lives of the members", axis) if names else ""


def heat_map(groups: list[str], rebalances: list[Row], start_ms: int, end_ms: int) -> str:
    """Groups by time: how long each was rebalancing."""
    if not groups or end_ms <= start_ms:
        return ""
    step = next((s for s in (60_000, 600_000, 3_600_000) if (end_ms - start_ms) / s <= 48), 86_400_000)
    first = start_ms // step
    count = int(end_ms // step - first + 1)
    busy: dict[tuple[str, int], float] = defaultdict(float)
    for r in rebalances:
        if r["members_before"] and r["outcome"] != "open":
            busy[(r["group_id"], int(begin_of(r) // step - first))] += (r["stable_ms"] - begin_of(r)) / 1000
    peak = max(busy.values(), default=0.0)
    if not peak:
        return ""
    width = (WIDTH - LEFT - 10) / count
    parts = []
    for n, group in enumerate(groups):
        parts.append(label(n * _ROW + 12, group))
        for cell in range(count):
            value = busy.get((group, cell), 0.0)
            shade = f"heat h{min(5, 1 + int(4.999 * value / peak))}" if value else "heat h0"
            x = LEFT + cell * width
            when = moment((first + cell) * step, "%d %b %H:%M")
            parts.append(rect(x, n * _ROW + 1, x + width - 1, _ROW - 2, shade, f"{group} {when}: {value:.1f} s"))
    for cell in range(0, count, max(1, count // 8)):
        when = moment((first + cell) * step, "%H:%M" if step < 86_400_000 else "%d %b")
        parts.append(text(LEFT + cell * width, len(groups) * _ROW + 14, when, "tick"))
    return chart(len(groups) * _ROW + 20, parts, "Seconds spent rebalancing, by group and time")


def cause_bars(rebalances: list[Row]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for r in rebalances:
        if r["kind"] not in ("initial",) and r["outcome"] != "open":
            counts[r["cause"]] += 1
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    if not ranked:
        return ""
    parts = []
    for n, (cause, count) in enumerate(ranked):
        parts.append(label(n * _ROW + 12, cause.replace("_", " ")))
        x1 = LEFT + (WIDTH - LEFT - 60) * count / ranked[0][1]
        parts.append(rect(LEFT, n * _ROW + 2, x1, _ROW - 4, "flow", f"{count}"))
        parts.append(text(x1 + 6, n * _ROW + 13, count))
    return chart(len(ranked) * _ROW + 6, parts, "Causes of rebalances")
