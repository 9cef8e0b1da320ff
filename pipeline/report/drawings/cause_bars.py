"""Bars of the causes of rebalances, by day if there are several."""

from __future__ import annotations

from collections import Counter

from kohort.pipeline.report.gathering import RebalanceInShort
from kohort.pipeline.report.svg import LEFT, WIDTH, Colours, chart, label, legend, rect, text

_ROW = 16
_MOST_DAYS = 31


def cause_bars(rebalances: list[RebalanceInShort]) -> str:
    """Draw a bar per cause, stacked by day, without initial and open rebalances."""
    counted = [r for r in rebalances if r["kind"] != "initial" and r["outcome"] != "open"]
    counts = Counter(r["cause"] for r in counted)
    if not counts:
        return ""
    by_day = Counter((r["cause"], str(r["day"])) for r in counted)
    days = sorted({str(r["day"]) for r in counted})
    colours = Colours()
    most = counts.most_common(1)[0][1]
    parts = []
    for n, (cause, count) in enumerate(sorted(counts.items(), key=lambda item: (-item[1], item[0]))):
        parts.append(label(n * _ROW + 12, cause.replace("_", " ")))
        x = float(LEFT)
        for day in days[-_MOST_DAYS:] if len(days) > 1 else [None]:
            some = count if day is None else by_day[(cause, day)]
            if some:
                x1 = x + (WIDTH - LEFT - 60) * some / most
                kind = "flow" if day is None else colours.of(day)
                title = f"{cause.replace('_', ' ')}: {some}" + (f" on {day}" if day else "")
                parts.append(rect(x, n * _ROW + 2, x1, _ROW - 4, kind, title))
                x = x1
        parts.append(text(x + 6, n * _ROW + 13, count))
    return chart(len(counts) * _ROW + 6, parts, "Causes of rebalances") + (
        legend(colours.names) if len(days) > 1 else ""
    )
