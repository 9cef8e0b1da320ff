"""Gantt chart of a group's generations, with the findings above it."""

from __future__ import annotations

from kohort.pipeline.gold.gold_rows import GenerationRow, RebalanceRow
from kohort.pipeline.report.drawings.times import begin_of
from kohort.pipeline.report.results import FindingRow
from kohort.pipeline.report.svg import Axis, Span, bar, chart, label, legend, link, rect, text, thinned
from kohort.pipeline.rules.finding import seconds

_FLAG = 14
_MOST_FLAGS = 6
_MOST_TICKS = 5

LEGEND = legend(
    [
        ("stable", "stable"),
        ("prepare", "prepare: waiting for joins"),
        ("bound", "prepare, start not known: at least"),
        ("complete", "complete: waiting for the assignment"),
        ("lost", "generation lost before its assignment"),
        ("silence", "no progress anywhere in the group"),
    ]
)


def generations(
    axis: Axis,
    page: str,
    rows: list[GenerationRow],
    rebalances: list[RebalanceRow],
    findings: list[FindingRow],
    linked: set[int],
) -> str:
    """Draw findings as flags, stable generations with their number, prepare and complete phases, and thin follow-ups.

    Flags are linked to cards, and rebalances in `shown` to their row in the table.

    Args:
        axis: Time axis.
        page: Prefix of the ids in the group's page.
        rows: Generations.
        rebalances: Rebalances.
        found: Findings.
        shown: Numbers of the rebalances in the table.
    """
    flags = _flags(axis, page, findings)
    top = _FLAG * len(flags) + (4 if flags else 0)
    parts = [*(part for flag in flags for part in flag), label(top + 24, "generations")]
    for span in thinned(axis, (_stable(axis, g) for g in rows), 1.0):
        parts.append(bar(axis, span, top + 10, 20))
        x0, x1 = axis.x(span.start_ms), axis.x(span.end_ms)
        if x1 - x0 > 26 and span.kind == "stable" and not span.more:
            number = span.title.split(":")[0].removeprefix("generation ")
            parts.append(text((x0 + x1) / 2, top + 24, number, "on", "middle"))
    parts += _rebalances(axis, page, rebalances, linked, top)
    return chart(top + 58, parts, "Generations: stable, preparing (waiting for joins) and completing", axis)


def _flags(axis: Axis, page: str, findings: list[FindingRow]) -> list[list[str]]:
    serious = [(n, finding) for n, finding in enumerate(findings) if finding["severity"] != "info"][:_MOST_FLAGS]
    flags = []
    for row, (n, finding) in enumerate(serious):
        y = row * _FLAG
        name = f"{finding['rule']} {finding['title']}"
        shape = rect(
            axis.x(finding["start_ms"]), y + 3, axis.x(finding["end_ms"]), 8, f"flag-{finding['severity']}", name, 3
        )
        flags.append([label(y + 11, name), link(f"{page}f{n}", name, shape)])
    return flags


def _stable(axis: Axis, g: GenerationRow) -> Span:
    end = g["end_ms"] or axis.end_ms
    if not g["members"]:
        return Span(g["stable_ms"], end, "empty", "empty")
    title = f"generation {g['generation']}: {g['members']} members, {g['partitions']} partitions, {g['protocol']}"
    return Span(g["stable_ms"], end, "stable", title)


def _rebalances(axis: Axis, page: str, rebalances: list[RebalanceRow], linked: set[int], top: float) -> list[str]:
    spans: dict[int, RebalanceRow] = {}
    every = []
    for r in rebalances:
        span = Span(begin_of(r), r["stable_ms"], "", _words(r))
        spans[id(span)] = r
        every.append(span)
    parts = []
    for span in thinned(axis, every, 1.5):
        r = spans[id(span)]
        y, height = (top + 15, 10) if r["kind"] == "followup" else (top + 6, 28)
        barrier = span.end_ms if span.more else r["barrier_ms"]
        phase = "prepare" if r["start_ms"] is not None else "bound"
        shape = rect(axis.x(span.start_ms), y, axis.x(barrier), height, phase, span.title, 1.5)
        shape += rect(axis.x(barrier), y, axis.x(span.end_ms), height, "complete", span.title)
        parts.append(link(f"{page}r{r['rebalance_no']}", span.title, shape) if r["rebalance_no"] in linked else shape)
        lost = r["lost_generations"] or 0
        for n in range(min(lost, _MOST_TICKS)):
            x = axis.x(r["barrier_ms"]) - 1 - 4 * n
            parts.append(rect(x, top + 2, x + 2, 36, "lost", f"{lost} lost generations"))
    return parts


def _words(r: RebalanceRow) -> str:
    about = "waited" if r["start_ms"] is not None else "waited at least"
    return (
        f"rebalance {r['rebalance_no']} ({r['kind']}): {r['cause']}, {about} {seconds(r['barrier_ms'] - begin_of(r))}, "
        f"assigned in {seconds(r['stable_ms'] - r['barrier_ms'])}"
    )
