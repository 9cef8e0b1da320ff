"""A picture of plays: rebalances, and partitions without progress, one row per variant on one time axis."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from kohort.whatif.playing import Played
from kohort.whatif.script import Script

WIDTH, LABELS_WIDTH, ROW = 860, 250, 64


def timeline_svg(plays: Mapping[str, Played], script: Script) -> str:
    """Return an SVG: for each play its partitions as lines that are red while they stand still, with rebalances."""
    begin, end = script.begins_ms, script.end_ms
    scale = (WIDTH - LABELS_WIDTH - 10) / max(end - begin, 1)

    def x(ms: int) -> float:
        return round(LABELS_WIDTH + (min(max(ms, begin), end) - begin) * scale, 1)

    height = ROW * len(plays) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        'font-size="12" role="img">',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    count = max(len(script.arrivals), 1)
    step = (ROW - 22) / count
    for number, (name, played) in enumerate(plays.items()):
        top = number * ROW + 10
        figures = played.figures
        parts.append(f'<text x="6" y="{top + 16}">{escape(name)}</text>')
        parts.append(
            f'<text x="6" y="{top + 32}" fill="#555">{figures.rebalances:g} rebalances, '
            f"{figures.stalled_partition_seconds:.0f} partition-seconds</text>"
        )
        for row, partition in enumerate(sorted(script.arrivals)):
            y = round(top + row * step, 1)
            parts.append(
                f'<rect x="{LABELS_WIDTH}" y="{y}" width="{x(end) - LABELS_WIDTH:.1f}" '
                f'height="{max(step - 1, 0.5):.1f}" fill="#dde7ee"/>'
            )
            for start, stop in played.stalls.get(partition, []):
                parts.append(
                    f'<rect x="{x(start)}" y="{y}" width="{max(x(stop) - x(start), 1):.1f}" '
                    f'height="{max(step - 1, 0.5):.1f}" fill="#c0392b"/>'
                )
        for ms in played.rebalances:
            parts.append(
                f'<line x1="{x(ms)}" x2="{x(ms)}" y1="{top - 3}" y2="{top + ROW - 20}" stroke="#2c3e50" '
                'stroke-dasharray="3 2"/>'
            )
    seconds = (end - begin) / 1000
    for tick in range(0, int(seconds) + 1, max(10, int(seconds / 8) // 10 * 10)):
        parts.append(f'<text x="{x(begin + tick * 1000)}" y="{height - 8}" fill="#555">{tick} s</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
