"""Lane of each client: its sessions and their ends, and when it waited or others waited for it."""

from __future__ import annotations

from collections import defaultdict

from kohort.pipeline.gold.gold_rows import MemberSessionRow, RebalanceMemberRow, RebalanceRow
from kohort.pipeline.report.drawings.ribbons import MOST_ROWS, ROW
from kohort.pipeline.report.drawings.times import begin_of
from kohort.pipeline.report.svg import Axis, Colours, Span, bar, chart, label, left_out, legend, rect, thinned
from kohort.pipeline.rules.finding import seconds

LEGEND = legend(
    [
        ("laggard", "the others waited for it"),
        ("waiting", "back, and waiting for the others"),
        ("end-left", "left or was replaced"),
        ("end-thrown", "removed, or vanished"),
    ]
)


def lanes(
    axis: Axis,
    sessions: list[MemberSessionRow],
    members: list[RebalanceMemberRow],
    rebalances: list[RebalanceRow],
    colours: Colours,
) -> str:
    """Draw a lane per client; if there are too many, those that others waited for take precedence."""
    lane: dict[str, list[MemberSessionRow]] = defaultdict(list)
    for session in sessions:
        lane[_name(session)].append(session)
    if not lane:
        return ""
    by_number = {r["rebalance_no"]: r for r in rebalances}
    waited_for, patient = _waits(members, by_number)
    gravest = sorted(lane, key=lambda name: (-len(waited_for[name]), -len(lane[name]), name))[:MOST_ROWS]
    drawn = sorted(gravest)
    parts = []
    for n, name in enumerate(drawn):
        y = n * ROW
        parts += [label(y + 12, name), *_lives(axis, y, lane[name], colours)]
        parts += [bar(axis, span, y + 5, ROW - 10, 1) for span in thinned(axis, patient[name], 1.0)]
        parts += [bar(axis, span, y + 2, ROW - 4, 2) for span in thinned(axis, waited_for[name], 2.0)]
    drawing = chart(len(drawn) * ROW + 20, parts, "Lives of the members", axis)
    return drawing + left_out(len(drawn), len(lane), "clients")


def _name(row: MemberSessionRow | RebalanceMemberRow) -> str:
    return row["client"]


def _waits(
    members: list[RebalanceMemberRow], by_number: dict[int, RebalanceRow]
) -> tuple[defaultdict[str, list[Span]], defaultdict[str, list[Span]]]:
    """Return by client the spans in which others waited for it, and those in which it waited for others, if known."""
    waited_for: defaultdict[str, list[Span]] = defaultdict(list)
    patient: defaultdict[str, list[Span]] = defaultdict(list)
    for row in members:
        r = by_number.get(row["rebalance_no"])
        if r is None:
            continue
        begin = begin_of(r)
        if row["is_laggard"]:
            words = f"the others waited {seconds(r['barrier_ms'] - begin)} (rebalance {r['rebalance_no']})"
            waited_for[_name(row)].append(Span(begin, r["barrier_ms"], "laggard", words))
        elif row["rejoin_delay_us"] is not None and row["role"] in ("stayed", "joined", "replaced"):
            back = begin + row["rejoin_delay_us"] // 1000
            until = r["stable_ms"] if row["sync_delay_us"] is None else r["barrier_ms"] + row["sync_delay_us"] // 1000
            words = f"back after {seconds(back - begin)}, waited {seconds(until - back)} for the others"
            patient[_name(row)].append(Span(back, max(back, until), "waiting", words))
    return waited_for, patient


def _lives(axis: Axis, y: float, sessions: list[MemberSessionRow], colours: Colours) -> list[str]:
    kind = colours.of(_name(sessions[0]))
    spans = []
    for s in sessions:
        title = f"{s['member_id']}: {seconds(s['last_ms'] - s['first_ms'])}, {s['end_kind'].replace('_', ' ')}"
        spans.append(Span(s["first_ms"], s["last_ms"], kind, title))
    parts = [bar(axis, span, y + 4, ROW - 8, 1.5) for span in thinned(axis, spans, 1.5)]
    ends = [
        Span(s["last_ms"], s["last_ms"], "end-left" if s["end_kind"] in ("left", "replaced") else "end-thrown",
             s["end_kind"].replace("_", " "))
        for s in sessions
        if s["end_kind"] != "alive"
    ]  # fmt: skip
    for span in thinned(axis, ends, 3.0):
        x = axis.x(span.start_ms)
        parts.append(rect(x - 1.5, y + 1, x + 1.5, ROW - 2, span.kind, span.title))
    return parts
