"""Throughput, lag and members below each other, on the time axis of the generations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kohort.pipeline.gold.gold_rows import CommitStallRow, GenerationRow, LagMinuteRow, ThroughputRow
from kohort.pipeline.report.svg import LEFT, Axis, Span, bar, chart, label, moment, rect, thinned
from kohort.pipeline.rules.finding import seconds

_MINUTE_MS = 60_000
_BARS = 600  # maximum number of bars in a strip; more are merged

_HEADROOM = 4  # maximum height as a multiple of the median; higher bars are cut

Bar = tuple[int, int, float]  # start, end, value


def strips(
    axis: Axis,
    flow: list[ThroughputRow],
    lags: list[LagMinuteRow],
    generations: list[GenerationRow],
    stalls: list[CommitStallRow],
) -> str:
    """Draw the strips, with silences of the whole group shaded."""
    silent = (
        Span(s["start_ms"], s["end_ms"], "silence", f"no progress for {seconds(s['end_ms'] - s['start_ms'])}")
        for s in stalls
        if s["kind"] == "group_silent"
    )
    parts = [bar(axis, span, 0, 150, 1.5) for span in thinned(axis, silent, 1.5)]
    step_ms = max((row["step_ms"] for row in flow), default=_MINUTE_MS)
    speed = [
        (row["start_ms"], row["start_ms"] + row["step_ms"], row["offsets"] * 1000 / row["step_ms"]) for row in flow
    ]
    parts += _bars(axis, speed, 0, "records / s", "flow", _usual(speed))
    lag_bars = _lag(lags)
    parts += _bars(axis, lag_bars, 52, "lag, records", "lag", _peak(lag_bars))
    parts += _members(axis, generations)
    name = f"Throughput by {seconds(step_ms)}, lag by minute, and members over time"
    return chart(168, parts, name, axis)


def _peak(bars: list[Bar]) -> float:
    return max((value for _, _, value in bars), default=0.0)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _lag(rows: list[LagMinuteRow]) -> list[Bar]:
    sums: dict[int, int] = defaultdict(int)
    for row in rows:
        sums[row["minute"]] += row["lag"] or 0
    return [(minute, minute + _MINUTE_MS, value) for minute, value in sorted(sums.items())]


def _usual(bars: list[Bar]) -> float:
    """Return the height of a strip, limited so that a peak after a stop doesn't flatten everything else."""
    values = sorted(value for _, _, value in bars)
    return min(values[-1], _HEADROOM * values[len(values) // 2]) if values else 0.0


def _scale(bars: list[Bar], top: float) -> str:
    if not bars:
        return "not known"
    peak = _peak(bars)
    return f"max {_short(peak)}" + (f", cut at {_short(top)}" if top < peak else "")


def _bars(axis: Axis, bars: list[Bar], top: float, name: str, kind: str, peak: float) -> list[str]:
    parts = [label(top + 22, name), label(top + 36, _scale(bars, peak))]
    bars = list(_together(bars))
    for start, end, value in bars:
        x0, x1 = axis.x(start), axis.x(end)
        if value and x1 > LEFT:
            height = max(1.0, 44 * min(1.0, value / peak))
            title = f"{moment(start, '%H:%M:%S')}: {_short(value)}"
            parts.append(rect(x0, top + 46 - height, x1, height, kind, title, 0.5))
    return parts


def _together(bars: list[Bar]) -> Iterable[Bar]:
    take = -(-len(bars) // _BARS)
    for n in range(0, len(bars), max(1, take)):
        some = bars[n : n + take]
        yield some[0][0], some[-1][1], _peak(some)


def _members(axis: Axis, generations: list[GenerationRow]) -> list[str]:
    peak = max((g["members"] for g in generations), default=0)
    parts = [label(128, "members"), label(142, f"max {peak}")]
    spans = [
        Span(g["stable_ms"], g["end_ms"] or axis.end_ms, "members", f"{g['members']} members")
        for g in generations
        if g["members"]
    ]
    sizes = {id(span): g["members"] for span, g in zip(spans, (g for g in generations if g["members"]), strict=True)}
    for span in thinned(axis, spans, 1.0):
        height = 40 * sizes[id(span)] / peak
        parts.append(bar(axis, span, 148 - height, height))
    return parts
